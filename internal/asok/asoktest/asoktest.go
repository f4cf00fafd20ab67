// Package asoktest serves admin sockets that answer as told, well or badly.
package asoktest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A Handler does one connection: question is what was asked without its NUL
// byte. The connection is closed when it returns.
type Handler func(conn net.Conn, question []byte)

// Server is a fake daemon behind one admin socket.
type Server struct {
	Path string

	listener net.Listener
	handlers sync.WaitGroup

	mu        sync.Mutex
	handler   Handler
	questions []string
	bytesOut  int
	conns     map[net.Conn]struct{}
	closed    bool
}

// Serve starts a server on a socket of that path (its directory is made) and
// stops it when the test ends.
func Serve(t testing.TB, path string, h Handler) *Server {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Path: path, listener: listener, handler: h, conns: map[net.Conn]struct{}{}}
	s.handlers.Go(s.accept)
	t.Cleanup(s.Close)
	return s
}

// Dir makes a short directory: a test's own TempDir with its name in it does not
// always fit into a socket's address.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "asok")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Handle replaces the handler for the connections that follow.
func (s *Server) Handle(h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// Questions returns what was asked so far, raw and in order.
func (s *Server) Questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.questions...)
}

// BytesOut returns how many bytes were written to clients.
func (s *Server) BytesOut() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytesOut
}

// Close stops listening, ends every connection and waits for the handlers.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.handlers.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = struct{}{}
		if s.closed {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.handlers.Go(func() { s.serve(conn) })
	}
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	question, ok := readQuestion(conn)
	if !ok {
		return
	}
	s.mu.Lock()
	s.questions = append(s.questions, string(question))
	h := s.handler
	s.mu.Unlock()
	h(&counted{conn, s}, bytes.TrimSuffix(question, []byte{0}))
}

func readQuestion(r io.Reader) ([]byte, bool) {
	var question []byte
	one := make([]byte, 1)
	for len(question) < 1024 {
		if _, err := io.ReadFull(r, one); err != nil {
			return nil, false
		}
		question = append(question, one[0])
		if one[0] == 0 || one[0] == '\n' {
			return question, true
		}
	}
	return nil, false
}

type counted struct {
	net.Conn
	s *Server
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.s.mu.Lock()
	c.s.bytesOut += n
	c.s.mu.Unlock()
	return n, err
}

// Answer writes one well-formed answer.
func Answer(w io.Writer, body []byte) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	_, _ = w.Write(append(head, body...)) // the client may be gone, which is its right
}

// Answers serves what replies holds for a command's prefix and refuses the rest
// in a daemon's words.
func Answers(replies map[string][]byte) Handler {
	return Func(func(prefix string) []byte {
		if body, ok := replies[prefix]; ok {
			return body
		}
		return []byte(fmt.Sprintf("ERROR: (22) Invalid argument\nno valid command found for %s", prefix))
	})
}

// Func serves what reply returns for a command's prefix.
func Func(reply func(prefix string) []byte) Handler {
	return func(conn net.Conn, question []byte) {
		var q struct{ Prefix string }
		if err := json.Unmarshal(question, &q); err != nil {
			Answer(conn, []byte("ERROR: (22) Invalid argument\nbad json"))
			return
		}
		Answer(conn, reply(q.Prefix))
	}
}

// Hang takes the question and never answers.
func Hang(conn net.Conn, _ []byte) { _, _ = conn.Read(make([]byte, 1)) }

// CloseEarly takes the question and closes.
func CloseEarly(net.Conn, []byte) {}

// ShortBody announces more than it sends.
func ShortBody(conn net.Conn, _ []byte) {
	_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, 4096), `{"osd": {"op": `...))
}

// Junk sends n bytes of noise, whose first four announce that many bytes.
func Junk(n int) Handler {
	return func(conn net.Conn, _ []byte) {
		_, _ = conn.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
		block := bytes.Repeat([]byte{0xff, 0xfe, 'x', 0}, 16<<10)
		for sent := 0; sent < n; sent += len(block) {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	}
}
