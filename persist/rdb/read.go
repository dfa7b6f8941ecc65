package rdb

import (
	"errors"
	"io"
)

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
	// Progress is called now and then with how many bytes of how many are done.
	Progress func(done, total int64)
}

// A Summary is what a file was found to hold.
type Summary struct {
	Version  int   // of the format
	End      int64 // the offset behind the checksum: an append-only log may go on there
	Keys     int
	Expiring int // keys with a deadline
	Skipped  int // keys that were left out
	Checksum bool
}

// Read reads a snapshot from the first size bytes of f. The file is walked
// through twice: nothing is handed on before all of it was found sound, but
// for duplicates within one value.
//
// Errors wrap ErrCorrupt, ErrUnsupported or ErrVersion, or are f's or the
// Handler's own.
func Read(f io.ReaderAt, size int64, o ReadOptions, h Handler) (Summary, error) {
	return Summary{}, errors.New("rdb: not yet")
}

// Restore reads what DUMP wrote. It checks all of it. Errors wrap
// dump.ErrFooter, for a payload that is not one or of a newer version,
// ErrCorrupt or ErrUnsupported.
func Restore(payload []byte, l Limits) (value any, err error) {
	return nil, errors.New("rdb: not yet")
}

// Check walks through a file, decodes all of it, and writes what it finds to w
// as redis-check-rdb does. It returns nil where the file is sound.
func Check(w io.Writer, name string, f io.ReaderAt, size int64) error {
	return errors.New("rdb: not yet")
}
