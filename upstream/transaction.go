package upstream

import (
	"github.com/zlimit/zlimit/upstream/call"
)

// transaction returns the unit of a call of EXEC, or an error reply. All keys must be in one slot.
func (u *Upstream) transaction(c *call.Call, clustered bool) (*unit, []byte) {
	x := &unit{call: c, slot: anySlot, write: true, queue: make([][][]byte, 0, len(c.Queue))}
	for i := range c.Queue {
		q := &c.Queue[i]
		args := q.Args
		if u.limits.handles(q.Cmd) {
			d, refusal := u.limits.parse(q.Cmd, args)
			if refusal != nil {
				return nil, execAborted(refusal)
			}
			x.limits = append(x.limits, queuedDecision{at: i, decision: d})
			args = d.args()
		} else {
			u.scripts.learn(q.Cmd, args)
			args = u.scripts.withSource(q.Cmd, args)
		}
		x.queue = append(x.queue, args)
		if !clustered {
			continue
		}
		slot, ok := slotOf(q.Cmd.AppendKeys(nil, q.Args))
		if !ok || slot != anySlot && x.slot != anySlot && slot != x.slot {
			return nil, execAborted(errorReply(crossSlot))
		}
		if slot != anySlot {
			x.slot = slot
		}
	}
	return x, nil
}

// execAborted returns the reply of an EXEC that runs nothing because of an error reply.
func execAborted(refusal []byte) []byte {
	return errorReply("EXECABORT Transaction discarded because of: " + withoutCode(errorText(refusal)))
}

// withoutCode returns an error text without its code word.
func withoutCode(text string) string {
	for i := range text {
		if text[i] == ' ' {
			return text[i+1:]
		}
	}
	return text
}
