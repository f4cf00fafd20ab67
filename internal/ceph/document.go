package ceph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	errEmpty        = errors.New("empty answer")
	errNoDocument   = errors.New("no JSON document in the answer")
	errTwoDocuments = errors.New("more than one JSON document in the answer")
)

// documentStart finds the JSON object or array of an answer: at the start of
// the first line that begins with one. Ceph prints blank lines and, by way of
// its command line tool, status text around it.
func documentStart(data []byte) (int, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return 0, errEmpty
	}
	for at := 0; at < len(data); {
		i := at
		for i < len(data) && isSpace(data[i]) {
			i++
		}
		if i < len(data) && (data[i] == '{' || data[i] == '[') {
			return i, nil
		}
		nl := bytes.IndexByte(data[i:], '\n')
		if nl < 0 {
			break
		}
		at = i + nl + 1
	}
	return 0, errNoDocument
}

// checkTail reports an error if what stands behind the document is more than
// status text: another document, or a torn piece of one.
func checkTail(tail []byte) error {
	for line := range bytes.Lines(tail) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && bytes.IndexByte([]byte(`{}[],:"`), line[0]) >= 0 {
			return errTwoDocuments
		}
	}
	return nil
}

// document cuts the one JSON document out of an answer and puts null where it
// has a bare nan or inf, whose number it returns. The result is a part of data
// unless there was something to replace.
func document(data []byte) ([]byte, int, error) {
	start, err := documentStart(data)
	if err != nil {
		return nil, 0, err
	}
	s := scanner{data: data, pos: start}
	if !s.value() {
		return nil, 0, s.err
	}
	doc := data[start:s.pos]
	if err := checkTail(data[s.pos:]); err != nil {
		return nil, 0, err
	}
	if s.nonFinite > 0 {
		doc = withoutNonFinite(doc)
	}
	return doc, s.nonFinite, nil
}

// withoutNonFinite copies a document that the scanner accepts, with null for
// every nan and inf: outside of strings no other word holds these letters.
func withoutNonFinite(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+64)
	for i := 0; i < len(doc); {
		s := scanner{data: doc, pos: i}
		switch {
		case doc[i] == '"':
			s.str()
			out = append(out, doc[i:s.pos]...)
			i = s.pos
		case s.absent():
			out = append(out, "null"...)
			i = s.pos
		default:
			out = append(out, doc[i])
			i++
		}
	}
	return out
}

// decode fills v from the one JSON document of an answer and returns how many
// bare nan and inf it held. Nothing in v refers to data afterwards.
func decode(what string, data []byte, v any) (int, error) {
	doc, nonFinite, err := document(data)
	if err == nil {
		err = json.Unmarshal(doc, v)
	}
	if err != nil {
		return 0, fmt.Errorf("decode %s: %w", what, err)
	}
	return nonFinite, nil
}
