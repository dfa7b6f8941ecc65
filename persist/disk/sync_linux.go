package disk

import (
	"errors"
	"os"
	"syscall"
)

// syncData does not sync a file's times, which nothing reads. For a log that is
// overwritten in place or grows within its last block that halves the work.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			failed = syscall.Fdatasync(int(fd))
			if !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}
