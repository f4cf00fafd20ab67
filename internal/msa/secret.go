package msa

import "log/slog"

const hidden = "[hidden]"

// Secret is a password or session key. It does not print: every formatting,
// logging and marshalling way shows a placeholder, or where it is a field that
// fmt may not ask, an address.
type Secret struct{ value *string }

// NewSecret wraps a value.
func NewSecret(v string) Secret { return Secret{value: &v} }

// String implements fmt.Stringer.
func (Secret) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return hidden }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler, for JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

func (s Secret) reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

func (s Secret) empty() bool { return s.reveal() == "" }

func (s Secret) equal(other Secret) bool { return s.reveal() == other.reveal() }
