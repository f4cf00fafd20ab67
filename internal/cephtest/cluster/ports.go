package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// A cluster has a block of ports of its own: 3300-and-6789-like ones for the
// mon, then the gateways', then a range from which mgr and OSDs take what is
// free (an OSD listens on eight).
const (
	portBlock     = 128
	firstBlock    = 20000
	lastBlock     = 32000 // below Linux's range for outgoing connections
	rgwPortOffset = 2
	bindOffset    = 8
)

// reservePorts picks a block of which no port is in use and holds a lock
// file on it below runDir, which frees the block with the last process that
// has the returned file open.
func reservePorts(ctx context.Context, runDir string) (int, *os.File, error) {
	blocks := (lastBlock - firstBlock) / portBlock
	start := rand.IntN(blocks)
	for i := range blocks {
		base := firstBlock + (start+i)%blocks*portBlock
		dir := filepath.Join(runDir, "ports", strconv.Itoa(base))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, nil, fmt.Errorf("reserve ports: %w", err)
		}
		lock := tryLockDir(dir)
		if lock == nil {
			continue
		}
		if portsFree(ctx, base) {
			return base, lock, nil
		}
		os.Remove(dir)
		lock.Close()
	}
	return 0, nil, fmt.Errorf("reserve ports: no free block of %d from %d to %d", portBlock, firstBlock, lastBlock)
}

func portsFree(ctx context.Context, base int) bool {
	var lc net.ListenConfig
	for port := base; port < base+portBlock; port++ {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
