package msa

import (
	"context"
	"crypto/md5" //nolint:gosec // the array's choice, not ours
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// maxAnswer bounds one answer. `show disks` of a full array has about 1.5 MB
// with all attributes.
const maxAnswer = 16 << 20

// errStale says that a session's key was not accepted any more.
var errStale = errors.New("session is not accepted any more")

// errLogin says that the array refused a login for another reason than user and
// password. Its words are not repeated: they might hold what was sent.
var errLogin = errors.New("login not possible: the array answers with an error that is not about user and password")

// errStatus is an HTTP status other than 200.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("HTTP status %d", int(e)) }

// controller speaks to one of the two controllers. It is used by one goroutine
// at a time.
type controller struct {
	address string // host or host:port, for labels and messages
	url     *url.URL
	user    string
	timeout time.Duration
	limit   int64 // of an answer, in bytes
	http    *http.Client

	base    string // of the session
	session Secret
	// fresh: the session was opened in this poll, so an error is not due to
	// its age, and it is not opened again.
	fresh bool
	// refused holds off further logins.
	refused refusal
}

func newController(a ArrayConfig, u *url.URL) *controller {
	transport := &http.Transport{
		TLSClientConfig:     a.TLS.Clone(),
		TLSHandshakeTimeout: a.Timeout,
		// One connection, kept open: the management controllers are slow.
		MaxConnsPerHost: 1,
		IdleConnTimeout: 2 * time.Minute,
		// No proxy from the environment: session keys stay in this network.
		Proxy: nil,
	}
	return &controller{
		address: u.Host,
		url:     u,
		user:    a.User,
		timeout: a.Timeout,
		limit:   maxAnswer,
		http: &http.Client{
			Transport: transport,
			// A redirect would carry the key to wherever it points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// login tries one variant. The error is ErrRefused or errLogin where the array
// answered and refused; another one means that it did not come to that.
func (c *controller) login(ctx context.Context, v variant, password Secret) error {
	c.session = Secret{}
	answer, err := c.get(ctx, v.base, cmdLogin, digest(v, c.user, password))
	var status errStatus
	if errors.As(err, &status) && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return ErrRefused
	}
	if err != nil {
		return err
	}
	key, err := answer.sessionKey()
	if err != nil {
		return err
	}
	c.base, c.session, c.fresh = v.base, key, true
	return nil
}

func digest(v variant, user string, password Secret) string {
	text := []byte(user + v.join + password.reveal())
	if v.hash == HashMD5 {
		sum := md5.Sum(text) //nolint:gosec // the array's choice, not ours
		return hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ask runs a command. It returns errStale where the key seems to have expired.
func (c *controller) ask(ctx context.Context, command string) (*Response, error) {
	if c.session.empty() {
		return nil, errStale
	}
	answer, err := c.get(ctx, c.base, command, "")
	var status errStatus
	if errors.As(err, &status) && (status == http.StatusUnauthorized || status == http.StatusForbidden ||
		status >= 300 && status < 400) {
		return nil, errStale
	}
	if err != nil {
		return nil, err
	}
	message, err := answer.verdict()
	var refusal *CommandError
	if errors.As(err, &refusal) && !refusal.Unknown {
		// Every model knows `show system`: refused with an old key, it is the
		// key. Otherwise the text has to say so.
		if sessionLost(message) || command == cmdSystem && !c.fresh {
			return nil, errStale
		}
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// logout ends the session.
func (c *controller) logout(ctx context.Context) {
	if !c.session.empty() {
		// Best effort: the session ends by itself after half an hour.
		_, _ = c.get(ctx, c.base, cmdExit, "")
		c.session = Secret{}
	}
	c.http.CloseIdleConnections()
}

// get sends one request. argument is a path element that must not be shown.
// Errors never carry the URL: it may hold the login hash, which is as good as
// the password.
func (c *controller) get(ctx context.Context, base, command, argument string) (answer *Response, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	step := polltrace.Begin(ctx, c.url.Scheme+"://"+c.url.Host, command)
	defer func() { step.End(summary(answer), err) }()
	target := *c.url
	target.Path = base + "/" + strings.ReplaceAll(command, " ", "/")
	if argument != "" {
		target.Path += "/" + argument
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot make a request", command)
	}
	if !c.session.empty() {
		request.Header["sessionKey"] = []string{c.session.reveal()} // not canonical: as the arrays spell it
		request.AddCookie(&http.Cookie{Name: "wbisessionkey", Value: c.session.reveal()})
		request.AddCookie(&http.Cookie{Name: "wbiusername", Value: c.user})
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, c.plain(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: read answer: %w", command, c.plain(err))
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %w", command, errStatus(response.StatusCode))
	case int64(len(body)) > c.limit:
		return nil, fmt.Errorf("%s: answer is longer than %d bytes", command, c.limit)
	}
	step.Answered(len(body))
	answer, err = Decode(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return answer, nil
}

func summary(r *Response) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d objects", len(r.Objects))
}

// plain drops from an error of the HTTP client the URL, and addresses with port
// numbers that differ each time: what is said once has to read the same twice.
func (c *controller) plain(err error) error {
	var (
		inURL *url.Error
		inNet *net.OpError
	)
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s: %w", c.timeout, context.DeadlineExceeded)
	case errors.As(err, &inNet):
		return fmt.Errorf("%s: %w", inNet.Op, inNet.Err)
	}
	return err
}

// unreachable tells an array that did not answer from one that answered
// something else.
func unreachable(err error) bool {
	var (
		refusal *CommandError
		status  errStatus
	)
	if errors.Is(err, ErrRefused) || errors.Is(err, errLogin) || errors.Is(err, errStale) {
		return false
	}
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &status) && !errors.Is(err, ErrNotAPI)
}
