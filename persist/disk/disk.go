// Package disk is the few file operations that keeping data takes, as an
// interface: what is written to it can be cut off at any of them in a test
// (package crashdisk), and no other room of persist touches the operating
// system.
//
// What a power cut leaves is only what was synced: a file's bytes by Sync, a
// name (created, renamed, removed) by SyncDir of the directory that it is in. A
// file that was synced and whose name was not may be gone.
package disk

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Errors that callers tell apart; those of a missing or an existing file are
// io/fs's.
var (
	// ErrLocked is answered by Lock while another process holds the directory.
	ErrLocked = errors.New("another server uses this directory: stop that one, or give this one a directory of its own (dir)")
	// ErrOutside is answered to a name that would leave the directory.
	ErrOutside = errors.New("the name leaves the directory")
)

// FS is one directory and what is below it. Names are relative to it, with
// slashes, without "..": "." is the directory itself. All methods may be called
// concurrently.
type FS interface {
	// Create makes an empty file, or empties the one there is, for writing.
	Create(name string) (File, error)
	// OpenAppend opens a file, or makes it, whose writes all go to its end.
	OpenAppend(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Rewrite writes a file's bytes from an offset to its end once more, as they
	// are. Where a Sync has failed, in a process before this one perhaps, reading
	// shows bytes that are not on disk and that no Sync writes: after this one does.
	Rewrite(name string, from int64) error
	// Rename gives a file another name, in one step; a file that had it is gone.
	Rename(from, to string) error
	Remove(name string) error
	// ReadDir lists the names in a directory, sorted.
	ReadDir(dir string) ([]string, error)
	MkdirAll(dir string) error
	// SyncDir makes what happened to the names in a directory outlast a power cut.
	SyncDir(dir string) error
	// Lock holds the directory against other processes until release is called
	// or the process is gone, however it goes. ErrLocked: another one has it.
	Lock() (release func() error, err error)
	// Path is what an operator calls the file: for messages.
	Path(name string) string
}

// File is an open file. Sync makes its bytes, and its size, outlast a power
// cut. After a Sync that failed, nothing that was written since the last one
// that did not may be relied upon, whatever a later Sync says: the system tells
// of a write that failed once, and then takes its pages for clean.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer // to the end, wherever that is
	io.Closer
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}

// local is the name cleaned, or ErrOutside.
func local(op, name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(name, 0) {
		return "", &fs.PathError{Op: op, Path: name, Err: ErrOutside}
	}
	return clean, nil
}

// WriteFile replaces a file's content in one step that a power cut does not
// halve: the new content is written under a temporary name, through a buffer,
// synced, renamed, and the directory synced.
func WriteFile(on FS, name, temp string, write func(io.Writer) error) error {
	if err := writeTemp(on, temp, write); err != nil {
		_ = on.Remove(temp) // what failed first is what is told
		return err
	}
	if err := on.Rename(temp, name); err != nil {
		_ = on.Remove(temp)
		return err
	}
	return on.SyncDir(path.Dir(name))
}

func writeTemp(on FS, temp string, write func(io.Writer) error) error {
	f, err := on.Create(temp)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(&syncing{f: f}, bufferSize)
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

// syncing syncs a large file piece by piece: all of it at the end would hold up
// the syncs of other files meanwhile.
type syncing struct {
	f     File
	since int
}

func (s *syncing) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	if s.since += n; err == nil && s.since >= syncBytes {
		s.since = 0
		err = s.f.Sync()
	}
	return n, err
}

// Exists tells whether there is such a file or directory.
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
