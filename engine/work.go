package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/store"
)

// A Work is what a session needs while it runs commands, and does not need between them: the context of the
// handlers, what the call under way changes, what is counted and not in the statistics yet. Sessions that
// run in turns share one, which so stays in the processor's cache; see Serve.
//
// It belongs to one goroutine at a time.
type Work struct {
	engine *Engine
	shared bool // it is flushed by who shares it, not by each Publish

	req   request // under way, or the last one
	ctx   commands.Ctx
	env   commands.Env
	rec   recorder
	calls calls
	steps store.Yielder // of Step

	invalid  tracking.Invalidations // of clients' caches, by the call under way
	affected []*Session             // scratch of runEarlierFirst

	read func(cmd *commands.Command, args [][]byte) // rec.read

	policies *policy.Matcher // of commands with the flag ByPolicy; nil: none has run
}

// A request is one command of a client, from its arrival to its reply: what Do has to know of it, and nothing
// of the one before. One that CLIENT PAUSE postpones is kept by its wait.
type request struct {
	postponed bool // it waits for its turn, so it has no reply yet
	rewritten bool // its arguments are those of its policy
	resumed   bool // it was postponed, and runs now
	admitted  bool // logins.Limit has admitted it
	answered  bool // EXEC has applied CLIENT REPLY itself
	deferred  bool // it is collected for ForwardBatch
	again     bool // it has run with some shards, and runs with all

	rules *replication.Rules // those that have admitted it

	locked    bool           // it holds a shard
	untouched store.ShardSet // its shards, if it does not count as use
	served    []*Blocked     // sessions that it has served and not yet woken
	awaited   *future        // see Await
}

// NewWork returns a Work for sessions that share it. Its Count must be called before the replies of their
// calls are sent.
func (e *Engine) NewWork() *Work {
	w := e.newWork()
	w.shared = true
	return w
}

// newWork returns a Work for a single session.
func (e *Engine) newWork() *Work {
	w := &Work{engine: e}
	w.calls.work, w.rec.work = w, w
	w.calls.stats = &e.stats
	id := e.sessions.works.Add(1)
	w.calls.id, w.calls.random = id, uint32(id)
	w.calls.limits.Sampler = rl.NewTopSampler(&e.stats.Top, id)
	w.ctx.Store, w.ctx.Env = e.store, &w.env
	w.env.Limits = &w.calls.limits
	w.steps = store.Yielder{Every: keysPerStep, Yield: func() { w.calls.session.yield() }}
	w.read = w.rec.read
	w.invalid = e.recording.tracking.Invalidations()
	return w
}

// Count adds what was counted to the statistics.
func (w *Work) Count() { w.calls.flush() }

// CountRead counts a read of n bytes from a client.
func (w *Work) CountRead(n int) {
	w.calls.readBytes += int64(n)
	w.calls.reads++
}

// Serve makes a session run its commands with w, until Release. It reports false if the session has a Work:
// its own, or one that Release has left to it.
func (w *Work) Serve(s *Session) bool {
	if s.work != nil {
		return false
	}
	w.serve(s)
	return true
}

// serve makes w the session's.
func (w *Work) serve(s *Session) {
	s.work = w
	w.rec.session, w.calls.session = s, s
	w.calls.ran = nil
	c, env := &w.ctx, &w.env
	c.DBIndex = s.db
	c.Out = commands.Output{Encodes: s.peer.Streams, OutputBounds: s.answers.bounds}
	w.invalid.MadeBy(&s.tracking)
	env.Caller = s
	env.Guard = s.who.guardOf()
	env.Unwatch()
	if s.tracking.ReadsKeys() {
		env.AfterReads(w.read)
	}
}

// Release returns the session's Work for others. It is nil if the session has none, or needs it: while it is
// blocked, who serves it runs the rest of its command.
func (s *Session) Release() *Work {
	w := s.work
	if w == nil {
		return nil
	}
	if s.shown.blocked.Load() != nil {
		w.calls.flush()
		return nil
	}
	s.db, s.work = w.ctx.DBIndex, nil
	return w
}

// begins notes the row of a call that is to be counted.
func (m *calls) begins(cmd *commands.Command) {
	m.ran = cmd
	if m.run.Cmd != cmd {
		m.run.Flush(m.id, m.stats)
		m.run.Cmd = cmd
	}
}

// flush adds what was counted to the statistics.
func (m *calls) flush() {
	all := m.stats
	if m.reads > 0 {
		all.Traffic.AddReads(m.id, m.reads, m.readBytes)
		m.readBytes, m.reads = 0, 0
	}
	m.run.Flush(m.id, all)
	env := &m.work.env
	for i := range env.Nested {
		all.Add(m.id, &env.Nested[i])
	}
	env.Nested = env.Nested[:0]
	all.AddDecisions(m.id, m.limits.Decisions)
	m.flushPrefixes() // after the totals, see stats.DecisionsByPrefix
}

// adopt makes settings those of the session. What was counted by prefix belongs to
// the earlier ones.
func (m *calls) adopt(settings *commands.Settings) {
	m.flushPrefixes()
	m.work.ctx.Settings = settings
	m.prefixes, _ = settings.StatsPrefixes.(*stats.Prefixes)
}

// flushPrefixes adds what was counted by prefix to the statistics.
func (m *calls) flushPrefixes() {
	if m.prefixes != nil {
		m.prefixes.Add(m.id, &m.limits.Prefixes)
	}
}
