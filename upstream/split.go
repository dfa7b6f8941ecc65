package upstream

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// A split is a call whose keys are in several slots. Its parts are no transaction: others may see
// some done and some not, and one may fail alone.
type split struct {
	call   *call.Call
	left   int     // parts that are not done
	merge  string  // the row's response_policy
	parts  []*unit // by key
	sum    int64
	failed []byte // the error reply of the first part that failed
}

// A part is what one unit contributes to the reply to a call of several: its elements, which belong to keys.
type part struct {
	split  *split // nil: the call is not split
	keys   int    // of the call, or of the reply to KEYS
	values rawReader
}

// read begins to read the elements of a reply, and returns their number.
func (p *part) read(reply rawReader) int {
	p.values = reply
	return p.values.array()
}

// Tips of rows that say how calls are split and replies are merged.
const (
	multiShard   = "request_policy:multi_shard"
	aggSum       = "response_policy:agg_sum"
	allSucceeded = "response_policy:all_succeeded"
)

// splits reports whether calls of a command can be split. MSETNX cannot: it sets all or nothing.
func splits(cmd *commands.Command) bool {
	return slices.Contains(cmd.Tips, multiShard) && (mergeOf(cmd) == aggSum || mergeOf(cmd) == allSucceeded ||
		cmd.Is(commands.ReadOnly))
}

// mergeOf returns the row's response_policy, or "".
func mergeOf(cmd *commands.Command) string {
	for _, tip := range cmd.Tips {
		if len(tip) > 15 && tip[:15] == "response_policy" {
			return tip
		}
	}
	return ""
}

// split appends a unit for each slot of a call's keys.
func (u *Upstream) split(units []*unit, c *call.Call) []*unit {
	step := c.Cmd.Keys[0].Step
	if (len(c.Args)-1)%step != 0 {
		c.Reply = encode(commands.WrongArity(c.Cmd), c.Proto)
		return units
	}
	s := &split{call: c, merge: mergeOf(c.Cmd), parts: make([]*unit, (len(c.Args)-1)/step)}
	bySlot := make(map[int]*unit)
	for i := range s.parts {
		args := c.Args[1+i*step : 1+(i+1)*step]
		slot := commands.KeySlot(args[0])
		x := bySlot[slot]
		if x == nil {
			x = &unit{
				call: c, part: part{split: s}, slot: slot, write: writes(c.Cmd, c.Args),
				args: [][]byte{c.Args[0]},
			}
			bySlot[slot] = x
			units = append(units, x)
			s.left++
		}
		x.args = append(x.args, args...)
		x.part.keys++
		s.parts[i] = x
	}
	return units
}

// add adds the reply of a part, and with the last one sets the call's reply.
func (s *split) add(x *unit) {
	switch {
	case isError(x.reply):
		if s.failed == nil {
			s.failed = x.reply
		}
	case s.merge == aggSum:
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(x.reply[1:])), 10, 64)
		s.sum += n
	case s.merge == "":
		if x.part.read(x.reader()) != x.part.keys {
			s.failed = x.unexpected()
		}
	}
	if s.left--; s.left > 0 {
		return
	}
	switch {
	case s.failed != nil:
		s.call.Reply = s.failed
	case s.merge == aggSum:
		s.call.Reply = encode(resp.Int(s.sum), s.call.Proto)
	case s.merge == allSucceeded:
		s.call.Reply = encode(resp.OK, s.call.Proto)
	default:
		s.mergeValues()
	}
}

// mergeValues sets the reply to the values of all parts, in the order of the keys.
func (s *split) mergeValues() {
	out := &resp.Blocks{}
	for _, x := range s.parts {
		if !x.part.values.next(out) {
			s.call.Reply = x.unexpected()
			return
		}
	}
	setElements(s.call, len(s.parts), out)
}

// unexpected returns the error reply for a unit whose reply has not the form that its command's has.
func (x *unit) unexpected() []byte {
	return errorReply("UPSTREAM " + x.node.addr + ": unexpected reply to " + x.call.Cmd.Name)
}
