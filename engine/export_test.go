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

// Record makes j the journal of e.
func (e *Engine) Record(j Journal) { e.recording.setJournal(j) }

// Wanted is the kinds of changes that e records.
func (e *Engine) Wanted() effects.Flags { return e.recording.wanted() }

// Replay runs a command of a log, in a database, at an instant before every
// deadline: while a log is read nothing expires.
func (s *Session) Replay(db int, args [][]byte) resp.Value {
	s.engine.store.Lock(store.AllShards)
	s.work.ctx.Reset()
	defer keyspace{s}.begin(store.AllShards).end()
	s.work.ctx.NowMs, s.work.ctx.NowUs = 0, 0
	s.work.ctx.Use(db)
	return s.engine.table.Call(&s.work.ctx, args)
}

// Count runs a Tick's share of the sample of the keyspace.
func (e *Engine) Count() { e.stats.Sampler.Tick(int(e.cfg.Int("hz"))) }

// Hold and LetGo acquire and release the broker, as a script does from its first
// PUBLISH to its end.
func (s *Session) Hold()  { s.AcquireBroker() }
func (s *Session) LetGo() { s.engine.broker.Release(&s.inbox.subscriber) }

// CountedMemory returns the memory that the keyspace counts, and the result of a recount.
func (e *Engine) CountedMemory() (counted, found store.Memory) {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	return e.store.Memory(), e.store.RecountMemory()
}

// EditUnseen changes the value of a key without counting the change.
func (e *Engine) EditUnseen(key string, edit func(n *store.Node)) {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	edit(e.store.DB(0).Peek([]byte(key), 0))
}

// WithShards calls fn while every shard is locked.
func (e *Engine) WithShards(fn func()) {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	fn()
}

// CountedKeys returns how many keys a prefix of rl-max-keys-per-prefix counts and how many there are, while
// no command runs, and whether the keys of every shard are counted.
func (e *Engine) CountedKeys(prefix string) (counted, found int64, all bool) {
	e.WithShards(func() {
		for _, f := range e.store.PrefixFigures() {
			if f.Prefix == prefix {
				counted = f.Keys
			}
		}
		found, all = e.store.RecountPrefix(prefix), e.store.PrefixesCounted()
	})
	return counted, found, all
}

// ClientLimit is clientLimit.
func ClientLimit(directive, maxmemory int64) int64 { return clientLimit(directive, maxmemory) }

// HoldShard calls fn while one shard is locked.
func (e *Engine) HoldShard(shard int, fn func()) {
	e.store.Lock(1 << shard)
	defer e.store.Unlock(1 << shard)
	fn()
}

// SetGCPause replaces process.LongestGCPause.
func (e *Engine) SetGCPause(fn func(since int64) (us, collections int64)) { e.slow.longestGC = fn }

// SaveAtSignal is the part of PrepareShutdown that saves.
func (e *Engine) SaveAtSignal() error { return e.saveAtSignal(nil, nil) }

// NameBytes are the number of names that a session has registered, what they count for and what they take.
type NameBytes struct {
	Names          int
	Counted, Found int64
}

// NameBytes returns those of the session.
func (s *Session) NameBytes() NameBytes {
	n := NameBytes{Names: s.tx.watch.Len(), Counted: s.shown.view().nameBytes}
	for _, topics := range s.inbox.subscriber.Counts() {
		n.Names += topics
	}
	if mode := s.tracking.Mode(); mode.Bytes() > 0 {
		n.Names++
	}
	n.Found = s.tx.watch.Bytes() + s.inbox.subscriber.Bytes() + s.tracking.Mode().Bytes()
	return n
}
