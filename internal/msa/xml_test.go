package msa

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// tree is a decoded answer in a form that compares and prints.
type tree struct {
	Type     string
	Text     map[string]string
	Children []tree
}

func asTree(o *Object) tree {
	t := tree{Type: o.Basetype, Text: map[string]string{}}
	for name, p := range o.properties {
		t.Text[name] = p.text
		if p.units != "" {
			t.Text[name] += " " + p.units
		}
	}
	for _, child := range o.Objects {
		t.Children = append(t.Children, asTree(child))
	}
	return t
}

func TestAnswerIsDecodedWhole(t *testing.T) {
	const answer = "\ufeff\n <?xml version=\"1.0\" encoding=\"ISO-8859-1\" standalone=\"yes\"?>\n" +
		"<RESPONSE VERSION=\"L100\" REQUEST=\"show x\"><COMP G=\"0\" P=\"1\"/><COMP><OBJECT basetype=\"no\"/></COMP>" +
		"<OBJECT format=\"rows\" oid=\"1\" basetype=\"enclosures\">" +
		"<PROPERTY size=\"1\" name=\"a\" units=\"blocks512\"> 1 &amp; &#50;<![CDATA[<3>]]> </PROPERTY><PROPERTY name=\"a\">second</PROPERTY>" +
		"<PROPERTY>nameless</PROPERTY><PROPERTY name=\"empty\"/><PROPERTY name=\"bytes\">x\xff\x00\xfey</PROPERTY>" +
		"<OBJECT basetype=\"power-supplies\"><OBJECT basetype=\"fan\"><PROPERTY name=\"f\">1<b>2</b>3</PROPERTY></OBJECT></OBJECT>" +
		"</OBJECT><object BASETYPE=\"status\"/></RESPONSE> <trailing garbage"
	got, err := Decode([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	want := tree{Text: map[string]string{}, Children: []tree{
		{Type: "enclosures", Text: map[string]string{"a": "1 & 2<3> blocks512", "empty": "", "bytes": "x\ufffd\ufffd\ufffdy"}, Children: []tree{
			{Type: "power-supplies", Text: map[string]string{}, Children: []tree{{Type: "fan", Text: map[string]string{"f": "13"}}}},
		}},
		{Type: "status", Text: map[string]string{}},
	}}
	if g := asTree(&Object{Objects: got.Objects}); !reflect.DeepEqual(g, want) {
		t.Errorf("got  %+v\nwant %+v", g, want)
	}
}

func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	whole := `<RESPONSE><OBJECT basetype="x"><PROPERTY name="a">1</PROPERTY></OBJECT></RESPONSE>`
	for n := 1; n < len(whole); n++ {
		if _, err := Decode([]byte(whole[:n])); err == nil {
			t.Errorf("%q is no error", whole[:n])
		}
	}
	for answer, want := range map[string]error{
		"": ErrNotAPI, " \n": ErrNotAPI, "\x00\x01": ErrNotAPI, "<html></html>": ErrNotAPI, `{"status":[]}`: ErrNotAPI,
		"<!-- only a comment -->":                            ErrNotAPI,
		whole[:len(whole)-11]:                                io.ErrUnexpectedEOF,
		"<RESPONSE><OBJECT></RESPONSE>":                      nil,
		"<RESPONSE>&unknown;</RESPONSE>":                     nil,
		"<RESPONSE" + ">" + strings.Repeat("<OBJECT>", 1000): nil,
	} {
		_, err := Decode([]byte(answer))
		if err == nil || want != nil && !errors.Is(err, want) && !strings.Contains(err.Error(), "unexpected EOF") {
			t.Errorf("%.40q: error %v, want %v", answer, err, want)
		}
	}
}

// status makes the answer that has just this status object.
func status(properties ...string) string {
	var b strings.Builder
	b.WriteString(`<RESPONSE><OBJECT basetype="status">`)
	for i := 0; i+1 < len(properties); i += 2 {
		b.WriteString(`<PROPERTY name="` + properties[i] + `">` + properties[i+1] + `</PROPERTY>`)
	}
	return b.String() + "</OBJECT></RESPONSE>"
}

func TestSuccessIsJudgedByTheResponseType(t *testing.T) {
	for _, test := range []struct {
		answer string
		want   string // of the error
	}{
		{status("response-type", "Success", "response-type-numeric", "0", "response", "ok", "return-code", "0"), ""},
		{status("response-type", "Success", "response-type-numeric", "0", "response", "ok", "return-code", "1"), ""},
		{status("response-type", "success", "response", "ok", "return-code", "1"), ""},
		{status("response-type", "Info", "response-type-numeric", "2", "return-code", "5"), ""},
		{status("response-type", "Warning", "response-type-numeric", "3", "return-code", "5"), ""},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "no", "return-code", "0"), `array says "no"`},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "no", "return-code", "1"), `array says "no"`},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "no", "return-code", "2"), `array says "no"`},
		{status("response-type", "ERROR", "response", "no", "return-code", "0"), `array says "no"`},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "The command is ambiguous.", "return-code", "-10028"), `array says "The command is ambiguous."`},
		{status("response-type", "Error", "response-type-numeric", "1", "response", strings.Repeat("ä", 200)), `array says "` + strings.Repeat("ä", 160) + `..."`},
		{`<RESPONSE><OBJECT basetype="drives"/></RESPONSE>`, ""},
		{`<RESPONSE></RESPONSE>`, "answer without objects and without status: not an answer of the XML API"},
	} {
		r, err := Decode([]byte(test.answer))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.verdict()
		if got := errorText(err); got != test.want {
			t.Errorf("%s: error %q, want %q", test.answer, got, test.want)
		}
		var refusal *CommandError
		if errors.As(err, &refusal) && refusal.Unknown != strings.Contains(test.answer, "-10028") {
			t.Errorf("%s: unknown %v", test.answer, refusal.Unknown)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLoginAnswers(t *testing.T) {
	const key = "1234567890abcdef1234567890abcdef"
	for _, test := range []struct {
		answer string
		want   error
	}{
		{status("response-type", "Success", "response-type-numeric", "0", "response", key, "return-code", "1"), nil},
		{status("response-type", "success", "response", key), nil},
		{status("response", key, "return-code", "1"), nil},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "Authentication Unsuccessful", "return-code", "2"), ErrRefused},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "Invalid username or password.", "return-code", "1"), ErrRefused},
		{status("response-type", "Error", "response-type-numeric", "1", "response", "Controller is busy.", "return-code", "1"), errLogin},
		{status("response-type", "Error", "response-type-numeric", "1", "response", key, "return-code", "1"), errLogin},
		{status("response-type", "Success", "response-type-numeric", "0", "response", "", "return-code", "1"), errLogin},
		{status("response-type", "Success", "response-type-numeric", "0", "response", "two words", "return-code", "1"), errLogin},
		{`<RESPONSE><OBJECT basetype="drives"/></RESPONSE>`, ErrNotAPI},
	} {
		r, err := Decode([]byte(test.answer))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.sessionKey()
		if !errors.Is(err, test.want) || test.want == nil && got.reveal() != key {
			t.Errorf("%s: key %q, error %v, want %v", test.answer, got.reveal(), err, test.want)
		}
	}
}
