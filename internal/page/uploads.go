package page

import "cmp"

// uploads is the section about S3 uploads.
type uploads struct {
	Notices    []notice
	View       []reason
	Oldest     *Instant
	OldestHref string
	Partial    bool // not all gateways' logs are seen
	Kinds      []string
	Rows       []gatewayRow
	More       *More
}

type gatewayRow struct {
	Gateway   string
	Done      []*Num // by kind
	Failed    *Num
	Bytes     *Num
	Behind    *Num
	Last      *Instant
	LastHref  string
	completed float64
}

func (v *overview) uploads() uploads {
	const done = "cephrisk_rgw_uploads_completed_total"
	s := uploads{}
	for _, f := range []struct{ name, text string }{
		{"cephrisk_rgw_multipart_open", "multipart uploads open"},
		{"cephrisk_rgw_multipart_abandoned", "of them abandoned"},
	} {
		if n, ok := v.sum(f.name); ok {
			s.View = append(s.View, reason{f.text, num(count(n), f.name)})
		}
	}
	if stamp, ok := v.sum("cephrisk_rgw_multipart_oldest_open_timestamp_seconds"); ok {
		i := at(instant(stamp), v.now)
		s.Oldest, s.OldestHref = &i, series("cephrisk_rgw_multipart_oldest_open_timestamp_seconds")
	}
	if n, ok := v.sum("cephrisk_rgw_multipart_view_complete"); ok && n == 0 {
		s.Partial = true
	}
	s.Kinds = sortedKeys(v.byLabel(done, "kind"))
	totals := v.byLabel(done, "ceph_daemon")
	byKind := map[string]map[string]float64{}
	for _, kind := range s.Kinds {
		byKind[kind] = v.byLabel(done, "ceph_daemon", "kind", kind)
	}
	failed := v.byLabel("cephrisk_rgw_upload_failures_total", "ceph_daemon")
	bytes := v.byLabel("cephrisk_rgw_uploaded_bytes_total", "ceph_daemon")
	lag := v.byLabel("cephrisk_rgw_ops_log_lag_bytes", "ceph_daemon")
	last := v.byLabel("cephrisk_rgw_ops_log_last_record_timestamp_seconds", "ceph_daemon")
	for gateway, n := range totals {
		r := gatewayRow{Gateway: gateway, completed: n}
		for _, kind := range s.Kinds {
			r.Done = append(r.Done, num(count(byKind[kind][gateway]), done, "ceph_daemon", gateway, "kind", kind))
		}
		set := func(to **Num, values map[string]float64, write func(float64) string, name string) {
			if n, ok := values[gateway]; ok {
				*to = num(write(n), name, "ceph_daemon", gateway)
			}
		}
		set(&r.Failed, failed, count, "cephrisk_rgw_upload_failures_total")
		set(&r.Bytes, bytes, size, "cephrisk_rgw_uploaded_bytes_total")
		set(&r.Behind, lag, size, "cephrisk_rgw_ops_log_lag_bytes")
		if stamp, ok := last[gateway]; ok {
			i := at(instant(stamp), v.now)
			r.Last, r.LastHref = &i, series("cephrisk_rgw_ops_log_last_record_timestamp_seconds", "ceph_daemon", gateway)
		}
		s.Rows = append(s.Rows, r)
	}
	order(s.Rows, func(a, b gatewayRow) int { return cmp.Compare(b.completed, a.completed) },
		func(a, b gatewayRow) int { return natural(a.Gateway, b.Gateway) })
	var n int
	s.Rows, n = first(s.Rows, maxRows)
	s.More = more(n, "gateways", done)
	s.Notices = v.notices(len(s.Rows) > 0, "This host has no RADOS gateway whose ops log is read.", "rgw")
	return s
}
