package opslog

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStreams bounds the connections and requests served at once, and with
	// DefaultMaxRecord the memory that they can hold.
	maxStreams = 64
	// ackLimit is how long a POST waits for the checkpoint.
	ackLimit = 30 * time.Second
	// senderLimit is how long a sender may take for a TLS handshake, or for the
	// next bytes of a body that it has begun. A TCP stream may be quiet for ever:
	// its gateway may be, and the kernel's keepalive ends it when its peer is gone.
	senderLimit = time.Minute
	// maxUnpacked bounds what a compressed body may unpack to.
	maxUnpacked = 256 << 20
)

// limiter counts what is being served.
type limiter chan struct{}

func (l limiter) enter() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l limiter) leave() { <-l }

// ServeTCP takes streams of records over TCP until ctx is done or the listener
// is closed. There is no acknowledgement: what was sent and not saved when this
// process is killed is lost unless the sender repeats it.
func (e *Engine) ServeTCP(ctx context.Context, l net.Listener, log *slog.Logger) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			log.Warn("ops log listener", "err", err) // out of descriptors, say
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
			continue
		}
		if !e.slots.enter() {
			e.refused.Add(1)
			_ = conn.Close()
			continue
		}
		wg.Go(func() {
			defer e.slots.leave()
			err := guarded(func() error {
				if err := e.shakeHands(ctx, conn); err != nil {
					return errors.Join(err, conn.Close())
				}
				return e.pump(ctx, conn, e.NewStream(""))
			})
			if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				log.Debug("ops log connection ended", "from", conn.RemoteAddr(), "err", err)
			}
		})
	}
}

// shakeHands keeps a peer that has shown no certificate yet from holding a place.
func (e *Engine) shakeHands(ctx context.Context, conn net.Conn) error {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.senderLimit)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	return nil
}

// ServeHTTP takes the body of a POST as a stream of records and answers 204 once
// they are durable. Any other answer means that they may or may not have been
// taken: the sender repeats the batch, and records that come again are known by
// their trans_id. The gateway is named by the query's ceph_daemon or by the
// records.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send records with POST", http.StatusMethodNotAllowed)
		return
	}
	if !e.slots.enter() {
		e.refused.Add(1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many senders at once", http.StatusServiceUnavailable)
		return
	}
	defer e.slots.leave()
	e.connections.Add(1)
	defer e.connections.Add(-1)
	r.Body = &punctual{r.Body, http.NewResponseController(w), e.senderLimit}
	body, err := unpacked(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	if err := e.takeBody(r.Context(), body, e.NewStream(r.URL.Query().Get("ceph_daemon"))); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// punctual is a request's body each of whose reads has to end in time.
type punctual struct {
	io.ReadCloser
	connection *http.ResponseController
	limit      time.Duration
}

func (p *punctual) Read(b []byte) (int, error) {
	// The server sets its own limit for the next request; what is no server's
	// connection has none.
	if err := p.connection.SetReadDeadline(time.Now().Add(p.limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.ReadCloser.Read(b)
}

func unpacked(r *http.Request) (io.Reader, error) {
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		return io.LimitReader(z, maxUnpacked), nil
	}
	return nil, errors.New("content encodings: identity, gzip")
}

func (e *Engine) takeBody(ctx context.Context, body io.Reader, s *Stream) error {
	buf := make([]byte, streamBytes)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if err := s.Feed(ctx, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, s.finish(ctx))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, ackLimit)
	defer cancel()
	return s.End(ctx)
}
