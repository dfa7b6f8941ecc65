package upstream

import (
	"errors"
	"fmt"
)

// A dbKey is a key of a database.
type dbKey struct {
	db  int
	key string
}

// dbKeys returns the keys of a unit.
func (x *unit) dbKeys() (out []dbKey) {
	add := func(keys ...[]byte) {
		for _, key := range keys {
			out = append(out, dbKey{x.call.DB, string(key)})
		}
	}
	switch {
	case x.isTransaction():
		for i := range x.call.Queue {
			add(x.call.Queue[i].Cmd.AppendKeys(nil, x.call.Queue[i].Args)...)
		}
	case x.part.split != nil:
		for i := 1; i < len(x.args); i += x.call.Cmd.Keys[0].Step {
			add(x.args[i])
		}
	default:
		add(x.call.Cmd.AppendKeys(nil, x.call.Args)...)
	}
	return out
}

// hold returns those of the units that are sent in the next round, and holds the others: those behind a
// unit of the same key that was refused in the last round, that is held itself, or that goes to another node.
func (u *Upstream) hold(units []*unit, t *topology) []*unit {
	before := make(map[dbKey]*unit)
	sent := make([]*unit, 0, len(units))
	for _, x := range units {
		keys := x.dbKeys()
		x.held = false
		for _, k := range keys {
			y := before[k]
			x.held = x.held || y != nil && (y.held || y.refused || y.destination(t) != x.destination(t))
		}
		for _, k := range keys {
			before[k] = x
		}
		if !x.held {
			sent = append(sent, x)
		}
	}
	return sent
}

// dropOvertaken fails refused units that a later unit with the same key has overtaken, unless both only
// read. Sending them again would run them out of order.
func dropOvertaken(units []*unit) {
	ran := make(map[dbKey]bool) // whether anything of them has written
	for i := len(units) - 1; i >= 0; i-- {
		x := units[i]
		if x.node == nil { // it was not sent
			continue
		}
		keys := x.dbKeys()
		if !x.refused {
			var notSent *unsent
			if !x.held && !errors.As(x.err, &notSent) {
				for _, k := range keys {
					ran[k] = ran[k] || x.write
				}
			}
			continue
		}
		for _, k := range keys {
			wrote, ok := ran[k]
			if !ok || !wrote && !x.write {
				continue
			}
			x.refused = false
			if reply := x.last().reply; code(reply) == "NOSCRIPT" { // as a server answers it
				x.reply = reply
			} else {
				x.err = fmt.Errorf("%s: not sent again, a later call of its key has run: %s", x.node.addr,
					x.refusal())
			}
			break
		}
	}
}

// refusal returns why a unit was refused.
func (x *unit) refusal() string {
	if err := x.failure(); err != nil {
		return err.Error()
	}
	return errorText(x.verdict())
}
