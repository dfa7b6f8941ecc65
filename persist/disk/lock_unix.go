//go:build unix && !solaris && !aix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// lock locks the directory itself, so that no file stays behind and read-only
// directories can be locked, too.
func lock(dir *os.File) error {
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}

// unlock unlocks the directory at once. Closing it alone would leave it locked while a
// child process that is being started has a copy of the descriptor.
func unlock(dir *os.File) error { return syscall.Flock(int(dir.Fd()), syscall.LOCK_UN) }

// syncDir ignores file systems that cannot sync directories.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
