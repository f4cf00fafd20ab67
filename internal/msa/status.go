package msa

import (
	"fmt"
	"regexp"
	"strings"
)

// A CommandError is the array's own refusal of a command.
type CommandError struct {
	Message string
	// Unknown: the model has no such command.
	Unknown bool
}

func (e *CommandError) Error() string { return fmt.Sprintf("array says %q", e.Message) }

// maxMessage bounds how much of the array's text an error carries.
const maxMessage = 160

// verdict reads the status object. The return code says nothing: good answers
// have 0 and 1, bad ones 0, 1 and 2. What counts is the response type.
func (r *Response) verdict() (message string, err error) {
	var last *Object
	for _, o := range r.Objects {
		if o.Basetype == typeStatus {
			last = o
		}
	}
	if last == nil {
		if len(r.Objects) > 0 {
			return "", nil
		}
		return "", fmt.Errorf("answer without objects and without status: %w", ErrNotAPI)
	}
	message = shorten(last.First("response"))
	if code, _ := last.Text("return-code"); code == codeAmbiguous || last.failed() && unknownCommand(message) {
		return message, &CommandError{Message: message, Unknown: true}
	}
	if last.failed() {
		return message, &CommandError{Message: message}
	}
	return message, nil
}

// failed: response-type-numeric is 0 for success, 1 for an error, 2 and 3 for
// information and warnings; the text decides where there is no number.
func (o *Object) failed() bool {
	if numeric, ok := o.Text("response-type-numeric"); ok {
		return numeric == "1"
	}
	text, _ := o.Text("response-type")
	return strings.EqualFold(text, "Error")
}

var sessionKeyPattern = regexp.MustCompile(`^[0-9A-Za-z_.:+/=-]{8,256}$`)

// sessionKey returns the key that a login answer carries. Where the array
// refused, the error is ErrRefused or errLogin.
func (r *Response) sessionKey() (Secret, error) {
	for _, o := range r.Objects {
		if o.Basetype != typeStatus {
			continue
		}
		// The full text: a key is longer than a message may be.
		text, _ := o.Text("response")
		code, _ := o.Text("return-code")
		switch {
		case !o.failed() && sessionKeyPattern.MatchString(text):
			return NewSecret(text), nil
		case code == codeRefused || aboutAccount(text):
			return Secret{}, ErrRefused
		}
		return Secret{}, errLogin
	}
	return Secret{}, fmt.Errorf("login without a status: %w", ErrNotAPI)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > maxMessage {
		return string(r[:maxMessage]) + "..."
	}
	return s
}
