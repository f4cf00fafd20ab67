package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3Ledger is what clients know they did.
type s3Ledger struct {
	Put, Multipart, Copy, Post                  float64
	PutBytes, MultipartBytes, PostBytes         float64
	Aborted, Open                               float64
	FailedPut, FailedMultipart, Unauthenticated float64
}

// s3Client does what clients of a gateway do, and keeps the ledger.
type s3Client struct {
	t      testing.TB
	ctx    context.Context
	core   *minio.Core
	wrong  *minio.Core // with a secret that is wrong
	bucket string
	run    string // makes names unique among runs

	serial atomic.Int64
	mu     sync.Mutex
	ledger s3Ledger
}

// balancer is a round-robin in front of the gateways. While it is held no
// request is under way.
type balancer struct {
	*httptest.Server
	held sync.RWMutex
	next atomic.Int64
}

func newBalancer(t testing.TB, endpoints ...string) *balancer {
	b := &balancer{}
	var proxies []*httputil.ReverseProxy
	for _, e := range endpoints {
		target, err := url.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		// Host stays as the client signed it.
		proxies = append(proxies, &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host },
			Transport: &http.Transport{DisableKeepAlives: true},
		})
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.held.RLock()
		defer b.held.RUnlock()
		proxies[int(b.next.Add(1))%len(proxies)].ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

func newS3Client(t testing.TB, ctx context.Context, endpoint, access, secret, bucket string) *s3Client {
	t.Helper()
	dial := func(secret string) *minio.Core {
		core, err := minio.NewCore(strings.TrimPrefix(endpoint, "http://"), &minio.Options{
			Creds: credentials.NewStaticV4(access, secret, ""), Region: "default", BucketLookup: minio.BucketLookupPath, MaxRetries: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		return core
	}
	c := &s3Client{t: t, ctx: ctx, core: dial(secret), wrong: dial("wrong" + secret), bucket: bucket, run: fmt.Sprint(time.Now().UnixNano())}
	if err := c.core.MakeBucket(ctx, bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatalf("create bucket: %v", err)
	}
	for range 4 { // a gateway makes its log with the first request
		if _, err := c.core.BucketExists(ctx, bucket); err != nil {
			t.Fatalf("look at bucket: %v", err)
		}
	}
	return c
}

func (c *s3Client) book(f func(l *s3Ledger)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.ledger)
}

func (c *s3Client) name(kind string) string {
	return fmt.Sprintf("%s %s/a+b&c=d?e/%d", kind, c.run, c.serial.Add(1))
}

func payload(n int) *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{'x'}, n)) }

// load runs n operations by that many workers. It stops at the first one that
// does not go as it should.
func (c *s3Client) load(workers, n int) error {
	kinds := []func(*rand.Rand) error{
		c.put, c.put, c.put, c.multipart, c.multipart, c.multipart, c.copy, c.post, c.postRedirect,
		c.abort, c.leaveOpen, c.wrongKey, c.wrongSecret, c.presigned, c.overwrittenParts, c.putFails,
	}
	jobs := make(chan int)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range jobs {
				if errs[w] == nil {
					errs[w] = kinds[i%len(kinds)](rand.New(rand.NewPCG(uint64(i), 7)))
				}
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	return errors.Join(errs...)
}

func (c *s3Client) putObject(name string, size int) error {
	_, err := c.core.PutObject(c.ctx, c.bucket, name, payload(size), int64(size), "", "", minio.PutObjectOptions{})
	if err == nil {
		c.book(func(l *s3Ledger) { l.Put++; l.PutBytes += float64(size) })
	}
	return err
}

func (c *s3Client) put(rng *rand.Rand) error {
	return c.putObject(c.name("plain"), rng.IntN(200_000))
}

func (c *s3Client) presigned(rng *rand.Rand) error {
	u, err := c.core.PresignedPutObject(c.ctx, c.bucket, c.name("presigned"), time.Hour)
	if err != nil {
		return err
	}
	size := rng.IntN(50_000)
	status, err := c.do(http.MethodPut, u.String(), "", payload(size))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("presigned PUT: status %d", status)
	}
	if err == nil {
		c.book(func(l *s3Ledger) { l.Put++; l.PutBytes += float64(size) })
	}
	return err
}

func (c *s3Client) do(method, url, contentType string, body io.Reader) (int, error) {
	req, err := http.NewRequestWithContext(c.ctx, method, url, body)
	if err != nil {
		return 0, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, nil
}

// parts uploads n parts in parallel and returns them with their size.
func (c *s3Client) parts(name, id string, n int, rng *rand.Rand) ([]minio.CompletePart, int, error) {
	out := make([]minio.CompletePart, n)
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = 1 + rng.IntN(40_000)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var p minio.ObjectPart
			p, errs[i] = c.core.PutObjectPart(c.ctx, c.bucket, name, id, i+1, payload(sizes[i]), int64(sizes[i]), minio.PutObjectPartOptions{})
			out[i] = minio.CompletePart{PartNumber: i + 1, ETag: p.ETag}
		})
	}
	wg.Wait()
	total := 0
	for _, s := range sizes {
		total += s
	}
	return out, total, errors.Join(errs...)
}

func (c *s3Client) begin(kind string) (name, id string, err error) {
	name = c.name(kind)
	id, err = c.core.NewMultipartUpload(c.ctx, c.bucket, name, minio.PutObjectOptions{})
	return name, id, err
}

func (c *s3Client) complete(name, id string, parts []minio.CompletePart, size int) error {
	if _, err := c.core.CompleteMultipartUpload(c.ctx, c.bucket, name, id, parts, minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	c.book(func(l *s3Ledger) { l.Multipart++; l.MultipartBytes += float64(size) })
	return nil
}

// multipart uploads 1 to 50 parts. Every other client does not see the answer
// to its completion and asks again.
func (c *s3Client) multipart(rng *rand.Rand) error {
	name, id, err := c.begin("multipart")
	if err != nil {
		return err
	}
	n := 1 + rng.IntN(12)
	if rng.IntN(10) == 0 {
		n = 50
	}
	parts, size, err := c.parts(name, id, n, rng)
	if err != nil {
		return err
	}
	if err := c.complete(name, id, parts, size); err != nil {
		return err
	}
	for range rng.IntN(3) {
		if _, err := c.core.CompleteMultipartUpload(c.ctx, c.bucket, name, id, parts, minio.PutObjectOptions{}); err != nil {
			return fmt.Errorf("complete again: %w", err)
		}
	}
	return nil
}

// overwrittenParts sends some parts twice, with another size.
func (c *s3Client) overwrittenParts(rng *rand.Rand) error {
	name, id, err := c.begin("overwritten")
	if err != nil {
		return err
	}
	if _, _, err := c.parts(name, id, 4, rng); err != nil {
		return err
	}
	parts, size, err := c.parts(name, id, 5, rng)
	if err != nil {
		return err
	}
	return c.complete(name, id, parts, size)
}

func (c *s3Client) abort(rng *rand.Rand) error {
	name, id, err := c.begin("aborted")
	if err != nil {
		return err
	}
	if rng.IntN(3) > 0 {
		if _, _, err := c.parts(name, id, 2, rng); err != nil {
			return err
		}
	}
	if err := c.core.AbortMultipartUpload(c.ctx, c.bucket, name, id); err != nil {
		return err
	}
	c.book(func(l *s3Ledger) { l.Aborted++ })
	return nil
}

func (c *s3Client) leaveOpen(rng *rand.Rand) error {
	name, id, err := c.begin("open")
	if err != nil {
		return err
	}
	c.book(func(l *s3Ledger) { l.Open++ })
	if rng.IntN(2) == 0 {
		_, _, err = c.parts(name, id, 1, rng)
	}
	return err
}

// wrongKey completes an upload under another key, which fails, and then
// properly.
func (c *s3Client) wrongKey(rng *rand.Rand) error {
	name, id, err := c.begin("mistaken")
	if err != nil {
		return err
	}
	parts, size, err := c.parts(name, id, 2, rng)
	if err != nil {
		return err
	}
	if _, err := c.core.CompleteMultipartUpload(c.ctx, c.bucket, c.name("never"), id, parts, minio.PutObjectOptions{}); err == nil {
		return errors.New("completion under a wrong key succeeded")
	}
	c.book(func(l *s3Ledger) { l.FailedMultipart++ })
	return c.complete(name, id, parts, size)
}

func (c *s3Client) wrongSecret(rng *rand.Rand) error {
	_, err := c.wrong.PutObject(c.ctx, c.bucket, c.name("denied"), payload(100), 100, "", "", minio.PutObjectOptions{})
	if err == nil {
		return errors.New("a PUT with a wrong secret succeeded")
	}
	c.book(func(l *s3Ledger) { l.Unauthenticated++ })
	return nil
}

// putFails sends a body that is not what its MD5 says.
func (c *s3Client) putFails(rng *rand.Rand) error {
	_, err := c.core.PutObject(c.ctx, c.bucket, c.name("corrupt"), payload(100), 100, "1B2M2Y8AsgTpgAmY7PhCfg==", "", minio.PutObjectOptions{})
	if err == nil {
		return errors.New("a PUT with a wrong MD5 succeeded")
	}
	c.book(func(l *s3Ledger) { l.FailedPut++ })
	return nil
}

func (c *s3Client) copy(rng *rand.Rand) error {
	from := c.name("source")
	if err := c.putObject(from, 1000); err != nil {
		return err
	}
	if _, err := c.core.CopyObject(c.ctx, c.bucket, from, c.bucket, c.name("copy"), nil, minio.CopySrcOptions{}, minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	c.book(func(l *s3Ledger) { l.Copy++ })
	return nil
}

func (c *s3Client) post(rng *rand.Rand) error {
	return c.postForm(rng.IntN(30_000), http.StatusNoContent, func(*minio.PostPolicy) error { return nil })
}

// postRedirect asks to be sent elsewhere after success.
func (c *s3Client) postRedirect(rng *rand.Rand) error {
	return c.postForm(rng.IntN(30_000), http.StatusSeeOther, func(p *minio.PostPolicy) error {
		return p.SetSuccessActionRedirect("http://127.0.0.1/thanks")
	})
}

func (c *s3Client) postForm(size, want int, more func(*minio.PostPolicy) error) error {
	p := minio.NewPostPolicy()
	err := errors.Join(p.SetBucket(c.bucket), p.SetKey("form-"+c.run+fmt.Sprint(c.serial.Add(1))), p.SetExpires(time.Now().Add(time.Hour)), more(p))
	if err != nil {
		return err
	}
	u, fields, err := c.core.PresignedPostPolicy(c.ctx, p)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, v := range fields {
		if err := form.WriteField(name, v); err != nil {
			return err
		}
	}
	file, err := form.CreateFormFile("file", "x.bin")
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, payload(size)); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	status, err := c.do(http.MethodPost, u.String(), form.FormDataContentType(), &body)
	if err == nil && status != want {
		err = fmt.Errorf("POST form: status %d, want %d", status, want)
	}
	if err == nil {
		c.book(func(l *s3Ledger) { l.Post++; l.PostBytes += float64(size) })
	}
	return err
}

// copiedParts makes an upload whose second part is copied from another object.
func (c *s3Client) copiedParts(size int) error {
	from := c.name("source")
	if err := c.putObject(from, size); err != nil {
		return err
	}
	name, id, err := c.begin("copied")
	if err != nil {
		return err
	}
	parts, sent, err := c.parts(name, id, 1, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		return err
	}
	p, err := c.core.CopyObjectPart(c.ctx, c.bucket, from, c.bucket, name, id, 2, 0, int64(size), nil)
	if err != nil {
		return fmt.Errorf("copy part: %w", err)
	}
	return c.complete(name, id, append(parts, p), sent+size)
}
