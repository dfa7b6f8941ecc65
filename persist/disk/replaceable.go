package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replaceable returns why ReplaceFile or WriteFile would fail for a file of the operating system, or nil if
// permissions and mounts are in the way of neither. It writes nothing. There need not be a file.
func Replaceable(path string) error {
	dir := filepath.Dir(path)
	if err := access(dir, canRead|canWrite|canSearch); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := renamable(path, info); err != nil {
		return &fs.PathError{Op: "replace", Path: path, Err: err}
	}
	return nil
}

// The kinds of access, as access(2) has them.
const (
	canSearch = 1 << iota
	canWrite
	canRead
)
