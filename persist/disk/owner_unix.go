//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives a file the owner and group of another one, as far as the process may.
func copyOwner(from fs.FileInfo, to string) {
	if of, ok := from.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(to, -1, int(of.Gid)) // a member of the group may
		_ = os.Chown(to, int(of.Uid), -1) // only root may
	}
}
