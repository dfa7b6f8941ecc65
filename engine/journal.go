package engine

import (
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// A journal takes what commands do to the keyspace. Append is called once for
// each command, script, EXEC, step of reclaiming, with all that it has done and
// all that those got who waited for it, while the shards that it is about are
// held: what Append sees first happened first. It keeps nothing of g and does
// not wait. See docs/adr/0017-effects.md.
type journal interface {
	Append(g *effects.Group, nowMs int64) (end int64)
}

// setJournal begins to record what is done, or ends it with nil. It requires
// AllShards: then no command is half recorded.
func (e *Engine) setJournal(j journal) {
	if j == nil {
		e.journal.Store(nil)
		return
	}
	e.journal.Store(&j)
}

// record begins to record what the session does to shards that it holds: for the
// journal, or by the names of the keys that change, or both.
func (s *Session) record(shards store.ShardSet, journal, named bool) {
	s.recording = true
	if journal {
		s.ctx.Group = &s.group
	}
	if named {
		s.group.Name()
	}
	s.engine.store.Record(shards, &s.group)
}

// commit hands over what was recorded.
func (s *Session) commit(shards store.ShardSet) {
	s.engine.store.Record(shards, nil)
	s.ctx.Group, s.recording, s.tracking.out.looked = nil, false, 0
	s.hasWritten(s.engine.append(&s.group, s.ctx.NowMs))
}

// append empties a group into the journal, and returns the position after it, 0
// where there was nothing.
func (e *Engine) append(g *effects.Group, nowMs int64) (end int64) {
	if j := e.journal.Load(); j != nil && g.Len() > 0 {
		end = (*j).Append(g, nowMs)
	}
	g.Reset()
	return end
}
