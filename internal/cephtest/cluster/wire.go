package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// The protocol between a cluster's supervisor and its users: one connection
// per request on the Unix socket in the cluster's folder, JSON values in
// both directions. A lease and a running command end with their connection,
// so whatever kills a user also frees what the user held.

const socketName = "ctl.sock"

// Operations of a request.
const (
	opStatus   = "status"   // answered by one reply with Status
	opLease    = "lease"    // one reply when granted; held until the connection ends
	opExec     = "exec"     // reply with PID, then one with Exited; takes requests with Signal meanwhile
	opStart    = "start"    // start a stopped daemon
	opStop     = "stop"     // SIGTERM and wait
	opSignal   = "signal"   // signal a daemon
	opAddOSD   = "add-osd"  // make and start one more OSD
	opAddRGW   = "add-rgw"  // make and start gateways until there are N
	opShutdown = "shutdown" // end the cluster; the reply comes before the end
)

type request struct {
	Op string `json:"op"`
	// Who asks: a test's name, for messages.
	Who       string   `json:"who,omitempty"`
	Exclusive bool     `json:"exclusive,omitempty"`
	Argv      []string `json:"argv,omitempty"`
	Env       []string `json:"env,omitempty"`
	Dir       string   `json:"dir,omitempty"`
	Daemon    string   `json:"daemon,omitempty"`
	Signal    int      `json:"signal,omitempty"`
	N         int      `json:"n,omitempty"`
}

type reply struct {
	Err    string  `json:"err,omitempty"`
	PID    int     `json:"pid,omitempty"`
	Exited bool    `json:"exited,omitempty"`
	Code   int     `json:"code,omitempty"`
	Signal int     `json:"signal,omitempty"`
	Name   string  `json:"name,omitempty"`
	Status *Status `json:"status,omitempty"`
}

// Status is what a supervisor knows of its cluster.
type Status struct {
	Release Release  `json:"release"`
	FSID    string   `json:"fsid"`
	Dir     string   `json:"dir"`
	Root    string   `json:"root"`
	Binary  string   `json:"binary"` // the cephcluster command that supervises it
	MonPort int      `json:"mon_port"`
	OSDs    int      `json:"osds"`
	RGWs    []int    `json:"rgws"`    // ports
	Running []string `json:"running"` // daemons
	Leases  []string `json:"leases"`  // who holds one
}

// conn is a connection with JSON values in both directions.
type conn struct {
	*net.UnixConn
	enc *json.Encoder
	dec *json.Decoder
}

func newConn(c *net.UnixConn, head io.Reader) *conn {
	return &conn{UnixConn: c, enc: json.NewEncoder(c), dec: json.NewDecoder(io.MultiReader(head, c))}
}

// maxRequest bounds the first message, which must arrive in one piece
// because the descriptors travel with its first byte.
const maxRequest = 256 << 10

// sendFirst sends the connection's first request with open files.
func sendFirst(c *net.UnixConn, req request, files []*os.File) error {
	data, err := json.Marshal(req)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if len(data) > maxRequest {
		return fmt.Errorf("request of %d bytes: more than %d", len(data), maxRequest)
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := c.WriteMsgUnix(data[:1], oob, nil); err != nil {
		return err
	}
	_, err = c.Write(data[1:])
	return err
}

// receiveFirst receives the first byte of a connection with the files that
// travel with it, and returns it for the JSON decoder to begin with.
func receiveFirst(c *net.UnixConn) (head []byte, files []*os.File, err error) {
	head, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(8*4))
	n, oobn, _, _, err := c.ReadMsgUnix(head, oob)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, nil, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return head, files, nil
}

func (r reply) error() error {
	if r.Err == "" {
		return nil
	}
	return errors.New(r.Err)
}
