package enclosure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

func TestTheSGHeaderIsTheKernels(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return // the kernel's header has other sizes there
	}
	var h sgIOHdr
	got := []uintptr{
		unsafe.Sizeof(h), unsafe.Offsetof(h.dxferDirection), unsafe.Offsetof(h.cmdLen), unsafe.Offsetof(h.mxSbLen),
		unsafe.Offsetof(h.iovecCount), unsafe.Offsetof(h.dxferLen), unsafe.Offsetof(h.dxferp), unsafe.Offsetof(h.cmdp),
		unsafe.Offsetof(h.sbp), unsafe.Offsetof(h.timeout), unsafe.Offsetof(h.flags), unsafe.Offsetof(h.packID),
		unsafe.Offsetof(h.usrPtr), unsafe.Offsetof(h.status), unsafe.Offsetof(h.maskedStatus), unsafe.Offsetof(h.msgStatus),
		unsafe.Offsetof(h.sbLenWr), unsafe.Offsetof(h.hostStatus), unsafe.Offsetof(h.driverStatus), unsafe.Offsetof(h.resid),
		unsafe.Offsetof(h.duration), unsafe.Offsetof(h.info),
	}
	want := []uintptr{88, 4, 8, 9, 10, 12, 16, 24, 32, 40, 44, 48, 56, 64, 65, 66, 67, 68, 70, 72, 76, 80}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("size and offsets %v, want %v", got, want)
	}
}

func TestTheCommandAsksForAPageByItsCode(t *testing.T) {
	if got, want := receiveDiagnosticCDB(PageAdditional), []byte{0x1c, 0x01, 0x0a, 0xff, 0xfc, 0x00}; !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestWhatTheKernelLeavesInTheHeader(t *testing.T) {
	fixed := make([]byte, 18)
	fixed[0], fixed[2], fixed[12], fixed[13] = 0x70, 0x06, 0x29, 0x01
	descriptor := []byte{0x72, 0x02, 0x35, 0x02, 0, 0, 0, 0}
	for name, c := range map[string]struct {
		hdr   sgIOHdr
		sense []byte
		n     int
		err   string
	}{
		"whole page":       {hdr: sgIOHdr{resid: 60000}, n: 5532},
		"no residue":       {n: 65532},
		"odd residue":      {hdr: sgIOHdr{resid: -5}, n: 65532},
		"reset":            {hdr: sgIOHdr{status: 2, sbLenWr: 18}, sense: fixed, err: "sense key 0x6, code 29h/01h"},
		"descriptor sense": {hdr: sgIOHdr{driverStatus: 8, sbLenWr: 8}, sense: descriptor, err: "enclosure services unavailable (sense key 0x2, code 35h/02h)"},
		"no sense":         {hdr: sgIOHdr{status: 2}, err: "sense key 0x0, code 00h/00h"},
		"gone":             {hdr: sgIOHdr{hostStatus: 1}, err: "SCSI status 0x0, host no connection, driver 0x0"},
		"timeout":          {hdr: sgIOHdr{hostStatus: 3, driverStatus: 6}, err: "SCSI status 0x0, host timeout, driver 0x6"},
		"task set full":    {hdr: sgIOHdr{status: 0x28}, err: "SCSI status 0x28, host ok, driver 0x0"},
		"unnamed host":     {hdr: sgIOHdr{hostStatus: 0x14}, err: "SCSI status 0x0, host 0x14, driver 0x0"},
	} {
		n, err := sgResult(&c.hdr, c.sense, 65532)
		if n != c.n || (err != nil || c.err != "") && fmt.Sprint(err) != c.err {
			t.Errorf("%s: %d, %v, want %d, %s", name, n, err, c.n, c.err)
		}
	}
}

func TestEveryEnclosureSenseCodeHasAName(t *testing.T) {
	for code, want := range []string{
		"enclosure services failure", "enclosure services function unsupported", "enclosure services unavailable",
		"enclosure services transfer failure", "enclosure services transfer refused", "enclosure services checksum error",
	} {
		e := &SenseError{Key: 4, ASC: 0x35, ASCQ: byte(code)}
		if got := e.Error(); got != fmt.Sprintf("%s (sense key 0x4, code 35h/%02xh)", want, code) {
			t.Error(got)
		}
	}
	if got := (&SenseError{Key: 4, ASC: 0x35, ASCQ: 9}).Error(); got != "sense key 0x4, code 35h/09h" {
		t.Error(got)
	}
	if !errors.Is(fmt.Errorf("x: %w", &SenseError{Key: 5, ASC: 0x24}), ErrUnsupported) || errors.Is(&SenseError{Key: 2}, ErrUnsupported) {
		t.Error("an illegal request, and only that, is an unsupported page")
	}
}

func TestADeviceThatIsNotThere(t *testing.T) {
	sg := &SG{Path: t.TempDir() + "/sg0", Timeout: time.Second}
	if _, err := sg.ReceiveDiagnostic(context.Background(), PageStatus); err == nil || !strings.HasSuffix(err.Error(), "no such file or directory") {
		t.Error(err)
	}
}

// A file that is no SCSI device refuses the ioctl; nothing was sent to anyone.
func TestAFileThatIsNoDevice(t *testing.T) {
	sg := &SG{Path: t.TempDir(), Timeout: time.Second}
	if _, err := sg.ReceiveDiagnostic(context.Background(), PageStatus); err == nil || !strings.Contains(err.Error(), "SG_IO: ") {
		t.Error(err)
	}
}

// hanging is a transport that waits to be released.
type hanging struct {
	entered chan struct{}
	release chan struct{}
}

func (h *hanging) ReceiveDiagnostic(context.Context, byte) ([]byte, error) {
	h.entered <- struct{}{}
	<-h.release
	return []byte{2}, nil
}

func TestAHungCommandIsGivenUpAndNoSecondOneSent(t *testing.T) {
	var abandoned atomic.Int64
	h := &hanging{entered: make(chan struct{}, 1), release: make(chan struct{})}
	g := NewGuard(h, &abandoned)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-h.entered
		cancel(errors.New("time is up"))
	}()
	_, err := g.ReceiveDiagnostic(ctx, PageStatus)
	if !errors.Is(err, ErrGivenUp) || err.Error() != "receive status page: given up: time is up" {
		t.Error(err)
	}
	for range 3 {
		if _, err := g.ReceiveDiagnostic(context.Background(), PageStatus); !errors.Is(err, ErrHung) {
			t.Error(err)
		}
	}
	if n := abandoned.Load(); n != 1 {
		t.Errorf("%d commands given up", n)
	}
	close(h.release)
	for {
		b, err := g.ReceiveDiagnostic(context.Background(), PageStatus)
		if err == nil && len(b) == 1 {
			break
		}
		if !errors.Is(err, ErrHung) {
			t.Fatal(err)
		}
	}
	<-h.entered
	for abandoned.Load() != 0 {
		runtime.Gosched()
	}
	if _, err := g.ReceiveDiagnostic(ctx, PageStatus); err == nil || err.Error() != "receive status page: context canceled" {
		t.Error(err)
	}
}

// Devices that come and go while their commands hang cannot pile up goroutines
// without end.
func TestGivenUpCommandsAreBoundedOverAllDevices(t *testing.T) {
	var abandoned atomic.Int64
	release := make(chan struct{})
	defer close(release)
	for i := range maxAbandoned + 10 {
		h := &hanging{entered: make(chan struct{}, 1), release: release}
		ctx, cancel := context.WithCancel(context.Background())
		if i < maxAbandoned {
			go func() { <-h.entered; cancel() }()
		}
		_, err := NewGuard(h, &abandoned).ReceiveDiagnostic(ctx, PageStatus)
		cancel()
		if want := map[bool]error{true: ErrGivenUp, false: ErrHung}[i < maxAbandoned]; !errors.Is(err, want) {
			t.Fatalf("device %d: %v", i, err)
		}
	}
}

type panicking struct{}

func (panicking) ReceiveDiagnostic(context.Context, byte) ([]byte, error) { panic("oops") }

func TestAPanicOfATransportIsAnError(t *testing.T) {
	var abandoned atomic.Int64
	g := NewGuard(panicking{}, &abandoned)
	for range 2 {
		if _, err := g.ReceiveDiagnostic(context.Background(), PageStatus); err == nil || !strings.HasPrefix(err.Error(), "receive status page: panic: oops\n") {
			t.Error(err)
		}
	}
}
