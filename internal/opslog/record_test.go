package opslog

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

var testStart = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// entry makes records as radosgw writes them.
type entry struct {
	op, uri, status string
	bucket, object  string
	user            string
	size            int64
	at              time.Time
	took            time.Duration
	trans           string
	daemon          string
}

func (e entry) json() string {
	def := func(s, d string) string {
		if s == "" {
			return d
		}
		return s
	}
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	object, daemon := "", ""
	if e.object != "" {
		object = `"object":` + quoted(e.object) + `,`
	}
	if e.daemon != "" {
		daemon = `,"ceph_daemon":` + quoted(e.daemon)
	}
	return fmt.Sprintf(`{"bucket":%s,%s"time":"%s","time_local":"%s","remote_addr":"127.0.0.1","user":%s,"operation":"%s","uri":%s,`+
		`"http_status":"%s","error_code":"","bytes_sent":0,"bytes_received":%d,"object_size":%d,"total_time":%d,"user_agent":"test \"agent\" {","referrer":"",`+
		`"trans_id":"%s","authentication_type":"Local","access_key_id":"K","temp_url":false%s}`,
		quoted(def(e.bucket, "b")), object, e.at.UTC().Format("2006-01-02T15:04:05.000000Z"), e.at.UTC().Format("2006-01-02T15:04:05.000000-0700"),
		quoted(def(e.user, "u")), e.op, quoted(e.uri), def(e.status, "200"), e.size, e.size, e.took.Milliseconds(), def(e.trans, "tx0"), daemon)
}

// apply feeds the entries to the counter, one second apart unless they have a
// time.
func apply(t *testing.T, c *Counter, daemon string, entries ...entry) {
	t.Helper()
	var f Framer
	for i, e := range entries {
		if e.at.IsZero() {
			e.at = testStart.Add(time.Duration(i) * time.Second)
		}
		_, _ = f.Write([]byte(e.json()))
		var rec Record
		if !f.Next(&rec) {
			t.Fatalf("no record in %s", e.json())
		}
		c.Apply(daemon, &rec)
	}
}

func put(uri string, size int64) entry { return entry{op: "put_obj", uri: uri, size: size} }
