package enclosure

// Thresholds are the limits a shelf set for one sensor, as raw bytes. What a
// unit is depends on the type: degrees Celsius plus 20, or half a percent of
// the nominal value.
type Thresholds struct {
	HighCritical, HighWarning, LowWarning, LowCritical byte
}

// ThresholdPage is page 05h. It holds an entry for every element, also of types
// that have no thresholds, and may end early.
type ThresholdPage struct {
	Generation uint32
	Types      [][]Thresholds // per type header; shorter where the page ended
	Short      bool
}

// DecodeThresholds decodes page 05h in the order that the configuration gives.
func DecodeThresholds(c *Config, reply []byte) (*ThresholdPage, error) {
	p, err := openPage(PageThreshold, reply)
	if err != nil {
		return nil, err
	}
	t := &ThresholdPage{Generation: p.generation}
	types, short := quads(c, p.body)
	t.Short = short
	t.Types = make([][]Thresholds, len(types))
	for i, ty := range types {
		for _, r := range ty.Elements {
			t.Types[i] = append(t.Types[i], Thresholds{r[0], r[1], r[2], r[3]})
		}
	}
	return t, nil
}

// Limit is one threshold in the unit of its sensor's reading.
type Limit struct {
	Name  string // high_critical, high_warning, low_warning, low_critical
	Value float64
}

// Celsius returns the limits of a temperature sensor. A raw value of 0 is no
// limit.
func (t Thresholds) Celsius() []Limit {
	var out []Limit
	for _, l := range []struct {
		name string
		raw  byte
	}{
		{"high_critical", t.HighCritical},
		{"high_warning", t.HighWarning},
		{"low_warning", t.LowWarning},
		{"low_critical", t.LowCritical},
	} {
		if l.raw != 0 {
			out = append(out, Limit{l.name, float64(l.raw) - temperatureOffset})
		}
	}
	return out
}
