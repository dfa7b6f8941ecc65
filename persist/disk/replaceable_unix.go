//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func access(path string, mode uint32) error { return syscall.Access(path, mode) }

// renamable returns why another file cannot be renamed to this one, although the directory can be written to.
func renamable(path string, info fs.FileInfo) error {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if dir.Mode()&fs.ModeSticky != 0 && os.Geteuid() != 0 && !owns(dir) && !owns(info) {
		return syscall.EPERM
	}
	if isMountPoint(path) {
		return syscall.EBUSY
	}
	return nil
}

// owns reports whether the process has the owner's rights to a file.
func owns(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(of.Uid) == os.Geteuid()
}
