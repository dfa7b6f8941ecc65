package commands

import "github.com/zlimit/zlimit/resp"

// optionSet is a set of the options of RL commands.
type optionSet uint8

const (
	optCost optionSet = 1 << iota
	optAtMost
	optPeek
	optAlgo
	optFull
	optHold
	optLease
	optID
)

// The options that commands take, in any order.
const (
	allowOptions   = optCost | optAtMost | optPeek | optAlgo | optFull
	mallowOptions  = optCost | optPeek
	reserveOptions = optHold | optID
	acquireOptions = optLease | optID
	renewOptions   = optLease
)

var optionWords = [...]struct {
	option optionSet
	lower  string
}{
	{optCost, "cost"},
	{optAtMost, "atmost"},
	{optPeek, "peek"},
	{optAlgo, "algo"},
	{optFull, "full"},
	{optHold, "hold"},
	{optLease, "lease"},
	{optID, "id"},
}

// optionOf returns the option that a word begins, 0 where it is none of those
// that may be.
func optionOf(word []byte, may optionSet) optionSet {
	for i := range optionWords {
		if o := &optionWords[i]; may&o.option != 0 && EqualFold(word, o.lower) {
			return o.option
		}
	}
	return 0
}

// An optionReader reads the options of an RL command: each may be given once,
// in any order.
type optionReader struct {
	options
	may, seen optionSet
}

// next steps over the word of an option, which must be there, and returns the
// option; its values are the caller's to read. The refusal is of a word that is
// no option, or given twice.
func (r *optionReader) next() (optionSet, resp.Value) {
	word := r.value()
	option := optionOf(word, r.may)
	switch {
	case option == 0:
		return 0, syntaxError(quoted(word) + " is not an option here")
	case r.seen&option != 0:
		return 0, syntaxError(quoted(word) + " is given twice")
	}
	r.seen |= option
	return option, resp.None
}

// number steps over an integer, or gives the refusal where there is none.
func (o *options) number(missing, wrong resp.Value) (n int64, refusal resp.Value) {
	if !o.more() {
		return 0, missing
	}
	n, ok := parseInt(o.value())
	if !ok {
		return 0, wrong
	}
	return n, resp.None
}
