package asok

import (
	"bytes"
	"testing"
)

func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add([]byte{0, 0, 0, 9, '{', '}'})
	f.Add([]byte{0, 0})
	f.Add([]byte(`{"osd":{}}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 64
		body, err := readAnswer(bytes.NewReader(stream), limit)
		if err != nil {
			if body != nil {
				t.Errorf("%d bytes beside %v", len(body), err)
			}
			return
		}
		if len(body) > limit || !bytes.Equal(body, stream[4:4+len(body)]) || int(stream[3]) != len(body) {
			t.Errorf("stream % x gave % x", stream, body)
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("ceph-osd.3.asok")
	f.Add("ceph-client.rgw.a.b.1.2.asok")
	f.Add("-osd..asok")
	f.Fuzz(func(t *testing.T, name string) {
		if s, ok := parseName(name); ok && (s.Cluster == "" || s.ID == "" || s.Name() == "") {
			t.Errorf("%q gave %+v", name, s)
		}
	})
}
