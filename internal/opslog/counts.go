package opslog

import "github.com/ceph-risk/ceph_risk_exporter/internal/label"

// Kind is a way in which an object comes to be.
type Kind int

// The kinds of uploads.
const (
	Put       Kind = iota // a plain PUT of an object, S3 or Swift
	Multipart             // a completed multipart upload
	Copy                  // a server-side copy
	Post                  // a browser's POST form
	NumKinds
)

// String is the value of the label kind.
func (k Kind) String() string { return [...]string{"put", "multipart", "copy", "post"}[k] }

// HasBytes tells whether the log knows how many bytes such an upload brought.
// It has none for copies.
func (k Kind) HasBytes() bool { return k != Copy }

// Class is a class of HTTP status that is no success.
type Class int

// The classes. A redirect or a failed precondition on a PUT is Other.
const (
	ClientError Class = iota // 4xx
	ServerError              // 5xx
	Other                    // anything else
	NumClasses
)

// String is the value of the label status_class.
func (c Class) String() string { return [...]string{"4xx", "5xx", "other"}[c] }

func classOf(status int) Class {
	switch status / 100 {
	case 4:
		return ClientError
	case 5:
		return ServerError
	}
	return Other
}

// Gateway holds the counts of one gateway. All only ever grow.
type Gateway struct {
	Completed    [NumKinds]uint64             `json:"completed"`
	Failed       [NumKinds][NumClasses]uint64 `json:"failed"`
	Bytes        [NumKinds]uint64             `json:"bytes"`   // of completed uploads
	Unsized      uint64                       `json:"unsized"` // completed multiparts of unknown size
	Repeated     uint64                       `json:"repeated"`
	Aborted      uint64                       `json:"aborted"`
	Initiated    uint64                       `json:"initiated"`
	Parts        uint64                       `json:"parts"`
	PartBytes    uint64                       `json:"part_bytes"`
	PartsFailed  [NumClasses]uint64           `json:"parts_failed"`
	PutsReaching uint64                       `json:"puts"` // see PutRequests in docs: put_obj past authorisation
	Records      uint64                       `json:"records"`
	Foreign      uint64                       `json:"foreign"` // JSON objects that are no records
	// LastRecord is the end of the latest request, in Unix nanoseconds.
	LastRecord int64 `json:"last_record"`
}

// Tally holds the counts of one bucket or user.
type Tally struct {
	Completed [NumKinds]uint64 `json:"completed"`
	Bytes     uint64           `json:"bytes"`
}

// tallies counts by bucket or user. Beyond the limit everything goes to one
// tally, so that sums stay right.
type tallies struct {
	limit  int // 0: off
	byName map[string]*Tally
	other  *Tally
}

func (t *tallies) of(name []byte) *Tally {
	if t.limit == 0 {
		return nil
	}
	if found := t.byName[string(name)]; found != nil {
		return found
	}
	if len(t.byName) >= t.limit || len(name) == 0 {
		return t.other
	}
	clean := label.Clean(string(name)) // of any length and bytes, and kept in the checkpoint
	created := t.byName[clean]
	if created == nil {
		created = &Tally{}
		t.byName[clean] = created
	}
	return created
}
