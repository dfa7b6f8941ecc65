package engine

import (
	"slices"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A commandQueue is copies of commands. Arguments are kept in blocks that never move: a slice that grows by
// copying would leave the earlier copies to the commands that were queued before. Small blocks are reused.
type commandQueue struct {
	queued []queuedCommand
	args   [][]byte // the last block of arguments
	text   []byte   // the last block of their bytes
	held   int      // bytes of all blocks

	publishes bool // one of them is PUBLISH or SPUBLISH
}

type queuedCommand struct {
	cmd  *commands.Command
	args [][]byte
}

// Sizes of the queue of MULTI.
const (
	queuedBytes    = int(unsafe.Sizeof(queuedCommand{}))
	queuedArgBytes = int(unsafe.Sizeof([]byte{}))
)

// Sizes of the first and of large blocks. A command that needs more gets one of its own.
const (
	minTextBlock, maxTextBlock = 512, 64 << 10
	minArgsBlock, maxArgsBlock = 16, 2 << 10
)

// add appends a copy of a command.
func (t *commandQueue) add(cmd *commands.Command, args [][]byte) {
	size := 0
	for _, a := range args {
		size += len(a)
	}
	if cap(t.text)-len(t.text) < size {
		t.text = make([]byte, 0, max(size, min(max(2*cap(t.text), minTextBlock), maxTextBlock)))
		t.held += cap(t.text)
	}
	if cap(t.args)-len(t.args) < len(args) {
		t.args = make([][]byte, 0, max(len(args), min(max(2*cap(t.args), minArgsBlock), maxArgsBlock)))
		t.held += cap(t.args) * queuedArgBytes
	}
	first := len(t.args)
	for _, a := range args {
		at := len(t.text)
		t.text = append(t.text, a...)
		t.args = append(t.args, t.text[at:len(t.text):len(t.text)])
	}
	t.queued = append(t.queued, queuedCommand{cmd, t.args[first:len(t.args):len(t.args)]})
	t.publishes = t.publishes || cmd.Is(publishes)
}

// bytes returns the memory of the queue, with what it keeps for later.
func (t *commandQueue) bytes() int { return cap(t.queued)*queuedBytes + t.held }

// reset empties the queue. The commands can be read until another is added. The buffers
// of a large queue are freed.
func (t *commandQueue) reset() {
	const maxIdleText, maxIdleArgs = 16 << 10, 512
	last := cap(t.text) + cap(t.args)*queuedArgBytes
	if cap(t.text) > maxIdleText || cap(t.args) > maxIdleArgs || cap(t.queued) > maxIdleArgs {
		*t = commandQueue{}
		return
	}
	*t = commandQueue{queued: t.queued[:0], args: t.args[:0], text: t.text[:0], held: last}
}

func cloneArgs(args [][]byte) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = slices.Clone(a)
	}
	return out
}

// end closes the transaction. The queued commands can be read until another is queued.
func (t *transaction) end() {
	t.open, t.broken = false, false
	t.reset()
}

// anyRuns reports whether fn is true of a command or, if it is EXEC, of one of those that it runs.
func (t *transaction) anyRuns(
	cmd *commands.Command, args [][]byte, fn func(*commands.Command, [][]byte) bool,
) bool {
	if cmd.Is(commands.RunsQueue) {
		for i := range t.queued {
			if q := &t.queued[i]; fn(q.cmd, q.args) {
				return true
			}
		}
	}
	return fn(cmd, args)
}

var transactionGroup = []commands.Command{
	{
		Name: "discard", Arity: 1, Group: "transactions", Since: "2.0.0", Complexity: "O(N)",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.AllowBusy |
			commands.Transaction | commands.Immediate | commands.EndsMulti,
		Summary: "Discards the queued commands and unwatches all keys.",
		Handler: discard,
	},
	{
		Name: "exec", Arity: 1, Group: "transactions", Since: "1.2.0", Complexity: "O(N)",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.SkipSlowlog |
			commands.Transaction |
			commands.Immediate | commands.EndsMulti | commands.RunsQueue,
		Summary: "Runs the queued commands as one, unless a watched key has changed.",
		Handler: exec,
	},
	{
		Name: "multi", Arity: 1, Group: "transactions", Since: "1.2.0", Complexity: "O(1)",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.AllowBusy |
			commands.Immediate,
		Summary: "Begins to queue commands for EXEC.",
		Handler: multi,
	},
	{
		Name: "unwatch", Arity: 1, Group: "transactions", Since: "2.2.0", Complexity: "O(N)",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.AllowBusy |
			commands.Transaction,
		Summary: "Unwatches all keys.",
		Handler: unwatch,
	},
	{
		Name: "watch", Arity: -2, Group: "transactions", Since: "2.2.0", Complexity: "O(N)",
		Syntax: "key [key ...]",
		// A command that changes a watched key reads the list of watchers that grows.
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.AllowBusy |
			commands.Immediate | commands.Transaction,
		Keys:    []commands.KeySpec{{Flags: "RO", First: 1, Last: -1, Step: 1}},
		Summary: "Makes the next EXEC fail if one of these keys changes before it.",
		Handler: watch,
	},
}

// shards returns the shards that EXEC, DISCARD, WATCH and UNWATCH need beside those of their arguments: those
// of the watched keys and of the queued commands.
func (t *transaction) shards() store.ShardSet {
	set := t.watch.Shards()
	for i := range t.queued {
		if q := &t.queued[i]; q.cmd.Locks != nil {
			set |= q.cmd.Locks(nil, q.args)
		} else {
			set |= q.cmd.Shards(q.args)
		}
	}
	return set
}

// MULTI
func multi(c *commands.Ctx) resp.Value {
	s := caller(c)
	if s.tx.open {
		return errNestedMulti
	}
	s.tx.open = true
	return resp.OK
}

// WATCH key [key ...]
func watch(c *commands.Ctx) resp.Value {
	s := caller(c)
	if s.tx.open {
		return errWatchInMulti
	}
	if c.DB == nil { // a busy script has the shards
		s.tx.watch.MarkDirty()
		return resp.OK
	}
	for _, key := range c.Args[1:] {
		c.DB.Watch(s.tx.watch, key, c.NowMs)
	}
	s.shown.countNames()
	return resp.OK
}

// UNWATCH
func unwatch(c *commands.Ctx) resp.Value {
	caller(c).tx.endWatch()
	return resp.OK
}

// DISCARD
func discard(c *commands.Ctx) resp.Value {
	s := caller(c)
	if !s.tx.open {
		return errDiscardWithoutMulti
	}
	s.tx.end()
	s.tx.endWatch()
	return resp.OK
}

// EXEC
//
// The shards of all queued commands and watched keys are locked, so nothing comes
// between the check and the last command.
func exec(c *commands.Ctx) resp.Value {
	s := caller(c)
	if !s.tx.open {
		return errExecWithoutMulti
	}
	queued, broken := s.tx.queued, s.tx.broken
	s.tx.end()
	intact := c.Store.Intact(s.tx.watch, c.NowMs)
	s.tx.endWatch()
	switch {
	case broken:
		return errExecAborted
	case !intact:
		return resp.NullArray
	}
	if s.inbox.subscribed {
		s.AcquireBroker() // otherwise messages of other sessions might come between our own, inside the reply
	}
	s.inbox.collect()
	s.inbox.subscriber.InExec = true
	mode := c.Mode
	c.Mode |= commands.Final
	defer func() {
		s.inbox.subscriber.InExec = false
		c.Mode = mode
	}()
	withoutHead := s.answers.quiet()
	replies := c.Build(len(queued))
	startUs := s.work.calls.last.startUs // of the next command
	for i := range queued {
		q := &queued[i]
		proto := s.answers.proto
		s.work.rec.adapt()
		reply := s.tx.call(q, &startUs)
		if c.Cut != commands.CutNone {
			return s.tx.cut(reply)
		}
		c.Mode |= commands.Follows
		c.CountNested(q.cmd, false, s.work.calls.failed(&reply))
		if s.answers.quiet() {
			reply = resp.None
		}
		if s.answers.proto != proto {
			// HELLO: earlier replies stay in the earlier protocol.
			for j, earlier := range replies.Pending() {
				replies.Pending()[j] = resp.Encode(earlier, proto)
			}
			c.Proto = s.answers.proto
		}
		s.work.rec.notify()
		s.work.rec.invalidate()
		if s.inbox.subscriber.HasInline() {
			// As in Redis 7.0, what the command has sent to its own session precedes
			// its reply, within the array.
			reply = behind(s.inbox.subscriber.AppendInline(nil, s.answers.proto), reply, s.answers.proto)
		}
		replies.Add(reply)
	}
	s.work.req.answered = true
	c.Outcome = commands.Outcome{} // that was the last command's
	if !withoutHead {
		return replies.Array()
	}
	// Redis decides for each reply when it comes: CLIENT REPLY OFF has dropped the
	// array's head and the replies before a CLIENT REPLY ON.
	return replies.Elements()
}

// slot returns the slot of the queued commands' keys, commands.NoSlot if they have none. ok is false if they
// are in several slots.
func (t *transaction) slot() (slot int, ok bool) {
	slot = commands.NoSlot
	for i := range t.queued {
		of, _ := t.queued[i].cmd.SlotOf(t.queued[i].args)
		if of != commands.NoSlot && slot != commands.NoSlot && of != slot {
			return slot, false
		}
		slot = max(slot, of)
	}
	return slot, true
}

// call calls a queued command, unless its user may not run it any more.
func (t *transaction) call(q *queuedCommand, startUs *int64) resp.Value {
	if refusal := t.session.who.denyInExec(q.cmd, q.args); refusal.IsError() {
		return refusal
	}
	return t.session.work.calls.nested(q.cmd, q.args, startUs)
}

// cut returns EXEC's reply if a script was killed because the process ends. The
// commands after the script do not run, and those before it are not kept.
func (t *transaction) cut(reply resp.Value) resp.Value {
	if t.session.work.ctx.Mode.Is(commands.Follows) {
		t.session.work.ctx.Cut = commands.CutHalf
	}
	return resp.Error("EXECABORT Transaction discarded because of: " + withoutCode(reply.Str()))
}

// reject returns an error reply and, in a transaction, makes EXEC fail. An unknown
// command is nil. A cluster's refusal of EXEC is answered as it is, as in Redis.
func (t *transaction) reject(cmd *commands.Command, refusal resp.Value) resp.Value {
	if cmd != nil && cmd.Is(commands.RunsQueue) {
		t.discard()
		if refusal.Str() == commands.ErrCrossSlot.Str() {
			return refusal
		}
		return resp.Error("EXECABORT Transaction discarded because of: " + withoutCode(refusal.Str()))
	}
	if t.open {
		t.broken = true
	}
	return refusal
}

// discard is DISCARD outside of a handler.
func (t *transaction) discard() {
	t.end()
	t.unwatch()
}

// unwatch is UNWATCH outside of a handler.
func (t *transaction) unwatch() {
	s := t.session
	shards := t.watch.Shards()
	if s.engine.locks.lockUnlessBusy(s, shards) != nil {
		t.orphanWatch()
		return
	}
	defer s.engine.store.Unlock(shards)
	t.endWatch()
}

// endWatch unwatches all keys. Their shards must be locked.
func (t *transaction) endWatch() {
	t.upstream.Close()
	watched := t.watch.Len() > 0
	t.session.engine.store.Unwatch(t.watch)
	if watched {
		t.session.shown.countNames()
	}
}
