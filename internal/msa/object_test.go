package msa

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// object makes an object from "name=text" and "name=text@units".
func object(properties ...string) *Object {
	o := &Object{properties: map[string]property{}}
	for _, p := range properties {
		name, text, _ := strings.Cut(p, "=")
		text, units, _ := strings.Cut(text, "@")
		o.properties[name] = property{text: text, units: units}
	}
	return o
}

func show[T any](v *T) string {
	if v == nil {
		return "absent"
	}
	return fmt.Sprint(*v)
}

func TestValuesThatAreNotGivenAreAbsent(t *testing.T) {
	for _, test := range []struct {
		what, got, want string
	}{
		{"health by its number", show(object("health=OK", "health-numeric=2").Code("health", HealthValues)), "2"},
		{"health by its text", show(object("health=fault").Code("health", HealthValues)), "2"},
		{"health N/A is a value", show(object("health=N/A", "health-numeric=4").Code("health", HealthValues)), "4"},
		{"health N/A by its text", show(object("health=N/A").Code("health", HealthValues)), "4"},
		{"health in unknown words", show(object("health=Great").Code("health", HealthValues)), "absent"},
		{"health with a broken number", show(object("health=Degraded", "health-numeric=x").Code("health", HealthValues)), "1"},
		{"no health", show(object().Code("health", HealthValues)), "absent"},
		{"a status outside of the list", show(object("status=Odd", "status-numeric=99").Code("status", PSUStatusValues)), "99"},
		{"negative code", show(object("status-numeric=-1").Code("status", PSUStatusValues)), "absent"},
		{"temperature status 1 is good", show(object("temperature-status=OK").Code("temperature-status", TemperatureStatusValues)), "1"},

		{"count", show(object("speed=3600").Count("speed", false)), "3600"},
		{"count by its twin", show(object("x=3.6K", "x-numeric=3600").Count("x", false)), "3600"},
		{"twin says none", show(object("x=N/A", "x-numeric=0").Count("x", false)), "absent"},
		{"twin is empty", show(object("x=", "x-numeric=0").Count("x", false)), "absent"},
		{"count N/A", show(object("x=N/A").Count("x", false)), "absent"},
		{"filler", show(object("x-numeric=255").Count("x", true)), "absent"},
		{"255 that is none", show(object("x-numeric=255").Count("x", false)), "255"},
		{"NaN", show(object("x=NaN").Count("x", false)), "absent"},
		{"infinite", show(object("x=1e999").Count("x", false)), "absent"},
		{"negative", show(object("x=-1").Count("x", false)), "absent"},
		{"words", show(object("x=many").Count("x", false)), "absent"},

		{"blocks", show(object("size=600.1GB", "size-numeric=1172123568@blocks512").Bytes("size")), "6.00127266816e+11"},
		{"size without a unit", show(object("size-numeric=1172123568").Bytes("size")), "absent"},
		{"size in an unknown unit", show(object("size-numeric=1172123568@parsecs").Bytes("size")), "absent"},
		{"size in words only", show(object("size=600.1GB").Bytes("size")), "absent"},

		{"ratio", show(object("x=42%").Ratio("x")), "0.42"},
		{"ratio without sign", show(object("x=42").Ratio("x")), "0.42"},
		{"ratio of nothing", show(object("x=0%").Ratio("x")), "0"},
		{"empty ratio", show(object("x=").Ratio("x")), "absent"},
		{"too large ratio", show(object("x=101%").Ratio("x")), "absent"},

		{"celsius", show(object("x=39 C", "x-numeric=39").Celsius("x")), "39"},
		{"fahrenheit", show(object("x=104 F", "x-numeric=104").Celsius("x")), "40"},
		{"below zero", show(object("x=-5 C").Celsius("x")), "-5"},
		{"with a degree sign", show(object("x=39°C").Celsius("x")), "39"},
		{"number only", show(object("x-numeric=39").Celsius("x")), "39"},
		{"temperature N/A", show(object("x=N/A", "x-numeric=0").Celsius("x")), "absent"},
		{"kelvin", show(object("x=300 K").Celsius("x")), "absent"},
		{"no temperature", show(object().Celsius("x")), "absent"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", test.what, test.got, test.want)
		}
	}
}

func TestSensorReadingsHaveBaseUnits(t *testing.T) {
	for _, test := range []struct{ kind, value, want string }{
		{"Temperature", "39 C", "C 39"}, {"Temperature", "102.2 F", "C 39"}, {"3", "39", "C 39"}, {"", "39 C", "C 39"},
		{"Voltage", "12.11", "V 12.11"}, {"6", "12,11", "V 12.11"}, {"9", "3.31 V", "V 3.31"}, {"", "12.11", " absent"},
		{"Current", "5.40", "A 5.4"}, {"Charge Capacity", "100%", "% 100"}, {"", "100%", "% 100"},
		{"Overall Unit Status", "OK", " absent"}, {"Voltage", "N/A", " absent"}, {"Voltage", "39 C", " absent"}, {"Current", "540 mA", " absent"},
	} {
		o := object("sensor-type="+test.kind, "value="+test.value)
		unit, value := o.sensorReading()
		if got := unit + " " + show(value); got != test.want {
			t.Errorf("%s %q: %q, want %q", test.kind, test.value, got, test.want)
		}
	}
}

func TestSecretDoesNotPrint(t *testing.T) {
	const value = "correct horse"
	s := NewSecret(value)
	type holder struct {
		Exported Secret
		hidden   Secret
	}
	h := holder{s, s}
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "secret", s, "holder", h, "pointer", &h)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "holder", h, "pointer", &h)
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(text)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		all += fmt.Sprintf(verb+verb+verb, s, h, &h)
	}
	if strings.Contains(all, value) || strings.Contains(all, fmt.Sprintf("%x", value)) {
		t.Error(all)
	}
	if h.hidden.reveal() != value || (Secret{}).reveal() != "" || !(Secret{}).empty() {
		t.Error("the value is lost")
	}
}
