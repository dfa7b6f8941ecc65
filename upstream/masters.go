package upstream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// runAlone runs a call on one node, or on all masters.
func (u *Upstream) runAlone(c *call.Call) {
	due := time.Now().Add(u.options.Timeout)
	t := u.current(due)
	if run := alone[c.Cmd.FullName()]; run != nil {
		run(u, c, t, due)
		return
	}
	if c.Cmd.OnAllMasters() {
		u.onAll(c, t, due)
	} else {
		u.onOne(c, nil, due)
	}
}

// alone are the commands whose replies are not merged as their rows say.
var alone map[string]func(u *Upstream, c *call.Call, t *topology, due time.Time)

func init() {
	alone = map[string]func(u *Upstream, c *call.Call, t *topology, due time.Time){
		"cluster|countkeysinslot": (*Upstream).inSlot,
		"cluster|getkeysinslot":   (*Upstream).inSlot,
		"function|stats":          onAny,
		"keys":                    (*Upstream).keys,
		"randomkey":               (*Upstream).randomKey,
		"scan":                    (*Upstream).scan,
		"script|exists":           (*Upstream).scriptExists,
		"swapdb":                  onAny,
	}
}

// onAny runs a call on whichever node there is.
func onAny(u *Upstream, c *call.Call, _ *topology, due time.Time) { u.onOne(c, nil, due) }

// onOne runs a call on a node, or on any if that is nil.
func (u *Upstream) onOne(c *call.Call, n *node, due time.Time) {
	x := unitFor(c, n)
	u.run([]*unit{x}, due)
	u.finish(x)
}

// unitFor returns a unit of a call for a node, or for any if that is nil.
func unitFor(c *call.Call, n *node) *unit {
	return &unit{
		call: c, args: c.Args, slot: anySlot, write: writes(c.Cmd, c.Args),
		route: route{to: n, only: n != nil},
	}
}

// gather runs a command on every master. If one fails, the call has its error as the reply and
// gather returns nil.
func (u *Upstream) gather(c *call.Call, t *topology, due time.Time) []*unit {
	done := make(map[*node]*unit)
	for {
		masters := t.masters
		if len(masters) == 0 {
			masters = []*node{nil} // to get the error
		}
		units := make([]*unit, len(masters))
		var pending []*unit
		for i, n := range masters {
			if units[i] = done[n]; units[i] == nil {
				units[i] = unitFor(c, n)
				pending = append(pending, units[i])
			}
		}
		u.run(pending, due)
		var failed *unit
		for _, x := range pending {
			if x.err != nil || redirects[code(x.reply)] == demote {
				failed = x
				continue
			}
			done[x.node] = x
		}
		if failed == nil {
			return units
		}
		if next := u.successors(t, failed, due); next != nil {
			t = next
			continue
		}
		if failed.err == nil {
			return units
		}
		u.counts.errors.Add(1)
		c.Reply = errorReply("UPSTREAM " + failed.err.Error())
		return nil
	}
}

// successors returns the topology to go on with after a unit has failed on one of its masters, or nil if
// that is still one. A master that knows that it is none has a successor, which is waited for.
func (u *Upstream) successors(t *topology, failed *unit, due time.Time) *topology {
	for time.Now().Before(due) && u.ending.Err() == nil {
		<-u.refresh.ask()
		if next := u.topology.Load(); !slices.Equal(next.masters, t.masters) {
			return next
		}
		if failed.err != nil {
			break
		}
	}
	return nil
}

// onAll runs a call on every master and merges the replies as the row says.
func (u *Upstream) onAll(c *call.Call, t *topology, due time.Time) {
	if c.Cmd.FullName() == "script|flush" {
		u.scripts.forget()
	}
	units := u.gather(c, t, due)
	if unloads[c.Cmd.FullName()] {
		u.limits.unload()
	}
	if units == nil {
		return
	}
	ok := slices.IndexFunc(units, func(x *unit) bool { return !isError(x.reply) })
	failed := slices.IndexFunc(units, func(x *unit) bool { return isError(x.reply) })
	switch merge := mergeOf(c.Cmd); {
	case merge == "response_policy:one_succeeded" && ok >= 0:
		c.Reply, c.Long = units[ok].reply, units[ok].long
	case failed >= 0:
		c.Reply = units[failed].reply
	case merge == aggSum:
		sum := int64(0)
		for _, x := range units {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(x.reply[1:])), 10, 64)
			sum += n
		}
		c.Reply = encode(resp.Int(sum), c.Proto)
	default:
		c.Reply, c.Long = units[0].reply, units[0].long
		if c.Cmd.FullName() == "script|load" {
			u.scripts.add(c.Args[2])
		}
	}
}

// keys is KEYS: the arrays of all masters, one after the other.
func (u *Upstream) keys(c *call.Call, t *topology, due time.Time) {
	units := u.gather(c, t, due)
	if units == nil {
		return
	}
	n := 0
	for _, x := range units {
		if isError(x.reply) {
			c.Reply = x.reply
			return
		}
		x.part.keys = max(x.part.read(x.reader()), 0)
		n += x.part.keys
	}
	out := &resp.Blocks{}
	for _, x := range units {
		for range x.part.keys {
			if !x.part.values.next(out) {
				c.Reply = x.unexpected()
				return
			}
		}
	}
	setElements(c, n, out)
}

// randomKey is RANDOMKEY: of a random master that has a key.
func (u *Upstream) randomKey(c *call.Call, t *topology, due time.Time) {
	units := u.gather(c, t, due)
	if units == nil {
		return
	}
	rand.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	c.Reply = units[0].reply
	for _, x := range units {
		if x.long != nil || text(x.reply) != nil {
			c.Reply, c.Long = x.reply, x.long
			return
		}
	}
}

// scriptExists is SCRIPT EXISTS: a script exists if the gateway can send its source, or if every
// master has it.
func (u *Upstream) scriptExists(c *call.Call, t *topology, due time.Time) {
	units := u.gather(c, t, due)
	if units == nil {
		return
	}
	out := make([]resp.Value, len(c.Args)-2)
	for i, sha := range c.Args[2:] {
		exists := u.scripts.source(sha) != ""
		if !exists {
			exists = !slices.ContainsFunc(units, func(x *unit) bool {
				e := elements(x.whole())
				return i >= len(e) || string(bytes.TrimSpace(e[i])) != ":1"
			})
		}
		if exists {
			out[i] = resp.Int(1)
		} else {
			out[i] = resp.Int(0)
		}
	}
	c.Reply = encode(resp.Array(out...), c.Proto)
}

// inSlot is CLUSTER COUNTKEYSINSLOT and CLUSTER GETKEYSINSLOT, on the slot's master.
func (u *Upstream) inSlot(c *call.Call, t *topology, due time.Time) {
	slot, err := strconv.Atoi(string(c.Args[2]))
	if err != nil || slot < 0 || slot >= commands.Slots {
		c.Reply = errorReply("ERR Invalid or out of range slot")
		return
	}
	u.onOne(c, t.master(slot), due)
}

// scan is SCAN. The cursor says the master by the remainder of its division by how many there may
// be: a number beyond what the masters' own cursors take.
func (u *Upstream) scan(c *call.Call, t *topology, due time.Time) {
	if len(t.masters) <= 1 {
		u.onOne(c, nil, due)
		return
	}
	cursor, err := strconv.ParseUint(string(c.Args[1]), 10, 64)
	if err != nil {
		c.Reply = errorReply("ERR invalid cursor")
		return
	}
	at := int(cursor % maxMasters)
	if at >= len(t.masters) { // there are fewer masters than when the scan began
		c.Reply = encode(resp.Array(resp.Bulk("0"), resp.Empty), c.Proto)
		return
	}
	args := slices.Clone(c.Args)
	args[1] = strconv.AppendUint(nil, cursor/maxMasters, 10)
	part := *c
	part.Args = args
	u.onOne(&part, t.masters[at], due)
	if isError(part.Reply) {
		c.Reply = part.Reply
		return
	}
	x := unit{call: c, node: t.masters[at], reply: part.Reply, long: part.Long}
	page := x.reader()
	var raw bytes.Buffer
	if page.array() != 2 || !page.next(&raw) {
		c.Reply = x.unexpected()
		return
	}
	next, err := strconv.ParseUint(string(text(raw.Bytes())), 10, 64)
	switch {
	case err != nil || next > maxCursor:
		c.Reply = errorReply(fmt.Sprintf("UPSTREAM %s: unexpected cursor %q", t.masters[at].addr,
			text(raw.Bytes())))
		return
	case next != 0:
		next = next*maxMasters + uint64(at)
	case at+1 < len(t.masters):
		next = uint64(at + 1) // which begins there
	}
	out := &resp.Blocks{}
	cursorReply := resp.Bulk(strconv.FormatUint(next, 10))
	out.Append(&cursorReply, c.Proto)
	if !page.next(out) {
		c.Reply = x.unexpected()
		return
	}
	setElements(c, 2, out)
}

// maxMasters is how many masters a cursor of SCAN can say. A Redis' cursor has as many bits as its
// table of keys, so there is room for 2^54 keys on each.
const (
	maxMasters = 1 << 10
	maxCursor  = (1<<64 - 1) / maxMasters
)
