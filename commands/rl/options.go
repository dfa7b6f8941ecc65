package rl

import (
	"math/bits"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

type optionSet uint32

const (
	optCost optionSet = 1 << iota
	optAtMost
	optPeek
	optAlgo
	optFull
	optHold
	optLease
	optID
	optMatch
	optWithin
	optTerm
	optSlots
	optWait
	optShadow
	optPolicy
	optCharge
	optExplain
)

// The options of each command, in any order.
const (
	allowOptions   = optCost | optAtMost | optPeek | optAlgo | optFull | optShadow | optWait
	mallowOptions  = optCost | optPeek | optShadow
	explainOptions = optCost | optAlgo
	jointOptions   = optPeek | optFull | optID | optShadow | optWait
	checkOptions   = optPeek | optFull | optID | optShadow | optCharge | optExplain
	reserveOptions = optHold | optID | optAlgo | optShadow // which is refused
	holdOptions    = optHold | optID | optFull | optShadow // as well
	acquireOptions = optLease | optID | optWait
	renewOptions   = optLease
	simOptions     = optAlgo
	topOptions     = optMatch | optWithin
)

// optionNames has the names of the options, in lower case and in the order of their bits.
var optionNames = [...]string{
	"cost", "atmost", "peek", "algo", "full", "hold", "lease", "id", "match", "within", "term", "slots",
	"wait", "shadow", "policy", "charge", "explain",
}

// parseOption returns the option called word, or 0 if it is not an allowed one.
func parseOption(word []byte, allowed optionSet) optionSet {
	if len(word) == 0 || word[0] < 'A' {
		return 0 // as most words, which are numbers
	}
	for rest := allowed; rest != 0; rest &= rest - 1 {
		if name := optionNames[bits.TrailingZeros32(uint32(rest))]; commands.EqualFold(word, name) {
			return rest & -rest
		}
	}
	return 0
}

// options are arguments to be read one by one.
type options struct{ rest [][]byte }

func (o *options) more() bool { return len(o.rest) > 0 }

// value consumes one argument, which must be present.
func (o *options) value() []byte {
	v := o.rest[0]
	o.rest = o.rest[1:]
	return v
}

// An optionReader parses the options of an RL command, each of which may be given
// once, in any order.
type optionReader struct {
	options
	allowed, seen optionSet
}

// next consumes the name of the next option, which must exist, but not its values.
func (r *optionReader) next() (optionSet, resp.Value) {
	word := r.value()
	option := parseOption(word, r.allowed)
	switch {
	case option == 0:
		return 0, commands.SyntaxError(commands.Quote(word) + " is not an option here")
	case r.seen&option != 0:
		return 0, commands.SyntaxError(commands.Quote(word) + " is given twice")
	}
	r.seen |= option
	return option, resp.None
}

// number consumes an integer. It fails with missing if there is no argument, with
// wrong if it is not an integer.
func (o *options) number(missing, wrong resp.Value) (n int64, refusal resp.Value) {
	if !o.more() {
		return 0, missing
	}
	n, ok := store.ParseInt(o.value())
	if !ok {
		return 0, wrong
	}
	return n, resp.None
}

// duration consumes a duration, in the syntax of windows, of the option with this name.
func (o *options) duration(name string) (ms int64, refusal resp.Value) {
	if !o.more() {
		return 0, commands.SyntaxError(name + " needs a duration")
	}
	return parseDuration(name, o.value())
}

// name consumes a name.
func (o *options) name() (name []byte, refusal resp.Value) {
	if !o.more() {
		return nil, commands.SyntaxError("POLICY needs a name")
	}
	return o.value(), resp.None
}

// id consumes an id.
func (o *options) id() (id []byte, refusal resp.Value) {
	if !o.more() {
		return nil, commands.SyntaxError("ID needs a value")
	}
	id = o.value()
	return id, checkID(id)
}

// notNegative parses an integer from 0 on. It fails with wrong if it is none, with below if it is negative.
func notNegative(arg []byte, wrong, below resp.Value) (n int64, refusal resp.Value) {
	n, ok := store.ParseInt(arg)
	switch {
	case !ok:
		return 0, wrong
	case n < 0:
		return 0, below
	}
	return n, resp.None
}
