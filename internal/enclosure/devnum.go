package enclosure

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// deviceByNumber returns the kernel's name of the block device that a device
// node stands for: nodes need not be called as the kernel calls the device.
func (t Tree) deviceByNumber(host string) string {
	var st unix.Stat_t
	if err := unix.Stat(t.real(host), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	number := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	dir, err := t.resolve(path.Join("/sys/dev/block", number))
	if err != nil {
		return ""
	}
	return path.Base(dir)
}
