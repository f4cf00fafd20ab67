// Package page renders what the exporter knows for people: an overview at /, and
// /metric, which shows one family of series with its meaning and its samples.
//
// It is fed by a Reading, which holds what the last polls left, and asks nobody.
// Pages are plain HTML with their style inside: no script, no other request, and
// lists are bounded whatever the size of the cluster.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net/http"
	"time"
)

// Reading is what there is to show at one instant. It does not change.
type Reading interface {
	At() time.Time
	// Names returns the families that have samples, in name order.
	Names() []string
	// Len returns the number of a family's samples, 0 where there is none.
	Len(name string) int
	// Describe returns help and type of a family that has samples.
	Describe(name string) (help, kind string, ok bool)
	// Each calls yield with every sample of a family until it returns false.
	Each(name string, yield func(Sample) bool)
	// Collectors returns all collectors there are, those that are off included.
	Collectors() []Collector
}

// Sample is one sample.
type Sample struct {
	Labels []string // names and values in turn; valid until the next sample
	Value  float64  // of a histogram or summary the sum
	Count  *uint64  // observations of a histogram or summary, otherwise nil
}

// Get returns the value of a label, empty where there is none.
func (s Sample) Get(label string) string {
	for i := 0; i+1 < len(s.Labels); i += 2 {
		if s.Labels[i] == label {
			return s.Labels[i+1]
		}
	}
	return ""
}

// Collector is the state of one collector.
type Collector struct {
	Name, Help  string
	Off         string // why it does not run here; empty: it does
	Polled      bool   // its first poll has ended
	Err         string // of the last poll; empty: it succeeded
	LastErr     string // of the last poll that failed
	LastErrAt   time.Time
	At          time.Time // of the snapshot that is served; zero: there is none
	LastSuccess time.Time // zero: never
	Duration    time.Duration
	Interval    time.Duration
	Failures    uint64
}

// Declared is a family that can exist, whether or not it has samples now.
type Declared struct {
	Name, Help, Kind           string
	Collector                  string // empty: the exporter itself
	Cardinality, Source, Since string
}

// Config is what does not change while the exporter runs.
type Config struct {
	Version   string
	Role      string
	Simulated bool
	Declared  []Declared
	// Read returns the present state. It must not wait for anybody.
	Read func() Reading
	Log  *slog.Logger
}

//go:embed templates/*.html templates/style.css
var files embed.FS

// maxViews bounds the pages rendered at a time.
const maxViews = 8

// Handler serves the pages.
type Handler struct {
	cfg       Config
	declared  map[string]*Declared
	templates *template.Template
	style     template.CSS
	policy    string
	places    chan struct{}
}

// New prepares the pages.
func New(cfg Config) (*Handler, error) {
	style, err := files.ReadFile("templates/style.css")
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, declared: make(map[string]*Declared, len(cfg.Declared)), style: template.CSS(style), places: make(chan struct{}, maxViews)} //nolint:gosec // a file of ours
	for i := range cfg.Declared {
		h.declared[cfg.Declared[i].Name] = &cfg.Declared[i]
	}
	sum := sha256.Sum256(style)
	h.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	h.templates, err = template.New("").Funcs(template.FuncMap{"join": join}).ParseFS(files, "templates/*.html")
	return h, err
}

// frame is what every page shows around its content.
type frame struct {
	Title     string
	Style     template.CSS
	Version   string
	Role      string
	Simulated bool
	Now       Instant
	Sections  []link // of this page, for the navigation
	Overview  bool
	Body      any
}

type link struct{ Href, Text string }

// Overview serves /.
func (h *Handler) Overview(w http.ResponseWriter, _ *http.Request) {
	h.serve(w, func(r Reading) (string, int, frame) {
		v := newOverview(r)
		return "overview.html", http.StatusOK, frame{Title: "Ceph risk exporter", Sections: v.sections(), Overview: true, Body: v}
	})
}

// Metric serves /metric?__name__=NAME&LABEL=VALUE...: one family, or those of its
// series that have these labels. Without __name__ it lists the families.
func (h *Handler) Metric(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	name := query.Get(nameParam)
	h.serve(w, func(r Reading) (string, int, frame) {
		if name == "" {
			return "families.html", http.StatusOK, frame{Title: "Metrics", Body: h.list(r, query.Get("filter"))}
		}
		m, known := h.metric(r, name, query)
		code := http.StatusOK
		if !known {
			code = http.StatusNotFound
		}
		return "metric.html", code, frame{Title: m.Name, Body: m}
	})
}

// serve renders a page into memory, so that a client that reads slowly holds no
// place and an error is a status.
func (h *Handler) serve(w http.ResponseWriter, view func(Reading) (file string, code int, f frame)) {
	head := w.Header()
	head.Set("Content-Security-Policy", h.policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	body, code, err := h.render(view)
	if err != nil {
		h.cfg.Log.Error("page", "err", err)
		http.Error(w, "the page could not be made; the log says why", http.StatusInternalServerError)
		return
	}
	if body == nil {
		head.Set("Retry-After", "1")
		http.Error(w, "too many pages are being made at this moment, try again", http.StatusServiceUnavailable)
		return
	}
	head.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client has gone away
}

// render returns nil where too many are at it already.
func (h *Handler) render(view func(Reading) (string, int, frame)) ([]byte, int, error) {
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		return nil, 0, nil
	}
	r := h.cfg.Read()
	file, code, f := view(r)
	f.Style, f.Version, f.Role, f.Simulated, f.Now = h.style, h.cfg.Version, h.cfg.Role, h.cfg.Simulated, at(r.At(), r.At())
	var out bytes.Buffer
	err := h.templates.ExecuteTemplate(&out, file, f)
	return out.Bytes(), code, err
}
