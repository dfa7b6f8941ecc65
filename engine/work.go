package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
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
	begun     bool // its beginning was read from the clock, which ended the call before
	timed     bool // it waits, and is of the sample that is timed
	answered  bool // EXEC has applied CLIENT REPLY itself
	deferred  bool // it is collected for ForwardBatch
	again     bool // it has run with some shards, and runs with all

	rules *replication.Rules // those that have admitted it

	untouched store.ShardSet // its shards, if it does not count as use
	served    []*Blocked     // sessions that it has served and not yet woken
	awaited   *future        // see Await
}

// calls is what a session counts and measures of its calls, until the statistics have it.
type calls struct {
	work      *Work
	session   *Session          // that has the work, or had it last
	stats     *stats.Stats      // where they are counted
	id        int64             // of the work: what is counted is spread by it
	ran       *commands.Command // the last one of this session; nil: none
	run       stats.Run         // calls of one command in a row
	last      openCall
	random    uint32          // state of the generator that picks which calls are timed
	limits    rl.Session      // of the rate limit commands
	prefixes  *stats.Prefixes // those by which limits counts; nil: none
	reads     int64           // from the client
	readBytes int64
	longArgs  int // see TakeLongArgs
	// measured is set while a decision that the upstream has not made is made here: its duration is that of
	// the batch.
	measured bool
}

// An openCall is the call under way or the last one, as far as its duration needs it.
type openCall struct {
	startUs int64 // on Clock.MonotonicUs; waits are added
	// cmd is nil unless the call has run and its end was not read. args are then its
	// arguments, which the connection keeps.
	cmd  *commands.Command
	args [][]byte

	endedUs int64 // when EndCall was called, on the server's clock; 0: not since the last Publish
}

// A recorder records what the commands of a session change, as far as something wants it.
type recorder struct {
	work     *Work
	session  *Session      // that has the work, or had it last
	group    effects.Group // what the call under way changes, if it is on
	on       bool          // the call is recorded
	notified int           // how many of its changes were published as events
}

// Count adds what was counted to the statistics.
func (w *Work) Count() { w.calls.flush() }

// CountRead counts a read of n bytes from a client.
func (w *Work) CountRead(n int) {
	w.calls.readBytes += int64(n)
	w.calls.reads++
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

// adopt makes settings those of the session. What was counted by prefix belongs to the earlier ones.
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
