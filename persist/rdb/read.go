package rdb

import "io"

// Limits are the directives that say which encoding a value gets when it is
// read: hash-max-listpack-entries and its kin.
type Limits struct {
	HashEntries, HashValue int64
	SetInts                int64
	ZSetEntries, ZSetValue int64
}

// ReadOptions say how a file is read.
type ReadOptions struct {
	Limits Limits
	// Skip leaves out what is not held here, streams, values of modules and
	// databases that do not exist, and counts it, instead of refusing the file.
	Skip bool
	// NoChecksum leaves the checksum alone.
	NoChecksum bool
}

// A Handler is told what a file holds, in the order of the file. Functions that
// are nil are not called. An error that one returns ends the reading, and is
// what Read returns.
type Handler struct {
	// Key is given a value to keep. The key is good until Key returns;
	// expireAtMs is 0 where there is no deadline, and may be long past.
	Key      func(db int, key []byte, expireAtMs int64, value any) error
	Function func(code string) error
	Aux      func(name, value string) error
	// Sizes says how many keys a database will have, and how many with a
	// deadline. It is a hint, and may be wrong.
	Sizes func(db int, keys, expiring uint64)
	// Skipped is told of keys that were left out, with what they held.
	Skipped func(db int, key []byte, what string)
	// Progress is called now and then with how many bytes of how many are done.
	Progress func(done, total int64)
}

// A Summary is what a file was found to hold.
type Summary struct {
	Version  int   // of the format
	End      int64 // the offset behind the checksum: an append-only log may go on there
	Keys     int   // those left out included
	Expiring int   // keys with a deadline
	Skipped  int   // keys that were left out
	Checksum bool  // it has one
}

// Read reads a snapshot from the start of f, whose first size bytes are looked
// at: it may end before (see Summary.End). The file is walked through twice:
// nothing is handed on before all of it was found sound, but for what stands
// twice in one value.
//
// Errors wrap ErrCorrupt, ErrUnsupported or ErrVersion, in an Error that says
// where, or are f's or the Handler's own.
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

// Looks reports whether data, the beginning of a file, begins as a snapshot
// does.
func Looks(data []byte) bool {
	return len(data) >= len(magic) && string(data[:len(magic)]) == magic
}
