package disk

import (
	"errors"
	"os"
	"syscall"
)

// startSync makes the system begin to write a part of the file to disk. Sync reports what fails later.
func (f osFile) startSync(from, to int64) error {
	const write = 2 // SYNC_FILE_RANGE_WRITE
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.SyncFileRange(int(fd), from, to-from, write) })
	switch {
	case err != nil || failed == nil:
	case errors.Is(failed, syscall.ENOSYS), errors.Is(failed, syscall.EINVAL), errors.Is(failed,
		syscall.ESPIPE):
		// It is not available; Sync is.
	default:
		err = &os.PathError{Op: "sync_file_range", Path: f.Name(), Err: failed}
	}
	return err
}

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
