package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// Connections run side by side, so that of two commands that two clients send at
// the same time either may run first. Where the one that reached the server first
// decides what the other does to its client, it runs first, as in Redis: see
// docs/adr/0027. Before a command publishes, it waits for what its receivers have
// sent earlier; before it writes, for what those have sent who watch its keys;
// before it kills, for what the killed have sent.

// publishes are the flags of PUBLISH and SPUBLISH.
const publishes = commands.PubSub | commands.MayReplicate

// letEarlierRun waits for earlier commands of the clients that the command under
// way concerns. No lock is held.
func (s *Session) letEarlierRun(shards store.ShardSet, cmd *commands.Command, args [][]byte) {
	watched := s.engine.store.Watched() && (cmd.Flags&commands.Write != 0 || cmd.Locks != nil || len(s.tx.queued) > 0)
	if !watched && !cmd.Is(publishes) || s.peer.Arrived == nil || s.peer.Arrived() == 0 {
		return
	}
	if watched {
		s.findWatchers(shards, cmd, args)
	} else {
		s.engine.broker.Receivers(args[1], func(o any) { s.concerned = append(s.concerned, o.(*Session)) })
	}
	for _, o := range s.concerned {
		if !s.letRun(o) {
			break
		}
	}
	clear(s.concerned)
	s.concerned = s.concerned[:0]
}

// letRun waits until another session has run what had arrived before the command
// under way. It reports whether the next is worth waiting for.
func (s *Session) letRun(o *Session) bool {
	if s == o || s.peer.Arrived == nil || o.peer.Await == nil {
		return true
	}
	return o.peer.Await(s.peer.Arrived())
}

// findWatchers appends to concerned who watches keys that the command under way
// names, or others that it changes by serving those who wait for these.
func (s *Session) findWatchers(shards store.ShardSet, cmd *commands.Command, args [][]byte) {
	e := s.engine
	locked, busy := e.lock(shards)
	if busy != nil {
		return
	}
	defer e.store.Unlock(locked)
	found := func(w *store.Watch) { s.concerned = append(s.concerned, w.Owner.(*Session)) }
	e.store.Watchers(locked&^shards, found)
	var keys [4][]byte
	s.anyRuns(cmd, args, func(cmd *commands.Command, args [][]byte) bool {
		for _, key := range cmd.AppendKeys(keys[:0], args) {
			e.store.WatchersOf(s.ctx.DBIndex, key, found)
		}
		return false
	})
}
