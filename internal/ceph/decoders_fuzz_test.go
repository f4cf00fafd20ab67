package ceph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// fuzzDecoder holds for a decoder what must hold for all: it takes nothing but
// one whole JSON document (null for each bare nan and inf), keeps no reference
// to it, and reads the same from the document alone.
func fuzzDecoder[T any](f *testing.F, name string, decode func([]byte) (T, error)) {
	f.Add([]byte(anyDecoder[name].good))
	for _, data := range fixtures(f, name) {
		f.Add(small(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		input := bytes.Clone(data)
		got, err := decode(data)
		if !bytes.Equal(input, data) {
			t.Fatal("the answer was written to")
		}
		if err != nil {
			return
		}
		doc, _, err := document(data)
		if err != nil {
			t.Fatalf("not one JSON document: %v", err)
		}
		if !json.Valid(doc) {
			t.Fatalf("not valid: %s", doc)
		}
		again, err := decode(bytes.Clone(doc))
		if err != nil {
			t.Fatalf("the document alone: %v", err)
		}
		forget(&again)
		forget(&got)
		want := textOf(again)
		if text := textOf(got); text != want {
			t.Fatalf("the document alone:\n%s\n%s", text, want)
		}
		clear(data)
		if text := textOf(got); text != want {
			t.Fatalf("changed with the answer:\n%s\n%s", text, want)
		}
	})
}

// forget drops what tells a sanitised answer from its document.
func forget(decoded any) {
	if u, ok := decoded.(**OSDUsages); ok {
		(*u).SanitisedTokens = 0
	}
}

// textOf writes a value out with what its pointers point to.
func textOf(decoded any) string {
	if versions, ok := decoded.(map[string]map[Version]int); ok {
		return fmt.Sprint(versions)
	}
	text, err := json.Marshal(decoded)
	return fmt.Sprint(string(text), err)
}

func FuzzDecodeOSDMap(f *testing.F)      { fuzzDecoder(f, "osd dump", DecodeOSDMap) }
func FuzzDecodeHealth(f *testing.F)      { fuzzDecoder(f, "health", DecodeHealth) }
func FuzzDecodeConfigDump(f *testing.F)  { fuzzDecoder(f, "config dump", DecodeConfigDump) }
func FuzzDecodeConfigShow(f *testing.F)  { fuzzDecoder(f, "config show", DecodeConfigShow) }
func FuzzDecodeOSDUsages(f *testing.F)   { fuzzDecoder(f, "osd df", DecodeOSDUsages) }
func FuzzDecodeOSDMetadata(f *testing.F) { fuzzDecoder(f, "osd metadata", DecodeOSDMetadata) }
func FuzzDecodeVersion(f *testing.F)     { fuzzDecoder(f, "version", DecodeVersion) }
func FuzzDecodeVersions(f *testing.F)    { fuzzDecoder(f, "versions", DecodeVersions) }
func FuzzDecodeMgrMap(f *testing.F)      { fuzzDecoder(f, "mgr dump", DecodeMgrMap) }

func FuzzDecodeStatFS(f *testing.F) {
	fuzzDecoder(f, "pg dump osds", func(data []byte) ([]StatFS, error) {
		_, osds, err := DecodeStatFS(data)
		return osds, err
	})
}

// FuzzParseStamp holds stamps against time.Parse.
func FuzzParseStamp(f *testing.F) {
	for _, text := range []string{
		"", "0.000000", "12.500000", "315359999.999999", "315360000.000000", "2022-02-04T10:46:32.228199+0000", "2022-02-04T12:46:32.2+02:00",
		"2024-02-29T23:59:59Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999-2359", "2023-07-11 12:37:44.526932",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseStamp(text)
		want, ok := refStamp(string(text))
		if got != want || (err == nil) != ok {
			t.Errorf("%q: %d (%v), want %d", text, got, err, want)
		}
	})
}
