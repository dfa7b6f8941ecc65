package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// options reads the options behind a command's fixed arguments. It never reads past
// the end and never guesses: a caller asks for a word, and then for the values that
// the word takes.
type options struct {
	rest [][]byte
}

// word reports whether the next argument is the given lower-case word, and if so
// consumes it.
func (o *options) word(lower string) bool {
	if len(o.rest) == 0 || !EqualFold(o.rest[0], lower) {
		return false
	}
	o.rest = o.rest[1:]
	return true
}

// wordWith is word for an option that takes n values, which must be present.
func (o *options) wordWith(lower string, n int) bool {
	return len(o.rest) > n && o.word(lower)
}

// value consumes one argument, which must be present.
func (o *options) value() []byte {
	v := o.rest[0]
	o.rest = o.rest[1:]
	return v
}

func (o *options) more() bool { return len(o.rest) > 0 }

// parseInt reads an integer as Redis' string2ll does.
func parseInt(arg []byte) (int64, bool) { return store.ParseInt(arg) }

// toInt reads an integer argument or returns the error reply.
func toInt(arg []byte) (int64, resp.Value) {
	n, ok := parseInt(arg)
	if !ok {
		return 0, ErrNotInteger
	}
	return n, resp.None
}
