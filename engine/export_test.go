package engine

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Journal is journal, for tests outside of the package.
type Journal interface {
	Append(g *effects.Group, nowMs int64) (end int64)
}

// Record makes e tell j what is done from now on.
func (e *Engine) Record(j Journal) { e.setJournal(j) }

// Replay runs a command of a log, in a database, at an instant before every
// deadline: while a log is read nothing expires.
func (s *Session) Replay(db int, args [][]byte) resp.Value {
	s.engine.store.Lock(store.AllShards)
	defer s.engine.store.Unlock(store.AllShards)
	s.ctx.Reset()
	s.ctx.Unheld = 0
	s.begin()
	s.ctx.NowMs, s.ctx.NowUs = 0, 0
	s.ctx.Use(db)
	return s.engine.table.Call(&s.ctx, args)
}

// Count is what a Tick adds to the census.
func (e *Engine) Count() { e.count() }

// Hold and LetGo are hold and letGo: what a script does from its first PUBLISH to
// its end.
func (s *Session) Hold()  { s.hold() }
func (s *Session) LetGo() { s.letGo() }
