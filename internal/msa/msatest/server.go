// Package msatest is a made-up HPE MSA array: two controllers that speak the XML
// API over TLS on loopback, a model of the array that can be changed while it
// runs, and faults that can be set on either controller.
//
//	peer := msatest.New(msatest.Options{Model: msatest.NewModel(msatest.MSA2040)})
//	defer peer.Close()
//	// controllers: peer.A.Address() and peer.B.Address(); peer.User(),
//	// peer.Password(); ca_file: peer.CertificatePEM()
//	peer.Change(func(m *msatest.Model) {
//		m.PSUs[1].Health, m.PSUs[1].Status = 2, 2
//		m.EndScrub("A", "dgA01", now, "INFORMATIONAL", "completed. 1 parity mismatch was found.")
//	})
//	peer.A.SetFault(msatest.Fault{Kind: msatest.Hang})
//
// It is written from what other clients and documents tell of the API; it shares
// no code with the client, so that the two check each other.
package msatest

import (
	"crypto/md5" //nolint:gosec // the array's choice
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Login is one way of logging in that the array accepts.
type Login struct {
	Base string // "/api" or "/v3/api"
	Hash string // "md5" or "sha256"
	Join string // between user and password: "_" or "_!"
}

// Options describe an array. The zero value is an MSA2040 with MD5, or a
// MSA2060 with SHA-256, as the model says.
type Options struct {
	Model    *Model
	User     string // default "monitor"
	Password string // default "a password: 17 & more"
	Login    Login  // default by generation
	OldTLS   bool   // knows TLS 1.0 with CBC and RSA key exchange, nothing newer
}

// FaultKind is a way in which a controller fails.
type FaultKind int

// The faults.
const (
	Hang      FaultKind = iota + 1 // no answer until the request or the array ends
	Slow                           // the answer comes after Delay
	Junk                           // bytes that are no XML
	Page                           // a web page with status 200
	Truncated                      // the answer stops in the middle
	Huge                           // an endless answer
	NotUTF8                        // bytes in texts that are not UTF-8
	Broken                         // status 500
	Redirect                       // to another place
	Reset                          // the connection is closed
	Refuse                         // the array's own error, return-code 1
)

// Fault is a fault of some or all commands.
type Fault struct {
	Kind    FaultKind
	Command string        // "show disks"; "" for all, with the login
	Delay   time.Duration // of Slow
	Target  string        // of Redirect
}

// Array is a running array.
type Array struct {
	A, B *Endpoint

	mu       sync.Mutex
	model    *Model
	user     string
	password string
	login    Login
	expired  string   // what an unknown key is answered with
	seen     []string // secrets: keys and hashes
	ended    chan struct{}
	end      func()
}

// Endpoint is one of its two controllers.
type Endpoint struct {
	array  *Array
	server *httptest.Server

	mu       sync.Mutex
	fault    Fault
	deaf     string          // accepts no session key: "all", or for that command
	sessions map[string]bool // keys that are good
	counts   Counts
}

// Counts is what a controller was asked.
type Counts struct {
	Logins, Refused, Logouts int
	Commands                 map[string]int
	OpenSessions             int
}

// New starts an array. Close it.
func New(o Options) *Array {
	a := &Array{model: o.Model, user: o.User, password: o.Password, login: o.Login, expired: "Invalid sessionkey", ended: make(chan struct{})}
	if a.model == nil {
		a.model = NewModel(MSA2060)
	}
	if a.user == "" {
		a.user = "monitor"
	}
	if a.password == "" {
		a.password = "a password: 17 & more"
	}
	if a.login == (Login{}) {
		a.login = Login{"/api", "md5", "_"}
		if a.model.Generation == MSA2060 {
			a.login.Hash = "sha256"
		}
	}
	a.A, a.B = newEndpoint(a, o.OldTLS), newEndpoint(a, o.OldTLS)
	a.end = sync.OnceFunc(func() {
		close(a.ended)
		a.A.server.Close()
		a.B.server.Close()
	})
	return a
}

func newEndpoint(a *Array, oldTLS bool) *Endpoint {
	c := &Endpoint{array: a, sessions: map[string]bool{}, counts: Counts{Commands: map[string]int{}}}
	c.server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if oldTLS {
		c.server.TLS = &tls.Config{ //nolint:gosec // as old firmware is
			MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10,
			CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA},
		}
	}
	c.server.StartTLS()
	return c
}

// Close stops both controllers and ends what hangs.
func (a *Array) Close() { a.end() }

// URL is where the controller listens, https://127.0.0.1:port.
func (c *Endpoint) URL() string { return c.server.URL }

// Address is host and port.
func (c *Endpoint) Address() string { return strings.TrimPrefix(c.server.URL, "https://") }

// CertificatePEM is what verifies both controllers.
func (a *Array) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.A.server.Certificate().Raw})
}

// User returns the account.
func (a *Array) User() string { return a.user }

// Password returns the password that is accepted.
func (a *Array) Password() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.password
}

// SetPassword changes it.
func (a *Array) SetPassword(p string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.password = p
}

// SetLogin changes the accepted way of logging in, as a firmware update does.
func (a *Array) SetLogin(l Login) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.login = l
}

// Change alters the model.
func (a *Array) Change(f func(*Model)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.model)
}

// ExpireSessions forgets all session keys on both controllers.
func (a *Array) ExpireSessions() {
	for _, c := range []*Endpoint{a.A, a.B} {
		c.mu.Lock()
		clear(c.sessions)
		c.mu.Unlock()
	}
}

// SetExpiredText changes the words that an unknown session key is answered with.
func (a *Array) SetExpiredText(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expired = text
}

// Secrets returns the password and every key and login hash that went over the
// wire: none of them may be in a log or a metric.
func (a *Array) Secrets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{a.password}, a.seen...)
}

func (a *Array) remember(secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, secret)
}

// SetFault makes the controller fail; the zero Fault heals it.
func (c *Endpoint) SetFault(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// RefuseSessions makes the endpoint accept logins but no session key, for that
// command or for "all"; "" ends it.
func (c *Endpoint) RefuseSessions(command string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = command
}

// Counts returns what the controller was asked so far.
func (c *Endpoint) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	counts.OpenSessions = len(c.sessions)
	counts.Commands = map[string]int{}
	for k, v := range c.counts.Commands {
		counts.Commands[k] = v
	}
	return counts
}

func (c *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	base, words := "/api", strings.TrimPrefix(r.URL.Path, "/api/")
	if rest, ok := strings.CutPrefix(r.URL.Path, "/v3/api/"); ok {
		base, words = "/v3/api", rest
	}
	if words == r.URL.Path {
		http.NotFound(w, r)
		return
	}
	command := strings.ReplaceAll(words, "/", " ")
	name := command
	if strings.HasPrefix(command, "login ") {
		name = "login"
	}
	c.mu.Lock()
	fault := c.fault
	c.counts.Commands[name]++
	c.mu.Unlock()
	if fault.Command != "" && fault.Command != name {
		fault = Fault{}
	}
	if fault.Kind == Slow {
		select {
		case <-time.After(fault.Delay):
		case <-r.Context().Done():
		case <-c.array.ended:
		}
	}
	var answer string
	if name == "login" {
		answer = c.logIn(w, base, strings.TrimPrefix(words, "login/"))
	} else {
		answer = c.answer(r, command)
	}
	if answer != "" {
		c.send(w, r, fault, answer)
	}
}

// logIn returns "" where it has answered itself.
func (c *Endpoint) logIn(w http.ResponseWriter, base, hash string) string {
	a := c.array
	a.remember(hash)
	a.mu.Lock()
	text, login := []byte(a.user+a.login.Join+a.password), a.login
	document := a.model.document("login")
	a.mu.Unlock()
	if login.Base != base {
		w.WriteHeader(http.StatusNotFound)
		return ""
	}
	want := fmt.Sprintf("%x", md5.Sum(text)) //nolint:gosec // the array's choice
	if login.Hash == "sha256" {
		want = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	if hash != want {
		c.mu.Lock()
		c.counts.Refused++
		c.mu.Unlock()
		return document.status("Error", 1, "Authentication Unsuccessful", "2")
	}
	raw := make([]byte, 16)
	_, _ = rand.Read(raw)
	key := hex.EncodeToString(raw)
	a.remember(key)
	c.mu.Lock()
	c.sessions[key] = true
	c.counts.Logins++
	c.mu.Unlock()
	return document.status("Success", 0, key, "1")
}

func (c *Endpoint) answer(r *http.Request, command string) string {
	key := strings.Join(r.Header["Sessionkey"], "")
	if cookie, err := r.Cookie("wbisessionkey"); key == "" && err == nil {
		key = cookie.Value
	}
	c.mu.Lock()
	good := c.sessions[key] && c.deaf != "all" && c.deaf != command
	if good && command == "exit" {
		delete(c.sessions, key)
		c.counts.Logouts++
	}
	c.mu.Unlock()
	c.array.mu.Lock()
	defer c.array.mu.Unlock()
	switch {
	case !good:
		// With the key in it, to see whether the client repeats it.
		return c.array.model.document(command).status("Error", 1, c.array.expired+" "+key, "0")
	case command == "exit":
		return c.array.model.document(command).success()
	}
	return c.array.model.Answer(command)
}

func (c *Endpoint) send(w http.ResponseWriter, r *http.Request, fault Fault, answer string) {
	w.Header().Set("Content-Type", "text/xml; charset=UTF-8")
	switch fault.Kind {
	case Hang:
		select {
		case <-r.Context().Done():
		case <-c.array.ended:
		}
		// To return would send an empty answer, which a client that is just
		// giving up can still receive.
		panic(http.ErrAbortHandler)
	case Junk:
		answer = "\x00\x01\xff<<<&&& >> not xml \xfe"
	case Page:
		answer = "<!DOCTYPE html><html><body>Storage Management Utility</body></html>"
	case Truncated:
		answer = answer[:len(answer)*2/3]
	case Huge:
		_, _ = fmt.Fprint(w, "<RESPONSE>")
		chunk := strings.Repeat("<OBJECT basetype=\"drives\"></OBJECT>", 1000)
		for {
			if _, err := fmt.Fprint(w, chunk); err != nil {
				return
			}
		}
	case NotUTF8:
		answer = strings.NewReplacer("SEAGATE", "SEA\xff\xfeGATE", "dgA01", "dg\xe4\x0101").Replace(answer)
	case Broken:
		w.WriteHeader(http.StatusInternalServerError)
	case Redirect:
		http.Redirect(w, r, fault.Target, http.StatusFound)
		return
	case Reset:
		panic(http.ErrAbortHandler)
	case Refuse:
		answer = (&Model{}).document("").status("Error", 1, "The command failed. - Controller is busy.", "1")
	}
	_, _ = fmt.Fprint(w, answer)
}
