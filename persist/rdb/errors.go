package rdb

import (
	"errors"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/persist/dump"
)

// Errors of malformed or unsupported input. Read wraps them in an Error with the place.
var (
	ErrCorrupt     = errors.New("corrupt")
	ErrUnsupported = errors.New("not supported")
	ErrVersion     = errors.New("not a version that can be read")

	errEmpty = errors.New("a collection without elements") // Redis skips such keys
)

// Texts for faults in the input.
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
	return fmt.Errorf("%w: "+notHeld, ErrUnsupported, "a "+kindOf(typ))
}

func corrupt(what string) error { return fmt.Errorf("%w: %s", ErrCorrupt, what) }

// An Error says what is wrong with a file, and where. It unwraps to ErrCorrupt,
// ErrUnsupported, ErrVersion or an error of the file.
type Error struct {
	Offset int64  // bytes read so far
	DB     uint64 // of the current key, if HasKey
	Key    string
	HasKey bool
	Doing  string // the step, in redis-check-rdb's words
	Type   byte   // of the value, if a key or value was being read
	Err    error
}

func (e *Error) Error() string {
	if e.HasKey {
		return fmt.Sprintf("offset %d, key %s of database %d (%s): %v", e.Offset, quoted(e.Key), e.DB,
			kindOf(e.Type), e.Err)
	}
	return fmt.Sprintf("offset %d: %v", e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// quoted quotes a key for messages and shortens a long one.
func quoted(key string) string {
	const most = 100
	if len(key) > most {
		return fmt.Sprintf("%q...", key[:most])
	}
	return fmt.Sprintf("%q", key)
}

// convert turns errors of package dump into errors of this package.
func convert(err error) error {
	switch {
	case errors.Is(err, dump.ErrShort), errors.Is(err, io.ErrUnexpectedEOF):
		return corrupt(badEnd)
	case errors.Is(err, dump.ErrFormat):
		return corrupt(badString)
	}
	return err
}
