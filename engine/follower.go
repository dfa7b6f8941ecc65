package engine

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// newMasterSession returns the session that runs what a master sends. CLIENT LIST shows it while the link
// follows the stream.
func (e *Engine) newMasterSession(f *follower, addr string) *Session {
	s := e.newSession(Peer{Addr: addr, Owner: true, Kill: f.drop, Wake: f.wake})
	s.side.follows = f
	s.tracking.Init(&e.recording.tracking, s.id, &s.inbox.subscriber)
	s.work.ctx.DBIndex = e.repl.stream.Status().DB
	s.work.ctx.Mode.Set(commands.Replayed, true)
	s.who.user.Store(e.accounts.Owner)
	return s
}

// apply runs a command that the master has sent. Nothing refuses it: it has been carried out there. An
// error means that the two servers differ.
func (z *replicaSide) apply(args [][]byte) error {
	s := z.session
	s.work.req = request{}
	s.work.ctx.Reset()
	cmd, refusal := s.engine.table.ResolveOwn(args)
	if cmd == nil || refusal.IsError() {
		return fmt.Errorf("%w: the command %q: %s", replication.ErrForeign, args[0], refusal.Str())
	}
	s.work.calls.begins(cmd)
	if s.tx.open && !cmd.Is(commands.Immediate) {
		s.tx.add(cmd, args)
		return nil
	}
	reply := keyspace{s}.execute(cmd, args)
	s.work.calls.run.Calls++
	if s.work.calls.failed(&reply) {
		s.work.calls.run.Failed++
	}
	if text := firstError(&reply); text != "" {
		return fmt.Errorf("%w: the command %q fails here: %s", replication.ErrForeign, args[0], text)
	}
	return nil
}

// firstError returns the error that a reply is or contains, or "".
func firstError(reply *resp.Value) string {
	if reply.IsError() {
		return reply.Str()
	}
	if reply.Kind() == resp.KindArray {
		for _, v := range reply.Elems() {
			if v.IsError() {
				return v.Str()
			}
		}
	}
	return ""
}

// Position is for replication.Follower, as all that follow.
func (f *follower) Position() (replication.Position, bool) {
	s := &f.engine.repl.stream
	return s.Position(), s.Active()
}

// Continue notes that the stream goes on, in a history of this identifier.
func (f *follower) Continue(id string) error {
	f.raw = f.raw[:0]
	return f.inRole(func() { f.engine.repl.stream.Rename(id) })
}

// Idle shows what the commands have counted, and has them brought to the disk.
func (f *follower) Idle() {
	f.session.shown.publish(Buffers{})
	f.engine.storage.Flush()
}

// Connected begins the master's session anew, in the database that is selected there, and shows it in CLIENT
// LIST.
func (f *follower) Connected(up bool) {
	if !up {
		f.session.work.calls.flush()
		f.session.shown.setBuffers(Buffers{}, 0)
		f.engine.sessions.remove(f.session)
		return
	}
	f.session = f.engine.newMasterSession(f, f.session.peer.Addr)
	f.engine.sessions.add(f.session)
}

// Apply runs a command of the stream. One that cannot be carried out ends the history: what the server has
// from there on is in none.
func (f *follower) Apply(args [][]byte, raw []byte, stop <-chan struct{}) error {
	e := f.engine
	if b := f.postpone(args); b != nil {
		if !f.await(b, stop) {
			return replication.ErrClosed
		}
		defer e.pause.Finished(&b.postponed.Command)
	}
	if f.over() {
		return errNotMaster
	}
	f.raw = append(f.raw, raw...)
	if err := f.run(args); err != nil {
		if f.session.ending.closing {
			return errEnding
		}
		if !e.cfg.Bool("load-skip-unsupported") {
			return errors.Join(err, f.inRole(e.repl.stream.Deactivate))
		}
		e.repl.unexpected.Add(1)
	}
	if f.session.tx.open || len(f.raw) == 0 {
		return nil
	}
	return f.inRole(f.commit) // it needed no shards
}

// postpone returns the wait of a command of the stream that a pause postpones, or nil.
func (f *follower) postpone(args [][]byte) *Blocked {
	s := f.session
	if len(args) == 0 || !f.engine.pause.On() {
		return nil
	}
	cmd, _ := f.engine.table.ResolveOwn(args)
	if cmd == nil || !isPaused(s, cmd, args) {
		return nil
	}
	return s.shown.blocked.Load()
}

// await waits for the turn of a postponed command. It reports false if stop is closed before.
func (f *follower) await(b *Blocked, stop <-chan struct{}) bool {
	for !b.Over() {
		select {
		case <-f.woken:
		case <-stop:
			f.session.stopWaiting()
			return false
		}
	}
	b.leaveQueues(false)
	return true
}

// run runs a command of the stream.
func (f *follower) run(args [][]byte) error {
	e := f.engine
	switch {
	case len(args) == 0, strings.EqualFold(string(args[0]), "replconf"):
		return nil
	case len(args) == 2 && strings.EqualFold(string(args[0]), "ping"):
		if ms, ok := store.ParseInt(args[1]); ok && ms > 0 && ms <= clock.MaxMs {
			e.repl.masterTime.Store(ms*1000 - e.clock.MonotonicUs())
		}
	}
	return f.session.side.apply(args)
}

// Load replaces the keys by those of a copy.
func (f *follower) Load(in io.ReaderAt, size int64, at replication.Position, progress func()) error {
	e := f.engine
	if f.over() {
		return errNotMaster
	}
	db, err := e.storage.Replace(in, size, durable.History{ID: at.ID, Offset: at.Offset}, f.empty, progress)
	switch {
	case errors.Is(err, durable.ErrUnsupported), errors.Is(err, durable.ErrVersion):
		// The next copy would be like this one.
		return fmt.Errorf("%w: %w", replication.ErrForeign, err)
	case err != nil:
		return err
	}
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	if f.over() {
		return errNotMaster
	}
	f.raw = f.raw[:0]
	e.repl.stream.Reset(at, db)
	return nil
}

// empty removes all keys and function libraries. What remains, and what is loaded then until it is whole, is
// in no history.
func (f *follower) empty() error {
	if f.over() {
		return errNotMaster
	}
	f.session.tx.discard()
	f.raw = f.raw[:0]
	if err := f.inRole(f.engine.repl.stream.Deactivate); err != nil {
		return err
	}
	for _, line := range []string{"FLUSHALL", "FUNCTION FLUSH"} {
		var args [][]byte
		for _, word := range strings.Fields(line) {
			args = append(args, []byte(word))
		}
		if err := f.session.side.apply(args); err != nil {
			return err
		}
	}
	if f.over() {
		return errNotMaster
	}
	return nil
}

// Spool returns a place for a copy.
func (f *follower) Spool() (replication.Spool, error) { return f.engine.storage.Spool() }
