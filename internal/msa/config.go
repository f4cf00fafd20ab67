package msa

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Hash is the digest of the login.
type Hash string

// The values of `hash`.
const (
	HashAuto   Hash = "auto"
	HashMD5    Hash = "md5"
	HashSHA256 Hash = "sha256"
)

// Defaults of an array's configuration.
const (
	DefaultTimeout = 20 * time.Second
	maxTimeout     = time.Minute
	maxControllers = 2
)

// Config is a validated configuration: ParseConfig and LoadConfig are the only
// ways to get one with arrays.
type Config struct {
	arrays []ArrayConfig
}

// Arrays returns the arrays in the order of the file.
func (c *Config) Arrays() []ArrayConfig { return append([]ArrayConfig(nil), c.arrays...) }

// ArrayConfig says how to reach one array. All of it has been checked.
type ArrayConfig struct {
	Name        string
	Controllers []*url.URL // scheme and host only, one or two
	User        string
	// PasswordFile is read at every login, so that a changed password needs
	// no restart.
	PasswordFile string
	Hash         Hash
	Base         string        // "" to find out, or "/api", "/v3/api"
	Timeout      time.Duration // of one request
	TLS          *tls.Config
}

// arrayYAML is the file's form.
type arrayYAML struct {
	Name         string   `yaml:"name"`
	Controllers  []string `yaml:"controllers"`
	User         string   `yaml:"user"`
	PasswordFile string   `yaml:"password_file"`
	Hash         string   `yaml:"hash"`
	API          string   `yaml:"api"`
	Timeout      string   `yaml:"timeout"`
	TLS          tlsYAML  `yaml:"tls"`
}

type tlsYAML struct {
	CAFile             string `yaml:"ca_file"`
	ServerName         string `yaml:"server_name"`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"`
	MinVersion         string `yaml:"min_version"`
}

// LoadConfig reads a file and checks it, with the files it names.
func LoadConfig(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read msa configuration: %w", err)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("msa configuration %s: %w", path, err)
	}
	for _, a := range c.arrays {
		if _, err := a.password(); err != nil {
			return nil, fmt.Errorf("msa configuration %s: array %q: %w", path, a.Name, err)
		}
	}
	return c, nil
}

// ParseConfig decodes YAML. Unknown fields are errors, and all errors of a file
// are reported at once.
func ParseConfig(text []byte) (*Config, error) {
	var file struct {
		Arrays []arrayYAML `yaml:"arrays"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if len(file.Arrays) == 0 {
		return nil, errors.New("no arrays")
	}
	var (
		c    Config
		errs []error
		seen = map[string]bool{}
	)
	for i, y := range file.Arrays {
		a, err := y.validate()
		if seen[y.Name] && y.Name != "" {
			err = errors.Join(err, errors.New("name is taken by an array above"))
		}
		seen[y.Name] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("array %d (%q): %w", i+1, y.Name, err))
			continue
		}
		c.arrays = append(c.arrays, a)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &c, nil
}

func (y arrayYAML) validate() (ArrayConfig, error) {
	a := ArrayConfig{Name: y.Name, User: y.User, PasswordFile: y.PasswordFile, Timeout: DefaultTimeout}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, required := range []struct{ field, value string }{
		{"name", y.Name}, {"user", y.User}, {"password_file", y.PasswordFile},
	} {
		if required.value == "" {
			fail("%s is missing", required.field)
		}
	}
	if n := len(y.Controllers); n == 0 || n > maxControllers {
		fail("controllers: one or two addresses are needed, not %d", n)
	}
	for _, address := range y.Controllers {
		u, err := controllerURL(address)
		if err != nil {
			fail("controllers: %w", err)
			continue
		}
		for _, other := range a.Controllers {
			if other.Host == u.Host {
				fail("controllers: %s is there twice", u.Host)
			}
		}
		a.Controllers = append(a.Controllers, u)
	}
	switch a.Hash = Hash(y.Hash); a.Hash {
	case "":
		a.Hash = HashAuto
	case HashAuto, HashMD5, HashSHA256:
	default:
		fail("hash: %q is none of auto, md5, sha256", y.Hash)
	}
	switch y.API {
	case "", "auto":
	case "/api", "/v3/api":
		a.Base = y.API
	default:
		fail("api: %q is none of auto, /api, /v3/api", y.API)
	}
	if y.Timeout != "" {
		t, err := time.ParseDuration(y.Timeout)
		if err != nil || t < time.Second || t > maxTimeout {
			fail("timeout: %q is not a duration from 1s to %s", y.Timeout, maxTimeout)
		}
		a.Timeout = t
	}
	var err error
	if a.TLS, err = y.TLS.config(); err != nil {
		fail("tls: %w", err)
	}
	return a, errors.Join(errs...)
}

// controllerURL takes a host, host:port or URL. Without a scheme it is https.
func controllerURL(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		if ip := net.ParseIP(address); ip != nil && ip.To4() == nil {
			address = "[" + address + "]"
		}
		address = "https://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		// The parser's error repeats its input, which may hold a password.
		return nil, errors.New("an address is not a host, host:port or URL")
	case u.User != nil:
		return nil, fmt.Errorf("%s: user and password do not belong into the address", u.Host)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%s: scheme %q is neither https nor http", u.Host, u.Scheme)
	case u.Hostname() == "", u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%q is not a host, host:port or URL without a path", u.Redacted())
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

var tlsVersions = map[string]uint16{
	"": tls.VersionTLS12, "1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

func (y tlsYAML) config() (*tls.Config, error) {
	version, ok := tlsVersions[y.MinVersion]
	if !ok {
		return nil, fmt.Errorf("min_version: %q is none of 1.0, 1.1, 1.2, 1.3", y.MinVersion)
	}
	c := &tls.Config{MinVersion: version, ServerName: y.ServerName, InsecureSkipVerify: y.InsecureSkipVerify} //nolint:gosec // by the user's setting, per array
	if version < tls.VersionTLS12 {
		// Firmware that stops at TLS 1.0 knows no suites but those that Go
		// leaves out by default.
		for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
			c.CipherSuites = append(c.CipherSuites, suite.ID)
		}
	}
	if y.CAFile == "" {
		return c, nil
	}
	if y.InsecureSkipVerify {
		return nil, errors.New("ca_file and insecure_skip_verify exclude each other")
	}
	pem, err := os.ReadFile(y.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file: %s holds no certificate in PEM form", y.CAFile)
	}
	return c, nil
}

// password reads the password file; the line end is not part of the password.
func (a ArrayConfig) password() (Secret, error) {
	text, err := os.ReadFile(a.PasswordFile)
	if err != nil {
		return Secret{}, fmt.Errorf("password_file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return Secret{}, fmt.Errorf("password_file: %s is empty", a.PasswordFile)
	}
	return NewSecret(password), nil
}

// variants lists the ways to log in that the configuration leaves open.
func (a ArrayConfig) variants() []variant {
	var open []variant
	for _, v := range loginVariants {
		if (a.Hash == HashAuto || a.Hash == v.hash) && (a.Base == "" || a.Base == v.base) {
			open = append(open, v)
		}
	}
	if len(open) == 0 { // a base and a hash that are not known to go together
		open = append(open, variant{a.Base, a.Hash, "_"})
	}
	return open
}
