// Package disk has the few file operations that persistence needs, as an interface.
// Tests can cut the power at any of them (package crashdisk), and no other package of
// persist uses the operating system.
//
// A power cut preserves only what was synced: a file's bytes by Sync, and a name
// (created, renamed, removed) by SyncDir of its directory. A file that was synced but
// whose name was not may be lost.
//
// This package is internal to zlimit: it may change in any release.
package disk

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Errors that callers distinguish. Those for missing or existing files are io/fs's.
var (
	// ErrLocked is returned by Lock while another process has the directory locked.
	ErrLocked = errors.New("another server uses this directory: stop that one, or give this one a " +
		"directory of its own (dir)")
	// ErrOutside is returned for a name that would leave the directory.
	ErrOutside = errors.New("the name leaves the directory")
)

// FS is a directory tree. Names are relative to it, with slashes and without ".."; "."
// is the directory itself. All methods may be called concurrently.
type FS interface {
	// Create creates or empties a file for writing.
	Create(name string) (File, error)
	// OpenAppend opens or creates a file. All writes go to its end.
	OpenAppend(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Rewrite writes a file's bytes from an offset to its end again, unchanged. After a
	// failed Sync, even one of an earlier process, reads may show bytes that are not on
	// disk and that no Sync would write. Rewrite makes the next Sync write them.
	Rewrite(name string, from int64) error
	// Rename renames a file in one step, replacing any file at the new name.
	Rename(from, to string) error
	Remove(name string) error
	// CopyOwner gives a file the mode of another one and, as far as the process may do
	// that, its owner and group.
	CopyOwner(from, to string) error
	// ReadDir lists the names in a directory, sorted.
	ReadDir(dir string) ([]string, error)
	MkdirAll(dir string) error
	// SyncDir makes changes to the names in a directory survive a power cut.
	SyncDir(dir string) error
	// Lock locks the directory against other processes until release is called or the
	// process ends in any way. It returns ErrLocked if another process has the lock.
	Lock() (release func() error, err error)
	// Path returns an operator's name of the file, for messages.
	Path(name string) string
}

// File is an open file. Sync makes its bytes and size survive a power cut. After a
// failed Sync, nothing written since the last successful one may be relied upon,
// whatever a later Sync returns: the system reports a failed write once and then treats
// its pages as clean.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer // at the current end
	io.Closer
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}

// local returns the cleaned name, or ErrOutside.
func local(op, name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsRune(name, 0) {
		return "", &fs.PathError{Op: op, Path: name, Err: ErrOutside}
	}
	return clean, nil
}

// WriteFile replaces a file's content atomically, even across a power cut. It writes
// the new content to a temporary name through a buffer, syncs, renames, and syncs the
// directory.
func WriteFile(on FS, name, temp string, write func(io.Writer) error) error {
	return replace(on, name, temp, func(f File) io.Writer { return f }, write)
}

// WriteFileInPieces is WriteFile for a large file: the system begins to write it to disk as it grows.
func WriteFileInPieces(on FS, name, temp string, write func(io.Writer) error) error {
	return replace(on, name, temp, func(f File) io.Writer { return &syncing{f: f} }, write)
}

func replace(on FS, name, temp string, to func(File) io.Writer, write func(io.Writer) error) error {
	if err := writeTemp(on, temp, to, write); err != nil {
		_ = on.Remove(temp) // the first error is the one to report
		return err
	}
	if err := on.Rename(temp, name); err != nil {
		_ = on.Remove(temp)
		return err
	}
	return on.SyncDir(path.Dir(name))
}

// ReplaceFile is WriteFile for a file that keeps its mode and owner. There need not be one.
func ReplaceFile(on FS, name, temp string, write func(io.Writer) error) error {
	return WriteFile(on, name, temp, func(w io.Writer) error {
		// Before anything is written: the content may be secret.
		if err := on.CopyOwner(name, temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return write(w)
	})
}

func writeTemp(on FS, temp string, to func(File) io.Writer, write func(io.Writer) error) error {
	f, err := on.Create(temp)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to(f), bufferSize)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

const (
	bufferSize = 64 << 10
	syncBytes  = 4 << 20
)

// syncing starts writing a large file to disk piece by piece. Left to the sync at the end, it would delay the
// syncs of other files. To sync each piece would take as long, but wait: the thread that waits may be the
// only one that runs goroutines.
type syncing struct {
	f         File
	written   int64
	requested int64 // up to here the system was asked to write to disk
}

// startsSync is a File that can be asked to write a part of it to disk, without waiting and without a
// promise.
type startsSync interface {
	startSync(from, to int64) error
}

func (s *syncing) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	s.written += int64(n)
	if err != nil || s.written-s.requested < syncBytes {
		return n, err
	}
	from := s.requested
	s.requested = s.written
	if f, ok := s.f.(startsSync); ok {
		return n, f.startSync(from, s.written)
	}
	return n, s.f.Sync()
}

// Exists reports whether a file or directory exists.
func Exists(on FS, name string) (bool, error) {
	f, err := on.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}
