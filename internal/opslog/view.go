package opslog

import "time"

// View says whether the logs read are those of every gateway that clients reach.
type View int

// The views. With AutoView the books decide from what they saw.
const (
	AutoView View = iota
	CompleteView
	PartialView
)

// An upload that is in progress when the first log begins shows no initiation.
// So in the first hour that proves nothing; later it proves that the initiation
// went to a gateway that is not in view, or that records were lost.
const (
	viewWarmup = time.Hour
	viewMemory = 24 * time.Hour
)

// viewEvidence is what tells a complete view from a partial one.
type viewEvidence struct {
	Begin   int64 `json:"begin"`   // start of the earliest request seen, Unix ns; 0: none
	Latest  int64 `json:"latest"`  // start of the latest one
	Foreign int64 `json:"foreign"` // start of the latest request of an upload without initiation, after the warm-up
}

func (v *viewEvidence) saw(start int64) {
	if start == 0 {
		return
	}
	if v.Begin == 0 || start < v.Begin {
		v.Begin = start
	}
	v.Latest = max(v.Latest, start)
}

func (v *viewEvidence) foreign(start int64) {
	if v.Begin != 0 && start-v.Begin > int64(viewWarmup) {
		v.Foreign = max(v.Foreign, start)
	}
}

// complete decides for AutoView: at least an hour of logs, and no sign of
// another gateway in the last day of them.
func (v *viewEvidence) complete(mode View) bool {
	switch mode {
	case CompleteView:
		return true
	case PartialView:
		return false
	}
	return v.Begin != 0 && v.Latest-v.Begin > int64(viewWarmup) &&
		(v.Foreign == 0 || v.Latest-v.Foreign > int64(viewMemory))
}
