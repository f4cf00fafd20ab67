package enclosure

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What a shelf may send in place of the page it was asked for.
var (
	// ErrBusy: the SES process asks to be tried again.
	ErrBusy = errors.New("enclosure busy")
	// ErrShortStatus: it knows no page but the short status page.
	ErrShortStatus = errors.New("only the short enclosure status page is supported")
	// ErrUnsupported: it does not have this page.
	ErrUnsupported = errors.New("page not supported")
)

// headerLen is the length of page code, length and generation code.
const headerLen = 8

// page is a checked reply: what its header says, and the bytes that are there.
type page struct {
	byte1      byte
	generation uint32
	body       []byte // after the header
	short      bool   // fewer bytes came than the header announces
}

// openPage checks that reply is the page asked for. Bytes beyond the announced
// length are dropped; missing ones are noted.
func openPage(code byte, reply []byte) (page, error) {
	if len(reply) < 4 {
		return page{}, fmt.Errorf("decode %s page: %d bytes, want at least 4", PageName(code), len(reply))
	}
	if err := checkCode(code, reply); err != nil {
		return page{}, fmt.Errorf("decode %s page: %w", PageName(code), err)
	}
	n := int(binary.BigEndian.Uint16(reply[2:])) + 4
	if n < headerLen || len(reply) < headerLen {
		return page{}, fmt.Errorf("decode %s page: no generation code in %d of %d bytes", PageName(code), len(reply), n)
	}
	p := page{byte1: reply[1], generation: binary.BigEndian.Uint32(reply[4:]), short: len(reply) < n}
	p.body = reply[headerLen:min(n, len(reply))]
	return p, nil
}

// checkCode tells a busy or short-status reply from the wrong page.
func checkCode(code byte, reply []byte) error {
	switch got := reply[0]; {
	case got == code:
		return nil
	case got == PageBusy:
		return ErrBusy
	case got == PageShortStatus:
		return ErrShortStatus
	default:
		return fmt.Errorf("got page %#02x", got)
	}
}
