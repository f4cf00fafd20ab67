package opslog

import (
	"bytes"
	"path/filepath"
	"strings"
)

// A Target is what the request line of a record says.
type Target struct {
	UploadID string // empty: the request belongs to no multipart upload
	Part     int    // 1 and up; 0: none, or no number
	// Key is the object's key as far as the path shows it. Path-style and
	// virtual-host style requests for one object may differ where a key begins
	// with its bucket's name; a client uses one style for all of an upload.
	Key string
}

// ParseTarget reads a request line ("PUT /b/k?partNumber=1&uploadId=X HTTP/1.1")
// as RGW does: the query is split at &, each pair percent-decoded and then cut
// at its first =, the last of several equal names counts (RGWHTTPArgs::parse).
// bucket is the record's own field, with or without tenant.
func ParseTarget(uri, bucket []byte) Target {
	path, query := splitURI(uri)
	var t Target
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		name, val, _ := bytes.Cut(decodePercent(pair, true), []byte("="))
		switch string(name) {
		case "uploadId":
			t.UploadID = string(val)
		case "partNumber":
			t.Part = partNumber(val)
		}
	}
	t.Key = keyOf(path, bucket)
	return t
}

// splitURI cuts a request line into path and query, both still encoded.
func splitURI(uri []byte) (path, query []byte) {
	_, target, ok := bytes.Cut(uri, []byte(" "))
	if !ok {
		target = uri
	}
	if i := bytes.LastIndex(target, []byte(" HTTP/")); i >= 0 {
		target = target[:i]
	}
	path, query, _ = bytes.Cut(target, []byte("?"))
	// Before 17.2.8 the query is logged twice: uploads?uploads. Only an exact
	// repetition is one: a question mark is legal inside a value.
	if half := len(query) / 2; len(query)%2 == 1 && query[half] == '?' &&
		bytes.Equal(query[:half], query[half+1:]) {
		query = query[:half]
	}
	return path, query
}

func keyOf(path, bucket []byte) string {
	path = decodePercent(path, false)
	if i := bytes.Index(path, []byte("://")); i > 0 { // absolute form
		path = path[i+3:]
		if i = bytes.IndexByte(path, '/'); i < 0 {
			return ""
		}
		path = path[i:]
	}
	path = bytes.TrimPrefix(path, []byte("/"))
	tenant, name, found := bytes.Cut(bucket, []byte("/"))
	if !found {
		tenant, name = nil, bucket
	}
	rest := path
	if len(tenant) > 0 {
		rest = bytes.TrimPrefix(bytes.TrimPrefix(path, tenant), []byte(":"))
	} else {
		rest = bytes.TrimPrefix(path, []byte(":"))
	}
	if after, ok := bytes.CutPrefix(rest, name); ok && len(after) > 0 && after[0] == '/' {
		return string(after[1:])
	}
	return string(path)
}

func partNumber(b []byte) int {
	const highest = 1 << 20 // rgw_multipart_part_upload_limit is 10000
	n := parseInt(b)
	if n < 1 || n > highest {
		return 0
	}
	return int(n)
}

// decodePercent decodes %XX and, in a query, +. A percent sign without two hex
// digits stays as it is. It copies only where there is something to decode.
func decodePercent(b []byte, query bool) []byte {
	if bytes.IndexByte(b, '%') < 0 && !(query && bytes.IndexByte(b, '+') >= 0) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '%' && i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2]):
			out = append(out, unhex(b[i+1])<<4|unhex(b[i+2]))
			i += 2
		case b[i] == '+' && query:
			out = append(out, ' ')
		default:
			out = append(out, b[i])
		}
	}
	return out
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// entityName finds the part after "client." in the name of a daemon, of its ops
// log (ops-log-$cluster-$name.log, also rotated: .log.1, .log-20261130) or of a
// socket. Names of another form are returned without directory and extension.
func entityName(s string) string {
	s = filepath.Base(filepath.ToSlash(s))
	if s == "." || s == "/" {
		return ""
	}
	for _, ext := range []string{".log", ".sock", ".socket", ".asok"} {
		if i := strings.LastIndex(s, ext); i > 0 {
			s = s[:i]
			break
		}
	}
	if i := strings.Index(s, "client."); i >= 0 && (i == 0 || s[i-1] == '-') {
		return s[i+len("client."):]
	}
	return strings.TrimPrefix(s, "ops-log-")
}

// InstanceID is the value of the label instance_id that ceph-exporter gives the
// daemon (DaemonMetricCollector::get_extra_labels, 18 and newer: the fourth part
// of the name, in cephadm's names the random suffix: rgw.foo.host1.hrgsea gives
// hrgsea). Where the name has fewer parts, ceph-exporter takes process id or
// address from the socket's name, which change with every restart; there is no
// label then, so that counters stay one series.
func InstanceID(daemon string) string {
	parts := strings.Split(daemon, ".")
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}
