package enclosure

import (
	"errors"
	"fmt"
)

// SenseError is a SCSI command that ended in CHECK CONDITION.
type SenseError struct {
	Key, ASC, ASCQ byte
}

// Sense keys.
const (
	senseNotReady       = 0x02
	senseIllegalRequest = 0x05
	senseUnitAttention  = 0x06
)

// Error names what a SES process says of itself; anything else stays a number.
func (e *SenseError) Error() string {
	code := fmt.Sprintf("sense key %#x, code %02xh/%02xh", e.Key, e.ASC, e.ASCQ)
	if e.ASC != 0x35 {
		return code
	}
	texts := [...]string{
		"enclosure services failure", "enclosure services function unsupported", "enclosure services unavailable",
		"enclosure services transfer failure", "enclosure services transfer refused", "enclosure services checksum error",
	}
	if int(e.ASCQ) < len(texts) {
		return texts[e.ASCQ] + " (" + code + ")"
	}
	return code
}

// Is makes a refused page ErrUnsupported.
func (e *SenseError) Is(target error) bool {
	return target == ErrUnsupported && e.Key == senseIllegalRequest
}

// retryable says whether the same command may do better a moment later.
func retryable(err error) bool {
	if errors.Is(err, ErrBusy) {
		return true
	}
	var sense *SenseError
	return errors.As(err, &sense) && (sense.Key == senseUnitAttention || sense.Key == senseNotReady)
}

// parseSense reads fixed or descriptor format sense data.
func parseSense(b []byte) *SenseError {
	if len(b) < 8 {
		return &SenseError{}
	}
	switch b[0] & 0x7f {
	case 0x72, 0x73:
		return &SenseError{Key: b[1] & 0xf, ASC: b[2], ASCQ: b[3]}
	case 0x70, 0x71:
		e := &SenseError{Key: b[2] & 0xf}
		if len(b) >= 14 {
			e.ASC, e.ASCQ = b[12], b[13]
		}
		return e
	}
	return &SenseError{}
}
