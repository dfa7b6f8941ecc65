package rdb

import (
	"errors"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/persist/dump"
)

// Errors of what is read. Those that Read returns say where: see Error.
var (
	ErrCorrupt     = errors.New("corrupt")
	ErrUnsupported = errors.New("not supported")
	ErrVersion     = errors.New("not a version that can be read")

	errEmpty = errors.New("a collection without elements") // Redis leaves such keys out
)

// What can be wrong with what is read.
const (
	badPack      = "a packed value's header does not fit it"
	badElement   = "an element of a packed value is malformed"
	badPairs     = "an element lacks its partner"
	badCount     = "a packed value has not as many elements as it says"
	badOrder     = "an intset is not in order"
	badDuplicate = "an element stands twice"
	badScore     = "a score is not a number"
	badNode      = "a list has a node of an unknown kind"
	badString    = "a string is malformed"
	badEnd       = "data ends early"
	badChecksum  = "the checksum is wrong"
	badMagic     = "it does not begin as an RDB file does"
	badTrailing  = "data goes on behind the value"
	badModule    = "a module's data is malformed"
	badDecoder   = "a value cannot be decoded"

	notHeld      = "%s, which is not held here"
	notADatabase = "database %d, of 16 that there are"
)

func unsupported(typ byte) error {
	return fmt.Errorf("%w: "+notHeld, ErrUnsupported, "a "+kind(typ))
}

func corrupt(what string) error { return fmt.Errorf("%w: %s", ErrCorrupt, what) }

// An Error is what is wrong with a file, and where. It unwraps to ErrCorrupt,
// ErrUnsupported, ErrVersion or an error of the file.
type Error struct {
	Offset int64  // how far it was read
	DB     uint64 // of the key whose value was read, where HasKey
	Key    string
	HasKey bool
	Doing  string // in redis-check-rdb's words
	Type   byte   // of the value, where a key or its value was read
	Err    error
}

func (e *Error) Error() string {
	if e.HasKey {
		return fmt.Sprintf("offset %d, key %s of database %d (%s): %v", e.Offset, quoted(e.Key), e.DB, kind(e.Type), e.Err)
	}
	return fmt.Sprintf("offset %d: %v", e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// quoted spells a key for people; of a long one the beginning.
func quoted(key string) string {
	const most = 100
	if len(key) > most {
		return fmt.Sprintf("%q...", key[:most])
	}
	return fmt.Sprintf("%q", key)
}

// own makes errors of the pieces ours.
func own(err error) error {
	switch {
	case errors.Is(err, dump.ErrShort), errors.Is(err, io.ErrUnexpectedEOF):
		return corrupt(badEnd)
	case errors.Is(err, dump.ErrFormat):
		return corrupt(badString)
	}
	return err
}
