package upstream

import (
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// placeholder is sent for a call that is answered before it is sent, so that EXEC's replies have
// their places.
var placeholder = [][]byte{[]byte("PING")}

// transaction returns the unit of a call of EXEC, or an error reply. All keys must be in one slot.
func (u *Upstream) transaction(c *call.Call, clustered bool) (*unit, []byte) {
	x := &unit{call: c, slot: anySlot, write: true, queue: make([][][]byte, 0, len(c.Queue))}
	for i := range c.Queue {
		q := &c.Queue[i]
		args := q.Args
		if ratelimit.Handles(q.Cmd) {
			d, refusal := u.limits.parse(c, q.Cmd, args)
			if refusal != nil { // as EXEC of an engine would answer it: the others run
				x.limits = append(x.limits, queuedDecision{at: i, refusal: refusal})
				x.queue = append(x.queue, placeholder)
				continue
			}
			x.limits = append(x.limits, queuedDecision{at: i, decision: d})
			args = nil // see compose
			if clustered {
				slot, refusal := d.slot()
				if refusal != nil {
					return nil, refusal
				}
				if refusal = x.join(slot); refusal != nil {
					return nil, refusal
				}
			}
		} else {
			args = u.scripts.withSource(q.Cmd, args)
		}
		x.queue = append(x.queue, args)
		if !clustered || args == nil {
			continue
		}
		slot, ok := slotOf(q.Cmd.AppendKeys(nil, q.Args))
		if !ok {
			return nil, errorReply(crossSlot)
		}
		if refusal := x.join(slot); refusal != nil {
			return nil, refusal
		}
	}
	return x, nil
}

// join makes a slot the transaction's. It returns an error reply if that has another one.
func (x *unit) join(slot int) []byte {
	switch {
	case slot == anySlot:
	case x.slot == anySlot:
		x.slot = slot
	case x.slot != slot:
		return errorReply(crossSlot)
	}
	return nil
}
