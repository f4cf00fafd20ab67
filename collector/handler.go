package collector

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	expo "github.com/ceph-risk/ceph_risk_exporter/internal/exposition"
)

// HandlerOpts configures the scrape handler.
type HandlerOpts struct {
	// MaxScrapes bounds the scrapes at a time; further ones get 503. 0: no
	// limit.
	MaxScrapes int
	// Stall is how long a client may take to read the next 64 KiB before it is
	// cut off, so that one that does not read keeps no place. 0: 10 s.
	Stall time.Duration
	// Registry gets promhttp's own error counter; may be nil.
	Registry prometheus.Registerer
	// ErrorLog may be nil.
	ErrorLog promhttp.Logger
}

// NewHandler serves the set's families and those of the other gatherers.
//
// promhttp does all of it but for the bulk families: it negotiates the format,
// filters by name[], gathers and encodes. The bulk is appended to what it wrote,
// and the encoding is applied to the whole.
func NewHandler(set *Set, others prometheus.Gatherers, opts HandlerOpts) http.Handler {
	h := &scrapeHandler{set: set, others: others, max: opts.MaxScrapes, stall: cmp.Or(opts.Stall, 10*time.Second), opts: promhttp.HandlerOpts{
		ErrorLog:           opts.ErrorLog,
		ErrorHandling:      promhttp.ContinueOnError,
		Registry:           opts.Registry,
		EnableOpenMetrics:  true,
		DisableCompression: true,
	}}
	if h.max > 0 {
		h.places = make(chan struct{}, h.max)
	}
	return h
}

type scrapeHandler struct {
	set    *Set
	others prometheus.Gatherers
	opts   promhttp.HandlerOpts
	max    int
	stall  time.Duration
	places chan struct{}
	heads  sync.Pool // *head
	writer expo.Writer
}

// ServeHTTP answers one scrape.
func (h *scrapeHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.places != nil {
		select {
		case h.places <- struct{}{}:
			defer func() { <-h.places }()
		default:
			http.Error(w, fmt.Sprintf("Limit of concurrent requests reached (%d), try again later.", h.max), http.StatusServiceUnavailable)
			return
		}
	}
	hd, _ := h.heads.Get().(*head)
	if hd == nil {
		hd = &head{}
	}
	defer h.heads.Put(hd)
	hd.reset()

	// One gather per scrape, so that both parts are of the same polls.
	s := scrape{set: h.set, others: h.others}
	format, fast := bulkFormat(r)
	s.expand = !fast
	promhttp.HandlerFor(&s, h.opts).ServeHTTP(hd, r)
	h.finish(w, r, hd, format, filter(s.bulk, r))
}

func (h *scrapeHandler) finish(w http.ResponseWriter, r *http.Request, hd *head, format expo.Format, bulk []*expo.Family) {
	for k, v := range hd.header {
		w.Header()[k] = v
	}
	if hd.status != http.StatusOK {
		w.WriteHeader(hd.status)
		_, _ = w.Write(hd.body.Bytes())
		return
	}
	encoding := negotiateEncoding(r.Header.Values("Accept-Encoding"))
	w.Header().Add("Vary", "Accept-Encoding")
	if encoding != expo.Identity {
		w.Header().Set("Content-Encoding", encoding.String())
	}
	if r.Method == http.MethodHead {
		return
	}
	text := bytes.TrimSuffix(hd.body.Bytes(), []byte(format.Trailer()))
	body, err := h.writer.NewBody(format, encoding, text, bulk)
	if err != nil {
		w.Header().Del("Content-Encoding")
		http.Error(w, "An error has occurred while serving metrics:\n\n"+err.Error(), http.StatusInternalServerError)
		return
	}
	defer body.Close()
	if n := body.Size(); n >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	}
	_, _ = body.WriteTo(newPatientWriter(w, h.stall)) // the client has gone away
}

// patientWriter gives each piece of an answer its own time to be read, and the
// whole no more than maxAnswerTime.
type patientWriter struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	stall time.Duration
	end   time.Time
}

const (
	patientPiece  = 64 << 10
	maxAnswerTime = 2 * time.Minute
)

func newPatientWriter(w http.ResponseWriter, stall time.Duration) *patientWriter {
	return &patientWriter{w, http.NewResponseController(w), stall, time.Now().Add(maxAnswerTime)}
}

// Write implements io.Writer.
func (p *patientWriter) Write(b []byte) (int, error) {
	sent := 0
	for len(b) > 0 {
		deadline := time.Now().Add(p.stall)
		if deadline.After(p.end) {
			deadline = p.end
		}
		if p.ctl != nil && p.ctl.SetWriteDeadline(deadline) != nil {
			p.ctl = nil // a writer without deadlines is a test's
		}
		n, err := p.w.Write(b[:min(len(b), patientPiece)])
		sent += n
		if err != nil {
			return sent, err
		}
		b = b[n:]
	}
	return sent, nil
}

// scrape is what one scrape gathers.
type scrape struct {
	set    *Set
	others prometheus.Gatherers
	expand bool // the format is none that bulk families are rendered in
	bulk   []*expo.Family
}

// Gather implements prometheus.Gatherer. The set's families were checked and
// sorted when they were emitted: with prometheus.Gatherers they would be again
// in every scrape, which is most of its time where there are 10,000 OSDs.
func (s *scrape) Gather() ([]*dto.MetricFamily, error) {
	all, err := s.others.Gather()
	families, bulk := s.set.collect()
	all = append(all, families...)
	if s.expand {
		all = append(all, expandBulk(bulk)...)
	} else {
		s.bulk = bulk
	}
	return mergeFamilies(all), err
}

// bulkFormat returns the format that promhttp will choose, and whether bulk
// families can be rendered in it. They are not in the two text forms of
// protobuf, which are for people, nor with an escaping that changes names which
// need none.
func bulkFormat(r *http.Request) (expo.Format, bool) {
	f := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	plain := f.ToEscapingScheme() != model.DotsEscaping
	switch f.FormatType() {
	case expfmt.TypeTextPlain:
		return expo.Text, plain
	case expfmt.TypeOpenMetrics:
		return expo.OpenMetrics, plain
	case expfmt.TypeProtoDelim:
		return expo.Protobuf, plain
	}
	return expo.Text, false
}

// filter keeps the families that the request names, all if it names none.
func filter(bulk []*expo.Family, r *http.Request) []*expo.Family {
	names := r.URL.Query()["name[]"]
	if len(names) == 0 {
		return bulk
	}
	return slices.DeleteFunc(bulk, func(f *expo.Family) bool { return !slices.Contains(names, f.Name()) })
}

// negotiateEncoding chooses as promhttp does: the highest quality, and at equal
// quality identity, gzip, zstd in this order. Where nothing is acceptable, or
// nothing was asked for, there is no encoding.
func negotiateEncoding(accept []string) expo.Encoding {
	best, quality := expo.Identity, -1.0
	for _, offer := range []expo.Encoding{expo.Identity, expo.Gzip, expo.Zstd} {
		for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.TrimSpace(name)
			q := 1.0
			if p, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
				v, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
				if err != nil {
					continue
				}
				q = v
			}
			if q > quality && (name == "*" || name == offer.String()) {
				best, quality = offer, q
			}
		}
	}
	if quality == 0 {
		return expo.Identity
	}
	return best
}

// head is the answer of promhttp: everything but the bulk.
type head struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *head) reset() {
	h.header, h.status = http.Header{}, http.StatusOK
	h.body.Reset()
}

// Header implements http.ResponseWriter.
func (h *head) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *head) WriteHeader(status int) { h.status = status }

// Write implements http.ResponseWriter.
func (h *head) Write(b []byte) (int, error) { return h.body.Write(b) }
