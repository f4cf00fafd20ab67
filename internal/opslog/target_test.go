package opslog

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTargets(t *testing.T) {
	tests := []struct {
		name, uri, bucket string
		want              Target
	}{
		{"plain", "PUT /b/k HTTP/1.1", "b", Target{Key: "k"}},
		{"part", "PUT /b/k?partNumber=3&uploadId=2~x HTTP/1.1", "b", Target{"2~x", 3, "k"}},
		{"other order, signed", "PUT /b/k?X-Amz-Expires=5&uploadId=2%7Ex&partNumber=03 HTTP/1.1", "b", Target{"2~x", 3, "k"}},
		{"logged twice", "PUT /b/k?partNumber=1&uploadId=X?partNumber=1&uploadId=X HTTP/1.1", "b", Target{"X", 1, "k"}},
		{"logged twice without a value", "POST /b/k?uploads?uploads HTTP/1.1", "b", Target{Key: "k"}},
		{"a question mark inside a value is no repetition", "PUT /b/k?x=a?uploadId=Z HTTP/1.1", "b", Target{Key: "k"}},
		{"names are percent-decoded too", "PUT /b/k?upload%49d=X&part%4eumber=2 HTTP/1.1", "b", Target{"X", 2, "k"}},
		{"an encoded equals sign separates, as in RGW", "PUT /b/k?uploadId%3DX HTTP/1.1", "b", Target{UploadID: "X", Key: "k"}},
		{"an encoded ampersand does not", "PUT /b/k?x=1%26uploadId=X HTTP/1.1", "b", Target{Key: "k"}},
		{"the last of two counts", "PUT /b/k?uploadId=X&uploadId=Y HTTP/1.1", "b", Target{UploadID: "Y", Key: "k"}},
		{"empty id", "PUT /b/k?uploadId=&partNumber=1 HTTP/1.1", "b", Target{Part: 1, Key: "k"}},
		{"names are case-sensitive", "PUT /b/k?uploadid=X&PartNumber=1 HTTP/1.1", "b", Target{Key: "k"}},
		{"part numbers that are none", "PUT /b/k?uploadId=X&partNumber=-1 HTTP/1.1", "b", Target{UploadID: "X", Key: "k"}},
		{"encoded object name", "PUT /b/a%20b%2Fc%3FpartNumber%3D1 HTTP/1.1", "b", Target{Key: "a b/c?partNumber=1"}},
		{"tenant", "PUT /t:b/k HTTP/1.1", "t/b", Target{Key: "k"}},
		{"tenant from the credentials", "PUT /b/k HTTP/1.1", "t/b", Target{Key: "k"}},
		{"encoded colon of a tenant", "PUT /t%3Ab/k HTTP/1.1", "t/b", Target{Key: "k"}},
		{"bucket of the empty tenant", "PUT /:b/k HTTP/1.1", "b", Target{Key: "k"}},
		{"virtual host", "PUT /some/key?uploadId=X HTTP/1.1", "b", Target{UploadID: "X", Key: "some/key"}},
		{"absolute form", "PUT http://h:80/b/k?uploadId=X HTTP/1.1", "b", Target{UploadID: "X", Key: "k"}},
		{"a plus sign is a space in the query only", "PUT /b/a+b?uploadId=x+y HTTP/1.1", "b", Target{UploadID: "x y", Key: "a+b"}},
		{"broken escapes stay", "PUT /b/%zz%4?uploadId=%Q HTTP/1.1", "b", Target{UploadID: "%Q", Key: "%zz%4"}},
		{"no version, no method", "/b/k?uploadId=X", "b", Target{UploadID: "X", Key: "k"}},
		{"nothing", "", "", Target{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ParseTarget([]byte(tt.uri), []byte(tt.bucket))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzTarget: whatever a client puts into key, id and other parameters, in
// whatever order, logged once or twice, comes out as it went in.
func FuzzTarget(f *testing.F) {
	f.Add("b", "k", "2~x", uint16(1), "x", "y", uint8(0))
	f.Add("b", "a b?partNumber=1&uploadId=q", "2~x", uint16(10000), "uploads", "?", uint8(7))
	f.Add("b", "b/b/ü", "%&=", uint16(0), "", "", uint8(3))
	f.Fuzz(func(t *testing.T, bucket, key, id string, number uint16, name, val string, shape uint8) {
		if bucket == "" || strings.ContainsAny(bucket, "/:") || name == "uploadId" || name == "partNumber" || strings.Contains(key, "://") {
			return
		}
		if strings.Contains(name, "=") {
			return // RGW cuts behind the decoding
		}
		pairs := []string{"uploadId=" + url.QueryEscape(id), "partNumber=" + strconv.Itoa(int(number)), url.QueryEscape(name) + "=" + url.QueryEscape(val)}
		if shape&1 != 0 {
			pairs[0], pairs[2] = pairs[2], pairs[0]
		}
		if shape&2 != 0 {
			pairs[0], pairs[1] = pairs[1], pairs[0]
		}
		query := strings.Join(pairs, "&")
		if shape&4 != 0 {
			query += "?" + query
		}
		uri := "PUT /" + url.PathEscape(bucket) + "/" + url.PathEscape(key) + "?" + query + " HTTP/1.1"
		want := Target{UploadID: id, Part: int(number), Key: key}
		if diff := cmp.Diff(want, ParseTarget([]byte(uri), []byte(bucket))); diff != "" {
			t.Errorf("%s: %s", uri, diff)
		}
		ParseTarget([]byte(key), []byte(val)) // no form of it panics
	})
}

func TestNamesOfGateways(t *testing.T) {
	tests := []struct{ in, daemon, instance string }{
		{"client.rgw.a", "rgw.a", ""},
		{"rgw.a", "rgw.a", ""},
		{"/var/log/ceph/ops-log-ceph-client.rgw.a.log", "rgw.a", ""},
		{"/var/log/ceph/5dcc9af0-7cd3-11ee-9e84-525400babd0a/ops-log-ceph-client.rgw.foo.host1.hrgsea.log", "rgw.foo.host1.hrgsea", "hrgsea"},
		{"ops-log-my-cluster-client.rgw.a.log.1", "rgw.a", ""},
		{"ops-log-ceph-client.rgw.a.log-20261130", "rgw.a", ""},
		{"/run/ceph/ops-log-ceph-client.rgw.a.sock", "rgw.a", ""},
		{"client.radosgw.gw1", "rgw.radosgw.gw1", ""},
		{"/var/log/rgw/zone1.log", "rgw.zone1", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		got := DaemonName(tt.in)
		if got != tt.daemon || InstanceID(got) != tt.instance {
			t.Errorf("%s: %q, instance %q; want %q, %q", tt.in, got, InstanceID(got), tt.daemon, tt.instance)
		}
	}
}
