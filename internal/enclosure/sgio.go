package enclosure

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sgIOHdr is struct sg_io_hdr of <scsi/sg.h>: 88 bytes on 64-bit machines.
type sgIOHdr struct {
	interfaceID    int32
	dxferDirection int32
	cmdLen         uint8
	mxSbLen        uint8
	iovecCount     uint16
	dxferLen       uint32
	dxferp         unsafe.Pointer
	cmdp           unsafe.Pointer
	sbp            unsafe.Pointer
	timeout        uint32 // ms
	flags          uint32
	packID         int32
	usrPtr         unsafe.Pointer
	status         uint8
	maskedStatus   uint8
	msgStatus      uint8
	sbLenWr        uint8
	hostStatus     uint16
	driverStatus   uint16
	resid          int32
	duration       uint32
	info           uint32
}

const (
	sgIO             = 0x2285
	sgInterfaceID    = 'S'
	sgDxferFromDev   = -3
	receiveDiagCode  = 0x1c
	maxPage          = 0xfffc // largest reply that is asked for
	checkCondition   = 0x02
	driverSense      = 0x08
	driverStatusMask = 0x0f
)

// SG asks a SES process through its SCSI generic device. The handle is opened
// read-only for each command: RECEIVE DIAGNOSTIC RESULTS is among the commands
// that the kernel passes on such a handle without further privilege.
type SG struct {
	Path    string        // of the device node
	Timeout time.Duration // of one command, kept by the kernel
}

// ReceiveDiagnostic sends one command and waits for the kernel to end it, which
// may take longer than Timeout while the kernel tries to revive the device.
func (s *SG) ReceiveDiagnostic(_ context.Context, page byte) ([]byte, error) {
	fd, err := unix.Open(s.Path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Path, err)
	}
	defer unix.Close(fd)
	data := make([]byte, maxPage)
	n, err := sgReceive(fd, receiveDiagnosticCDB(page), data, s.Timeout)
	if err != nil {
		return nil, fmt.Errorf("receive %s page from %s: %w", PageName(page), s.Path, err)
	}
	// Most pages are short and are kept for an hour.
	return append([]byte(nil), data[:n]...), nil
}

// receiveDiagnosticCDB asks for a page by its code (PCV = 1).
func receiveDiagnosticCDB(page byte) []byte {
	return []byte{receiveDiagCode, 0x01, page, byte(maxPage >> 8), byte(maxPage & 0xff), 0}
}

// sgReceive runs a command that reads, and returns how many bytes came.
func sgReceive(fd int, cdb, data []byte, timeout time.Duration) (int, error) {
	sense := make([]byte, 64)
	hdr := &sgIOHdr{
		interfaceID:    sgInterfaceID,
		dxferDirection: sgDxferFromDev,
		cmdLen:         uint8(len(cdb)),
		mxSbLen:        uint8(len(sense)),
		dxferLen:       uint32(len(data)),
		dxferp:         unsafe.Pointer(&data[0]),
		cmdp:           unsafe.Pointer(&cdb[0]),
		sbp:            unsafe.Pointer(&sense[0]),
		timeout:        uint32(timeout.Milliseconds()),
	}
	// The kernel follows the pointers inside hdr, which the compiler does not
	// know.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(hdr)
	pin.Pin(&data[0])
	pin.Pin(&cdb[0])
	pin.Pin(&sense[0])
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), sgIO, uintptr(unsafe.Pointer(hdr))); errno != 0 {
		return 0, fmt.Errorf("SG_IO: %w", errno)
	}
	return sgResult(hdr, sense, len(data))
}

// sgResult reads what the kernel left in the header.
func sgResult(hdr *sgIOHdr, sense []byte, asked int) (int, error) {
	driver := hdr.driverStatus & driverStatusMask
	if hdr.status == checkCondition || driver == driverSense {
		return 0, parseSense(sense[:min(int(hdr.sbLenWr), len(sense))])
	}
	if hdr.status != 0 || hdr.hostStatus != 0 || driver != 0 {
		return 0, fmt.Errorf("SCSI status %#x, host %s, driver %#x", hdr.status, hostStatus(hdr.hostStatus), driver)
	}
	return min(max(asked-int(hdr.resid), 0), asked), nil
}

// hostStatus names the kernel's own verdict on a command.
func hostStatus(code uint16) string {
	names := map[uint16]string{
		0: "ok", 1: "no connection", 2: "bus busy", 3: "timeout", 4: "bad target", 5: "aborted", 7: "error", 8: "reset",
		0x0e: "transport disrupted", 0x0f: "transport failed fast",
	}
	if n, ok := names[code]; ok {
		return n
	}
	return fmt.Sprintf("%#x", code)
}
