package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// Connections run in parallel, so of two commands that two clients send at the same time either may run
// first. If a command affects the other client, the one that reached the server first runs first, as in
// Redis; see docs/adr/0027. A command that publishes waits for the earlier commands of its receivers, one
// that writes for those of the sessions that watch its keys, and one that kills for those of the sessions
// that it kills.

// publishes are the flags of PUBLISH and SPUBLISH.
const publishes = commands.PubSub | commands.MayReplicate

// runEarlierFirst waits for earlier commands of the clients that the command under
// way affects. The caller holds no lock.
func (a *arrivals) runEarlierFirst(shards store.ShardSet, cmd *commands.Command, args [][]byte) {
	s := a.session
	watched := s.engine.store.Watched() && (cmd.Flags&commands.Write != 0 || cmd.Locks != nil ||
		len(s.tx.queued) > 0)
	publishing := cmd.Is(publishes) || s.tx.publishes
	if !watched && !publishing || s.peer.Orderer == nil {
		return
	}
	if watched {
		a.findWatchers(shards, cmd, args)
	}
	if publishing {
		a.findReceivers(cmd, args)
	}
	for _, o := range s.work.affected {
		if !a.letRun(o) {
			break
		}
	}
	clear(s.work.affected)
	s.work.affected = s.work.affected[:0]
}

// letRun waits until another session has run what arrived before the command under way. It reports false if
// it has waited in vain, so that no other session is worth waiting for.
func (a *arrivals) letRun(o *Session) bool {
	s := a.session
	if s == o || s.peer.Orderer == nil || o.peer.Orderer == nil {
		return true
	}
	began := s.engine.clock.MonotonicUs()
	defer waiting{s, began}.ends()
	return s.peer.Orderer.AwaitEarlier(o.peer.Orderer)
}

// findReceivers appends to affected the sessions that receive what the command under way publishes, or a
// command of its queue.
func (a *arrivals) findReceivers(cmd *commands.Command, args [][]byte) {
	s := a.session
	found := func(o any) { s.work.affected = append(s.work.affected, o.(*Session)) }
	s.tx.anyRuns(cmd, args, func(cmd *commands.Command, args [][]byte) bool {
		if cmd.Is(publishes) {
			s.engine.broker.Receivers(args[1], found)
		}
		return false
	})
}

// findWatchers appends to affected the sessions that watch a key which the command
// under way names, or which it changes by serving blocked sessions.
func (a *arrivals) findWatchers(shards store.ShardSet, cmd *commands.Command, args [][]byte) {
	s := a.session
	e := s.engine
	locked, busy := e.locks.lock(s, shards)
	if busy != nil {
		return
	}
	defer e.store.Unlock(locked)
	found := func(w *store.Watch) { s.work.affected = append(s.work.affected, w.Owner.(*Session)) }
	beside := locked &^ shards
	if e.store.WaitedKeys() > 0 { // serving a session may change a key in the shards of the command's own
		beside = locked
	}
	e.store.Watchers(beside, found)
	var keys [4][]byte
	s.tx.anyRuns(cmd, args, func(cmd *commands.Command, args [][]byte) bool {
		for _, key := range cmd.AppendKeys(keys[:0], args) {
			if store.ShardOf(key)&locked != 0 { // a script that there is not locks none, and changes nothing
				e.store.WatchersOf(s.work.ctx.DBIndex, key, found)
			}
		}
		return false
	})
}

// ReadAheadCalls is how many calls ReadAhead takes at most.
const ReadAheadCalls = store.ReadAheadKeys

// Arrived is the beginning of a command that has arrived and will run soon: the first Len of its arguments.
type Arrived struct {
	Args [4][]byte
	Len  int
}

// ReadsAhead reports whether ReadAhead is worth calling: not for a small keyspace.
func (e *Engine) ReadsAhead() bool { return e.store.ReadsAhead() }

// Ahead returns the database in which the session's next command runs, as far as that is known. ok is false
// if nothing is worth reading ahead for it: in a transaction, and for a small keyspace.
func (s *Session) Ahead() (db int, ok bool) {
	db = s.db
	if s.work != nil {
		db = s.work.ctx.DBIndex
	}
	return db, !s.tx.open && s.engine.ReadsAhead() && s.Blocked() == nil
}

// ReadAhead reads the memory of the first keys of commands that have arrived, so that the processor has it in
// its cache when they run; see store.Store.ReadAhead. It changes nothing. The commands may turn out to be
// refused, or to run in another database: then it was for nothing.
func (e *Engine) ReadAhead(db int, calls []Arrived) {
	var room [ReadAheadCalls][]byte
	if keys := e.keysAhead(room[:0], calls); len(keys) > 1 {
		e.store.ReadAhead(db, keys)
	}
}

// keysAhead appends the first key of each call, up to ReadAheadCalls. Calls in a row
// that repeat a key, as INCR and EXPIRE do, have it once.
func (e *Engine) keysAhead(keys [][]byte, calls []Arrived) [][]byte {
	var cmd *commands.Command
	var name []byte // that of cmd: most pipelines repeat one command
	for i := range calls {
		a := &calls[i]
		if string(a.Args[0]) != string(name) {
			name = a.Args[0]
			cmd = e.table.Lookup(name)
		}
		if cmd == nil {
			continue
		}
		at := cmd.FirstKey()
		if at == 0 || at >= a.Len || len(keys) == ReadAheadCalls {
			continue
		}
		key := a.Args[at]
		if n := len(keys); n == 0 || string(keys[n-1]) != string(key) {
			keys = append(keys, key)
		}
	}
	return keys
}
