package rdb

import (
	"encoding/binary"
	"io"
	"strconv"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store"
)

// Limits holds the directives that decide the encoding of a value being read:
// hash-max-listpack-entries and similar.
type Limits struct {
	HashEntries, HashValue int64
	SetInts                int64
	ZSetEntries, ZSetValue int64
}

// ReadOptions configures Read.
type ReadOptions struct {
	Limits Limits
	// Skip skips and counts unsupported values (streams, values of modules, databases
	// that do not exist) instead of refusing the file.
	Skip bool
	// NoChecksum ignores the checksum.
	NoChecksum bool
}

// A Handler receives the content of a file, in its order. Nil functions are not called.
// An error from one ends the reading and is returned by Read.
type Handler struct {
	// Key receives a key and its value. key is valid until Key returns, and value may
	// be kept. expireAtMs is 0 without a deadline, and may be long past.
	Key      func(db int, key []byte, expireAtMs int64, value store.Value) error
	Function func(code string) error
	Aux      func(name, value string) error
	// Sizes receives the number of keys of a database, and of those with a deadline. It
	// is a hint that may be wrong.
	Sizes func(db int, keys, expiring uint64)
	// Skipped is called for each skipped key with a description of its value.
	Skipped func(db int, key []byte, what string)
	// Progress is called now and then with the bytes read and the total.
	Progress func(done, total int64)
}

// A Summary describes the content of a file.
type Summary struct {
	Version  int   // of the format
	End      int64 // the offset after the checksum, where an append-only log may continue
	Keys     int   // including skipped ones
	Expiring int   // keys with a deadline
	Skipped  int   // unsupported keys
	Checksum bool  // the file has a checksum
}

// Read reads a snapshot from the first size bytes of f. It may end before (see
// Summary.End). Read makes two passes: nothing goes to the handler before the whole
// file is validated, except that duplicate elements of a value are found in the second.
//
// Errors wrap ErrCorrupt, ErrUnsupported or ErrVersion in an Error with the place, or
// are f's or the Handler's own.
func Read(f io.ReaderAt, size int64, o ReadOptions, h Handler) (Summary, error) {
	tell := h.Progress
	half := func(from int64) func(done, total int64) {
		if tell == nil {
			return nil
		}
		return func(done, _ int64) { tell((from+done)/2, size) }
	}
	sum, err := newFile(f, size, o, Handler{Progress: half(0)}).read()
	if err != nil {
		return sum, err
	}
	h.Progress = half(size)
	return newDecodingFile(f, size, o, h).read()
}

// Damaged reports whether the checksum at the end of a file that has one is wrong. Whatever else Read says
// of the file is then no fault of its writer.
func Damaged(f io.ReaderAt, size int64) bool {
	header := make([]byte, headerSize)
	if n, _ := f.ReadAt(header, 0); n < headerSize || size < int64(headerSize)+checksumSize {
		return true
	}
	version, err := strconv.Atoi(string(header[len(magic):]))
	if err == nil && version > 0 && version < oldestWithChecksum {
		return false
	}
	var crc uint64
	b := make([]byte, 64<<10)
	for at, left := int64(0), size-checksumSize; left > 0; {
		n, err := f.ReadAt(b[:min(int64(len(b)), left)], at)
		crc = dump.Checksum(crc, b[:n])
		at, left = at+int64(n), left-int64(n)
		if err != nil && left > 0 {
			return true
		}
	}
	footer := make([]byte, checksumSize)
	if n, _ := f.ReadAt(footer, size-checksumSize); n < len(footer) {
		return true
	}
	got := binary.LittleEndian.Uint64(footer)
	return got != 0 && got != crc
}
