package msa

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Text returns a property. It is absent where the array does not give it, gives
// an empty text or says N/A.
func (o *Object) Text(name string) (string, bool) {
	p, ok := o.properties[name]
	if !ok || isAbsent(p.text) {
		return "", false
	}
	return p.text, true
}

// First returns the first of these properties that is there, or "".
func (o *Object) First(names ...string) string {
	for _, name := range names {
		if text, ok := o.Text(name); ok {
			return text
		}
	}
	return ""
}

// Code returns an enumerated property as the array codes it: its numeric twin
// ("health-numeric"), or where firmware has no twin, the code that belongs to
// its text. Nil where neither is known.
func (o *Object) Code(name string, values []EnumValue) *int {
	if p, ok := o.properties[name+"-numeric"]; ok {
		if n, err := strconv.Atoi(p.text); err == nil && n >= 0 {
			return &n
		}
	}
	p, ok := o.properties[name]
	if !ok || p.text == "" {
		return nil
	}
	for _, v := range values {
		if strings.EqualFold(v.Text, p.text) {
			code := v.Code
			return &code
		}
	}
	return nil
}

// Count returns a plain number. Absent where its text twin says that there is
// none, or where it is the filler 255 of an 8-bit field (octet).
func (o *Object) Count(name string, octet bool) *float64 {
	twin, hasTwin := o.properties[name]
	p, ok := o.properties[name+"-numeric"]
	if ok && hasTwin && isAbsent(twin.text) {
		return nil
	}
	if !ok {
		p, ok = twin, hasTwin
	}
	if !ok || isAbsent(p.text) {
		return nil
	}
	n, err := strconv.ParseFloat(p.text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || octet && n == fillerOctet {
		return nil
	}
	return &n
}

// Bytes returns a size. Only the numeric twin with its unit is exact; a size
// whose unit is not stated is absent.
func (o *Object) Bytes(name string) *float64 {
	p, ok := o.properties[name+"-numeric"]
	if !ok {
		return nil
	}
	factor, ok := sizeUnits[strings.ToLower(p.units)]
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(p.text, 10, 64)
	if err != nil {
		return nil
	}
	bytes := float64(n) * factor
	return &bytes
}

// Ratio returns a percentage text ("42%") as 0 to 1.
func (o *Object) Ratio(name string) *float64 {
	text, ok := o.Text(name)
	if !ok {
		return nil
	}
	n, unit, ok := reading(text)
	if !ok || unit != "%" && unit != "" || n < 0 || n > 100 {
		return nil
	}
	ratio := n / 100
	return &ratio
}

// Celsius returns a temperature. The text comes first, since it says in which
// scale the user's settings put it; a number without a scale is taken as degrees
// Celsius.
func (o *Object) Celsius(name string) *float64 {
	p, there := o.properties[name]
	if there && isAbsent(p.text) {
		return nil
	}
	n, unit, ok := reading(p.text)
	switch {
	case !ok:
		return o.Count(name, false)
	case unit == "F":
		n = (n - 32) * 5 / 9
	case unit != "C" && unit != "":
		return nil
	}
	return &n
}

var readingPattern = regexp.MustCompile(`^(-?\d+(?:[.,]\d+)?)\s*°?\s*([A-Za-z%]*)$`)

// reading splits "39 C", "12.04 V" or "100%" into number and unit (upper case).
func reading(text string) (float64, string, bool) {
	m := readingPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
	if err != nil || math.IsInf(n, 0) {
		return 0, "", false
	}
	return n, strings.ToUpper(m[2]), true
}

func isAbsent(text string) bool {
	return text == "" || strings.EqualFold(text, "N/A")
}
