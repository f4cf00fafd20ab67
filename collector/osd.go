package collector

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

func osdSpec() Spec {
	return Spec{
		Name:      "osd",
		Help:      "META, OMAP, data and unaccounted bytes of every OSD; rows that join an OSD to its host, devices and serials",
		Roles:     RoleCluster,
		Interval:  time.Minute,
		Timeout:   2 * time.Minute,
		NeedsCeph: true,
		Rows:      func() []*Row { return newOSDTable().Rows() },
		Configure: func(FlagSet) Constructor {
			return func(d Deps) (Poller, error) {
				return &osdPoller{client: &ceph.Client{Commander: d.Ceph}, table: newOSDTable()}, nil
			}
		},
	}
}

// osdPoller asks what all OSDs use and are.
type osdPoller struct {
	client *ceph.Client
	table  *osdTable
	// metadata is the last answer: it changes only when an OSD boots, so an old
	// one serves while the mons do not answer.
	metadata map[int32]*ceph.OSDMetadata
	// classes are the device classes of the last `osd df`, so that a join row
	// does not change its labels while the mgr does not answer.
	classes map[int32]string
}

// Poll implements Poller. Each answer that is there is used.
func (p *osdPoller) Poll(ctx context.Context, _ time.Time) (Snapshot, error) {
	s := &osdSnapshot{table: p.table}
	metadata, metadataErr := p.client.OSDMetadata(ctx)
	if metadataErr == nil {
		p.metadata = make(map[int32]*ceph.OSDMetadata, len(metadata))
		for i := range metadata {
			p.metadata[metadata[i].ID] = &metadata[i]
		}
	}
	s.metadata = p.metadata
	var mapErr, usageErr error
	s.osds, mapErr = p.client.OSDDump(ctx)
	s.usage, usageErr = p.client.OSDDf(ctx)
	if usageErr == nil {
		p.classes = make(map[int32]string, len(s.usage.OSDs))
		for i := range s.usage.OSDs {
			p.classes[s.usage.OSDs[i].ID] = s.usage.OSDs[i].DeviceClass
		}
	}
	s.classes = p.classes
	err := errors.Join(mapErr, metadataErr, usageErr)
	if s.osds == nil && s.usage == nil && metadataErr != nil {
		return nil, err
	}
	return s, err
}

// osdSnapshot is what one poll learned; what was not answered is nil.
type osdSnapshot struct {
	table    *osdTable
	osds     *ceph.OSDMap
	usage    *ceph.OSDUsages
	metadata map[int32]*ceph.OSDMetadata
	classes  map[int32]string // CRUSH device classes
}

// Emit implements Snapshot.
func (s *osdSnapshot) Emit(e *Emitter) {
	t := s.table
	if s.osds != nil {
		for i := range s.osds.OSDs {
			o := &s.osds.OSDs[i]
			e.EmitBool(t.up, o.Up, osdLabel(o.ID))
			e.EmitBool(t.in, o.In, osdLabel(o.ID))
			host, class := s.place(o.ID)
			e.EmitBool(t.noout, s.osds.OSDHasFlag(o, host, class, "noout"), osdLabel(o.ID))
		}
	}
	if s.usage != nil {
		for i := range s.usage.OSDs {
			u := &s.usage.OSDs[i]
			e.EmitBool(t.sizeUnknown, !u.SizeKnown(), osdLabel(u.ID))
			if u.SizeKnown() {
				s.emitUsage(e, u)
			}
		}
		e.Emit(t.stray, float64(len(s.usage.Stray)))
	}
	for _, m := range s.metadata {
		s.emitMetadata(e, m)
	}
}

// place returns the OSD's host and CRUSH device class, empty where not known.
func (s *osdSnapshot) place(id int32) (host, class string) {
	class = s.classes[id]
	if m := s.metadata[id]; m != nil {
		host = m.Hostname
		if class == "" {
			class = m.DeviceClass
		}
	}
	return host, class
}

// emitUsage says how the space of an OSD is used. An OSD without a size reported
// nothing: its zeros are not facts.
func (s *osdSnapshot) emitUsage(e *Emitter, u *ceph.OSDUsage) {
	t, osd := s.table, osdLabel(u.ID)
	emit := func(row *Row, bytes *int64) {
		if bytes != nil {
			e.Emit(row, float64(*bytes), osd)
		}
	}
	emit(t.size, u.Size)
	// Only BlueStore has these parts; others report 0 for them.
	if m := s.metadata[u.ID]; m == nil || !strings.HasPrefix(m.ObjectStore, "bluestore") {
		return
	}
	emit(t.meta, u.Meta)
	emit(t.omap, u.Omap)
	emit(t.data, u.Data)
	if bytes, ok := u.Unaccounted(); ok {
		e.Emit(t.unaccounted, float64(bytes), osd)
	}
}

// emitMetadata writes the rows to join with. An OSD that never booted has none.
func (s *osdSnapshot) emitMetadata(e *Emitter, m *ceph.OSDMetadata) {
	if m.Hostname == "" && m.Version == "" && m.ObjectStore == "" {
		return
	}
	osd := osdLabel(m.ID)
	host, class := s.place(m.ID)
	e.Emit(s.table.info, 1, osd, host, class, m.ObjectStore, m.Version)
	seen := make(map[ceph.OSDDevice]bool, len(m.Devices))
	for _, d := range m.Devices {
		// Bytes that are no UTF-8 read the same, so two names can be equal.
		if !seen[d] {
			seen[d] = true
			e.Emit(s.table.deviceInfo, 1, osd, string(d.Role), d.Name, d.Serial())
		}
	}
}
