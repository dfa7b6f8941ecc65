package upstream

import (
	"bytes"
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// anySlot is the slot of a call without keys.
const anySlot = -1

// A unit is what one node does for one call: a command, or MULTI to EXEC.
type unit struct {
	call  *call.Call
	args  [][]byte // of a single command
	queue [][][]byte
	slot  int
	write bool

	limit  *decision        // it is a call of a function of ours
	limits []queuedDecision // of a transaction
	part   part             // of a call with several units

	route   route
	tries   tries
	refused bool // in the last round, and is sent again
	held    bool // it was not sent in the last round, since an earlier one of its key was

	node  *node // where it was sent last
	items []*item
	first [1]item
	reply []byte       // not nil: the unit is done
	long  *resp.Blocks // the reply if it is long; reply is then its beginning
	err   error        // it failed without a reply
}

// isTransaction reports whether the unit is MULTI to EXEC.
func (x *unit) isTransaction() bool { return x.queue != nil }

var (
	wordAsking = [][]byte{[]byte("ASKING")}
	wordMulti  = [][]byte{[]byte("MULTI")}
	wordExec   = [][]byte{[]byte("EXEC")}
	wordSelect = []byte("SELECT")
)

// compose sets what is sent.
func (x *unit) compose() {
	if x.isTransaction() {
		x.items = x.items[:0:0]
		x.items = append(x.items, &item{args: wordMulti})
		for _, q := range x.limits {
			if q.decision != nil {
				x.queue[q.at] = q.decision.args(x.node)
			}
		}
		for _, args := range x.queue {
			if x.route.asking {
				x.items = append(x.items, &item{args: wordAsking})
			}
			x.items = append(x.items, &item{args: args})
		}
		x.items = append(x.items, &item{args: wordExec, reading: x.forwarded()})
		return
	}
	if x.limit != nil {
		x.args = x.limit.args(x.node)
	}
	x.first[0] = item{args: x.args, reading: x.forwarded()}
	if x.route.asking {
		x.items = []*item{{args: wordAsking}, &x.first[0]}
		return
	}
	if x.limit != nil {
		x.first[0].decision = x.limit.call
	}
	if len(x.items) == 1 && x.items[0] == &x.first[0] {
		return
	}
	x.items = []*item{&x.first[0]}
}

// selects reports whether a transaction selects a database.
func (x *unit) selects() bool {
	return x.isTransaction() && slices.ContainsFunc(x.queue, func(args [][]byte) bool {
		return commands.EqualFold(args[0], "select")
	})
}

// unwrap returns the error of the command that has ended a script, instead of that of the script, which
// engines before 7.0 answer with its place.
func unwrap(reply []byte) []byte {
	if !bytes.HasPrefix(reply, []byte("-ERR Error running script")) {
		return reply
	}
	at := bytes.LastIndex(reply, []byte(": -READONLY "))
	if at < 0 {
		return reply
	}
	return reply[at+len(": "):]
}

// forwarded returns a reading for the reply to a command of the caller; those of our functions are short.
func (x *unit) forwarded() reading {
	if x.limit != nil {
		return reading{}
	}
	return reading{bound: x.call.Bound, blocks: true}
}

// answered makes the reply of the last item the unit's.
func (x *unit) answered() { x.reply, x.long = x.last().reply, x.last().reading.long }

// last returns the item whose reply is the unit's.
func (x *unit) last() *item { return x.items[len(x.items)-1] }

// bytes returns the size of what is sent.
func (x *unit) bytes() int {
	n := 0
	for _, it := range x.items {
		for _, a := range it.args {
			n += len(a) + argOverhead
		}
	}
	return n
}

// argOverhead is what an argument takes beside its bytes.
const argOverhead = 16

// failure returns the error of the first item that failed.
func (x *unit) failure() error {
	for _, it := range x.items {
		if it.err != nil {
			return it.err
		}
	}
	return nil
}

// verdict returns the reply that says what becomes of the unit: its own, or of a transaction that has
// changed nothing the one that says why.
func (x *unit) verdict() []byte {
	last := x.last().reply
	switch {
	case x.limit != nil:
		return unwrap(last)
	case !x.isTransaction():
	case code(last) == "EXECABORT":
		for _, it := range x.items {
			if redirects[code(it.reply)] != 0 || isFunction(it.args) && refusesFunctions(it.reply) {
				return it.reply
			}
		}
	default:
		if refusal := x.refusedInside(); refusal != nil {
			return refusal
		}
	}
	return last
}

// refusedInside returns why the decisions of a transaction have not run, if EXEC's reply says that nothing
// has changed: its node is a replica, where nothing does, or has no functions, and there are only decisions.
func (x *unit) refusedInside() []byte {
	if len(x.limits) == 0 {
		return nil
	}
	elems := elements(x.last().flatten())
	if len(elems) != len(x.queue) {
		return nil
	}
	var missing []byte
	unknown := 0
	for _, q := range x.limits {
		switch elem := unwrap(elems[q.at]); {
		case q.decision == nil:
			unknown++
		case redirects[code(elem)] == demote:
			return elem
		case ratelimit.NeedsLoad(elem):
			unknown++
			missing = elem
		}
	}
	if unknown < len(x.queue) {
		return nil
	}
	return missing
}

// answer returns the unit's reply. If EXEC was aborted because of a reply that nobody has seen, it says so.
func (x *unit) answer() []byte {
	last, verdict := x.last().reply, x.verdict()
	if code(last) != "EXECABORT" || code(verdict) == "EXECABORT" {
		return last
	}
	return errorReply("EXECABORT Transaction discarded because of: " + errorText(verdict))
}

// slotOf returns the slot of a call's keys. ok is false if they have several.
func slotOf(keys [][]byte) (slot int, ok bool) {
	slot = anySlot
	for _, key := range keys {
		s := commands.KeySlot(key)
		if slot != anySlot && s != slot {
			return s, false
		}
		slot = s
	}
	return slot, true
}
