//go:build cgo

package rados

// #cgo LDFLAGS: -lrados
// #include <stdlib.h>
// #include <malloc.h>
// #include <rados/librados.h>
//
// // Left to itself, glibc moves its limit between the heap and mmap up to the
// // size of the buffers that it sees freed, and then keeps such buffers for
// // each thread. Calls come from ever other threads, so memory would grow by
// // one answer for each of them. A limit that was set stays where it is.
// static void return_large_buffers(void) {
// #ifdef __GLIBC__
// 	mallopt(M_MMAP_THRESHOLD, 1 << 20);
// #endif
// }
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/ceph/go-ceph/rados"
)

// Available tells whether this binary was built with librados.
const Available = true

// librados is a conn through go-ceph.
type librados struct {
	cfg  Config
	conn *rados.Conn
}

// dial makes a connection.
func dial(cfg Config) (conn, error) {
	l, r, err := open(cfg)
	if err != nil {
		return nil, err
	}
	if err := l.conn.Connect(); err != nil {
		errno := errnoOf(err)
		l.shutdown()
		return nil, diagnoseConnect(cfg, errno, r)
	}
	return l, nil
}

// checkFiles implements Check.
func checkFiles(cfg Config) error {
	l, r, err := open(cfg)
	if err != nil {
		return err
	}
	defer l.shutdown()
	return checkKeyring(cfg, r, 0)
}

// open makes the handle of a connection and configures it, but does not
// connect.
func open(cfg Config) (*librados, resolved, error) {
	if err := checkConf(cfg); err != nil {
		return nil, resolved{}, err
	}
	C.return_large_buffers()
	handle, err := rados.NewConnWithClusterAndUser(cfg.Cluster, cfg.user())
	if err != nil {
		return nil, resolved{}, fmt.Errorf("make a handle for %s: %w", cfg.user(), errnoOf(err))
	}
	l := &librados{cfg: cfg, conn: handle}
	if err := l.configure(); err != nil {
		l.shutdown()
		return nil, resolved{}, err
	}
	return l, resolved{
		keyring: l.option("keyring"),
		monHost: l.option("mon_host"),
		dnsSRV:  l.option("mon_dns_srv_name"),
		auth:    l.option("auth_client_required"),
	}, nil
}

// configure reads ceph.conf and sets what outranks it.
func (l *librados) configure() error {
	if err := l.conn.ReadConfigFile(l.cfg.ConfFile); err != nil {
		cause := fmt.Errorf("%s: librados: %w", l.cfg.ConfFile, errnoOf(err))
		return &Error{Op: opConnect, Kind: ErrConfUnreadable, Cause: cause, Cure: cureConf}
	}
	options := map[string]string{
		// librados' own lines on stderr would stand between the log's.
		"log_to_stderr": "false",
		"err_to_stderr": "false",
	}
	maps.Copy(options, l.cfg.Options)
	options["client_mount_timeout"] = strconv.Itoa(l.cfg.mountTimeout())
	options["rados_mon_op_timeout"] = "0" // see the package's documentation
	if l.cfg.Keyring != "" {
		options["keyring"] = l.cfg.Keyring
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if err := l.conn.SetConfigOption(name, options[name]); err != nil {
			// Not its value, which may be secret.
			return &Error{Op: opConnect, Kind: ErrConfig, Cause: fmt.Errorf("option %s: librados: %w", name, errnoOf(err))}
		}
	}
	return nil
}

// option returns an option as librados sees it, or nothing.
func (l *librados) option(name string) string {
	value, err := l.conn.GetConfigOption(name)
	if err != nil {
		return ""
	}
	return value
}

func (l *librados) mon(command []byte) answer {
	data, text, err := l.conn.MonCommand(command)
	return l.answer(data, text, err)
}

func (l *librados) mgr(command []byte) answer {
	data, text, err := l.conn.MgrCommand([][]byte{command})
	return l.answer(data, text, err)
}

func (l *librados) answer(data []byte, text string, err error) answer {
	if err != nil {
		return answer{err: commandError(l.cfg, errnoOf(err), text)}
	}
	return answer{data: data}
}

// mgrInPlace does what go-ceph's MgrCommand does, without its copy.
func (l *librados) mgrInPlace(command []byte) answer {
	ccommand := C.CString(string(command))
	defer C.free(unsafe.Pointer(ccommand))
	var (
		out, text         *C.char
		outSize, textSize C.size_t
	)
	commands := (**C.char)(C.malloc(C.size_t(unsafe.Sizeof(ccommand))))
	defer C.free(unsafe.Pointer(commands))
	*commands = ccommand

	ret := C.rados_mgr_command(C.rados_t(l.conn.Cluster()), commands, 1, nil, 0, &out, &outSize, &text, &textSize)
	runtime.KeepAlive(l.conn)

	defer C.rados_buffer_free(text)
	if ret != 0 {
		C.rados_buffer_free(out)
		return answer{err: commandError(l.cfg, errno(int(ret)), C.GoStringN(text, C.int(min(textSize, 1<<16))))}
	}
	return answer{
		data: unsafe.Slice((*byte)(unsafe.Pointer(out)), uint64(outSize)),
		free: func() { C.rados_buffer_free(out) },
	}
}

// shutdown releases the connection, connected or not. go-ceph's own Shutdown
// does nothing for a handle that failed to connect, and leaves it to a
// finalizer, where a shutdown that blocks would stop all finalizers of the
// process.
func (l *librados) shutdown() {
	runtime.SetFinalizer(l.conn, nil)
	C.rados_shutdown(C.rados_t(l.conn.Cluster()))
	runtime.KeepAlive(l.conn)
}

// errnoOf returns the error number of a go-ceph error.
func errnoOf(err error) syscall.Errno {
	var numbered interface{ ErrorCode() int }
	if errors.As(err, &numbered) {
		return errno(numbered.ErrorCode())
	}
	return syscall.EIO
}

// errno takes what librados returned, which is negative, except where it is
// not.
func errno(ret int) syscall.Errno {
	if ret < 0 {
		ret = -ret
	}
	return syscall.Errno(ret)
}
