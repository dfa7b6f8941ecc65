package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// Pauses before something is tried again that a node refuses for now.
const minPause, maxPause = 5 * time.Millisecond, 100 * time.Millisecond

// A remedy is what follows from an error reply.
type remedy uint8

const (
	moved  remedy = iota + 1 // the slot has another node
	asked                    // the key may have another node
	wait                     // the node will do it later
	demote                   // the node is no master any more
)

// redirects are the error codes that callers do not see, unless nothing helps.
var redirects = map[string]remedy{
	"MOVED": moved, "ASK": asked, "TRYAGAIN": wait, "CLUSTERDOWN": wait, "LOADING": wait,
	"MASTERDOWN": demote, "READONLY": demote,
}

// Run runs calls and sets their replies. Calls of one key run in their order, except for those that only
// read; those for different nodes run at the same time. A call whose place is neither PlaceSlot nor
// PlaceTransaction, or that Check or Watch is set of, is the only one.
func (u *Upstream) Run(calls []*call.Call) {
	c := calls[0]
	switch place := c.Cmd.Place; {
	case c.Check:
		u.check(c)
	case c.Watch != nil && c.Queue == nil:
		u.watch(c)
	case c.Watch != nil:
		c.Watch.Conn.(*watch).run(c)
		c.Watch.Conn = nil
	case place == commands.PlaceAlone:
		u.runAlone(c)
	case place == commands.PlaceSubscribes:
		u.settle()
	case place == commands.PlaceEither:
		u.answer(c)
	default:
		u.runTogether(calls)
	}
}

// check sets the reply of a command that EXEC could not run.
func (u *Upstream) check(c *call.Call) {
	if _, ok := slotOf(c.Cmd.AppendKeys(nil, c.Args)); !ok && u.isCluster() {
		c.Reply = errorReply(crossSlot)
	}
}

// isCluster reports whether the upstream is a cluster, as far as that is known.
func (u *Upstream) isCluster() bool { return u.topology.Load().kind == Cluster }

func (u *Upstream) runTogether(calls []*call.Call) {
	due := time.Now().Add(u.options.Timeout)
	clustered := u.current(due).kind == Cluster
	units := make([]*unit, 0, len(calls))
	for _, c := range calls {
		units = u.divide(units, c, clustered)
	}
	u.run(units, due)
	for _, x := range units {
		u.finish(x)
	}
}

// divide appends the units of a call. A call that cannot run gets its reply instead.
func (u *Upstream) divide(units []*unit, c *call.Call, clustered bool) []*unit {
	if c.Queue != nil {
		x, refusal := u.transaction(c, clustered)
		if refusal != nil {
			c.Reply = refusal
			return units
		}
		return append(units, x)
	}
	if ratelimit.Handles(c.Cmd) {
		x, refusal := u.limits.unit(c, clustered)
		if refusal != nil {
			c.Reply = refusal
			return units
		}
		return append(units, x)
	}
	x := &unit{call: c, args: c.Args, write: writes(c.Cmd, c.Args), slot: anySlot}
	if !clustered {
		return append(units, x)
	}
	var room [8][]byte
	keys := c.Cmd.AppendKeys(room[:0], c.Args)
	slot, ok := slotOf(keys)
	if !ok {
		if u.options.Split && splits(c.Cmd) {
			return u.split(units, c)
		}
		c.Reply = errorReply(crossSlot)
		return units
	}
	x.slot = slot
	return append(units, x)
}

var crossSlot = commands.ErrCrossSlot.Str()

// writes reports whether a call may change anything, so that it must not be sent twice.
func writes(cmd *commands.Command, args [][]byte) bool {
	return !cmd.Is(commands.ReadOnly) && (cmd.Flags&commands.Write == 0 || cmd.Writes(args))
}

// run sends units until each has a reply or an error.
func (u *Upstream) run(units []*unit, due time.Time) {
	pause := time.Duration(0)
	for round := 0; len(units) > 0; round++ {
		if round > 0 && pause > 0 {
			u.rest(pause, due)
		}
		sent := units
		if round > 0 {
			sent = u.hold(units, u.current(due))
		}
		u.send(sent, due)
		refused := 0
		again := time.Duration(0)
		for _, x := range sent {
			x.refused = false
			if x.reply != nil || x.err != nil {
				continue
			}
			retry, later := u.judge(x, due)
			if retry {
				refused++
				x.refused = true
			}
			if later {
				again = min(max(2*pause, minPause), maxPause)
			}
		}
		if refused > 0 && refused < len(sent) {
			dropOvertaken(units)
		}
		pending := units[:0:0]
		for _, x := range units {
			if x.refused {
				u.counts.retries.Add(1)
			}
			if x.refused || x.held {
				pending = append(pending, x)
			}
		}
		units, pause = pending, again
	}
}

// rest waits, but not beyond due.
func (u *Upstream) rest(pause time.Duration, due time.Time) {
	select {
	case <-time.After(min(pause, time.Until(due))):
	case <-u.ending.Done():
	}
}

// A group is the units of one round for one lane.
type group struct {
	lane  *lane
	units []*unit
	job   job
}

// send sends units to their nodes and waits for what they answer.
func (u *Upstream) send(units []*unit, due time.Time) {
	t := u.current(due)
	groups := make([]group, 0, 4)
	for _, x := range units {
		if x.node = x.destination(t); x.node == nil {
			continue
		}
		if !u.limits.prepare(x) {
			continue
		}
		x.compose()
		groups = u.assign(groups, x)
	}
	var done sync.WaitGroup
	done.Add(len(groups))
	for i := range groups {
		g := &groups[i]
		g.job.due, g.job.done = due.Add(u.answering()), &done
		if u.options.WaitReplicas > 0 {
			u.addWait(g)
		}
		g.lane.submit(&g.job, i == len(groups)-1)
	}
	done.Wait()
	if u.options.WaitReplicas > 0 {
		for i := range groups {
			u.checkWait(&groups[i])
		}
	}
}

// assign adds a unit to the group of its lane.
func (u *Upstream) assign(groups []group, x *unit) []group {
	at := -1
	for i := range groups {
		if g := &groups[i]; g.lane.node == x.node && g.units[0].lane() == x.lane() {
			at = i
			break
		}
	}
	if at < 0 {
		k := x.lane()
		at = len(groups)
		groups = append(groups, group{lane: x.node.lane(k.db, k.proto)})
	}
	g := &groups[at]
	g.units = append(g.units, x)
	g.job.items = append(g.job.items, x.items...)
	if x.selects() { // the connection is everybody's
		g.job.items = append(g.job.items, &item{args: [][]byte{
			wordSelect, strconv.AppendInt(nil, int64(x.call.DB), 10),
		}})
	}
	if x.first[0].decision != nil {
		g.job.decisions++
	}
	g.job.bytes += x.bytes()
	return groups
}

// lane returns which of a node's lanes the unit takes.
func (x *unit) lane() laneKey { return laneKey{x.call.DB, x.call.Proto} }

// judge decides what becomes of a unit that was sent: it is done, or it is sent again, possibly
// after a pause.
func (u *Upstream) judge(x *unit, due time.Time) (again, later bool) {
	late := !time.Now().Before(due) || u.ending.Err() != nil
	if x.node == nil {
		return u.judgeUnrouted(x, late)
	}
	if err := x.failure(); err != nil {
		return u.judgeFailure(x, err, late)
	}
	verdict := x.verdict()
	if !isError(verdict) {
		x.node.down.serves(x)
		if !late && x.moves(verdict) {
			return true, false
		}
		x.answered()
		return false, false
	}
	switch redirects[code(verdict)] {
	case moved:
		return u.follow(x, verdict, false), false
	case asked:
		return u.follow(x, verdict, true), false
	case wait, demote:
		if !late && x.another(verdict) {
			u.refresh.ask()
			return true, true
		}
	default:
		x.node.down.serves(x)
		if u.recover(x, verdict) {
			return true, false
		}
	}
	if x.err == nil {
		x.reply = x.answer()
	}
	return false, false
}

// another prepares the unit to be sent again after a node has refused it for now. It reports false if that
// is no use.
func (x *unit) another(verdict []byte) bool {
	if code(verdict) == "CLUSTERDOWN" && x.node.down.refuses(x.node.upstream.options.Timeout) {
		return false
	}
	if x.route.only {
		return redirects[code(verdict)] != demote
	}
	x.route.reset()
	return true
}

// judgeUnrouted is judge for a unit for which there is no node.
func (u *Upstream) judgeUnrouted(x *unit, late bool) (again, later bool) {
	t := u.topology.Load()
	if !late && x.tries.refresh() {
		<-u.refresh.ask()
		return true, false
	}
	if t.loaded && t.err == nil {
		x.reply = errorReply("CLUSTERDOWN Hash slot not served")
		return false, false
	}
	x.err = errors.New("no node can be reached")
	if t.err != nil {
		x.err = fmt.Errorf("no node can be reached: %w", t.err)
	}
	return false, false
}

// judgeFailure is judge for a unit whose round trip failed.
func (u *Upstream) judgeFailure(x *unit, err error, late bool) (again, later bool) {
	var notSent *unsent
	sent := !errors.As(err, &notSent)
	u.refresh.ask()
	switch {
	case late, errors.Is(err, errQueueFull), errors.Is(err, errAway):
	case !sent, !x.write && x.tries.attempt():
		x.route.reset()
		return true, true
	}
	x.err = fmt.Errorf("%s: %w", x.node.addr, err)
	if sent && x.write {
		x.err = fmt.Errorf("%w; the command may have run", x.err)
	}
	return false, false
}

// follow makes a unit go where a redirection points. It reports false if it has followed too many.
func (u *Upstream) follow(x *unit, reply []byte, ask bool) bool {
	u.counts.redirects.Add(1)
	words := strings.Fields(errorText(reply))
	if !x.tries.redirect() || len(words) < 3 {
		x.err = fmt.Errorf("%s: redirection without end: %s", x.node.addr, strings.Join(words, " "))
		return false
	}
	x.route.redirect(u.node(redirectedTo(x.node.addr, words[2])), ask)
	if !ask {
		u.refresh.ask()
	}
	return true
}

// recover changes a unit whose error reply can be avoided. It reports whether to send it again.
func (u *Upstream) recover(x *unit, reply []byte) bool {
	if x.limit != nil || len(x.limits) > 0 {
		return u.limits.recover(x, reply)
	}
	return u.scripts.recover(x, reply)
}

// finish sets the call's reply to that of a unit that is done.
func (u *Upstream) finish(x *unit) {
	if x.limit != nil && (x.err != nil || redirects[code(unwrap(x.reply))] != 0) {
		u.limits.degrade(x)
	}
	if x.err != nil {
		u.counts.errors.Add(1)
		x.reply, x.long = errorReply("UPSTREAM "+x.err.Error()), nil
	}
	switch {
	case x.part.split != nil:
		x.part.split.add(x)
	case x.limit != nil && x.err == nil:
		x.call.Reply = u.limits.reply(x)
	case x.limits != nil && x.err == nil:
		u.limits.replies(x)
	case x.call.Cmd.Group == "rate-limit" && bytes.HasPrefix(x.reply, []byte("-ERR unknown command")):
		// RL.EXPLAIN and RL.SIM are no functions.
		x.call.Reply = errorReply("ERR '" + x.call.Cmd.FullName() + "' needs an upstream that is zlimit")
	default:
		if x.err == nil && !x.isTransaction() {
			u.scripts.learn(x.call.Cmd, x.call.Args, x.reply)
		}
		x.call.Reply, x.call.Long = x.reply, x.long
	}
}

// addWait adds WAIT behind commands that write.
func (u *Upstream) addWait(g *group) {
	for _, x := range g.units {
		if x.write {
			g.job.items = append(g.job.items, u.wait())
			return
		}
	}
}

// checkWait replaces the replies of writes that too few replicas have confirmed.
func (u *Upstream) checkWait(g *group) {
	it := g.job.items[len(g.job.items)-1]
	if string(it.args[0]) != string(wordWait) || it.reply == nil {
		return
	}
	for _, x := range g.units {
		if x.write {
			u.confirm(x, it)
		}
	}
}

var wordWait = []byte("WAIT")

// wait returns the item that waits for replicas.
func (u *Upstream) wait() *item {
	return &item{args: [][]byte{
		wordWait, strconv.AppendInt(nil, int64(u.options.WaitReplicas), 10),
		strconv.AppendInt(nil, u.options.WaitTimeout.Milliseconds(), 10),
	}}
}

// confirm replaces the reply of a unit that has written if the answer to WAIT says that too few replicas
// have confirmed it.
func (u *Upstream) confirm(x *unit, it *item) {
	n, _ := strconv.Atoi(strings.TrimSpace(string(it.reply[1:])))
	if it.reply[0] == ':' && n >= u.options.WaitReplicas || !isOK(x.last().reply) {
		return
	}
	reason := ""
	if isError(it.reply) {
		reason = ": " + errorText(it.reply)
	}
	x.reply = errorReply(fmt.Sprintf("NOREPLICAS the command has run, but %d of %d replicas have "+
		"confirmed it%s", n, u.options.WaitReplicas, reason))
}

// isProto3 reports whether a call is to be answered in RESP3.
func isProto3(c *call.Call) bool { return c.Proto == resp.RESP3 }
