package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// statsGroup returns the row of RL.STATS. It shows the names of tenants, so it is a
// command of administrators.
func (e *Engine) statsGroup() []commands.Command {
	return []commands.Command{{
		Name: "rl.stats", Arity: -1, Flags: commands.Admin | commands.Loading | commands.Stale,
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(P) with P prefixes", Handler: e.rlStats,
		Syntax:    "[prefix [prefix ...]]",
		Summary:   "Returns the decisions of limiters by algorithm, and by prefix of their keys.",
		Deviation: "zlimit's own",
	}}
}

// followStatsPrefixes returns the prefixes of rl-stats-prefix, which keep their counts
// while they are in it.
func (e *Engine) followStatsPrefixes() commands.PrefixIndex {
	names := e.cfg.Strings("rl-stats-prefix")
	old := e.statsPrefixes.Load()
	if text := strings.Join(names, "\x00"); text != e.statsPrefixNames {
		e.statsPrefixNames = text
		e.statsPrefixes.Store(stats.NewPrefixes(names, old))
	}
	if p := e.statsPrefixes.Load(); p != nil {
		return p
	}
	return nil
}

// adopt makes settings those of the session. What it has counted by prefix belongs to
// the earlier ones.
func (m *calls) adopt(settings *commands.Settings) {
	m.flushPrefixes()
	m.session.ctx.Settings = settings
	m.prefixes, _ = settings.StatsPrefixes.(*stats.Prefixes)
}

// flushPrefixes adds what the session has counted by prefix to the statistics.
func (m *calls) flushPrefixes() {
	if m.prefixes != nil {
		m.prefixes.Add(m.session.id, &m.limits.Prefixes)
	}
}

// prefixDecisions returns the decisions by prefix, and by what has none. It reads the
// prefixes first: the sum of all is never above the totals by algorithm.
func (e *Engine) prefixDecisions() (prefixes []stats.PrefixDecisions, none, all []rl.Decisions) {
	prefixes = e.statsPrefixes.Load().Decisions()
	all = e.stats.Decisions()
	none = append(none, all...)
	for i := range prefixes {
		for by := range prefixes[i].By {
			none[by].Subtract(&prefixes[i].By[by])
		}
	}
	return prefixes, none, all
}

// RL.STATS [prefix [prefix ...]]
func (e *Engine) rlStats(c *commands.Ctx) resp.Value {
	caller(c).calls.flush()
	prefixes, _, all := e.prefixDecisions()
	return stats.DecisionsReply(all, prefixes, c.Args[1:])
}

// topSampling returns rl-top-sampling, or 0 if rl-top is no. If that differs from before, the
// counts of RL.TOP start anew: they are of one sampling rate.
func (e *Engine) topSampling() uint32 {
	sampling := uint32(0)
	if e.cfg.Bool("rl-top") {
		sampling = uint32(e.cfg.Int("rl-top-sampling"))
	}
	if s := e.settings.Load(); s != nil && s.TopSampling != sampling {
		e.top.Reset()
	}
	return sampling
}

// Top returns the keys that RL.TOP lists, and rl-top-sampling: how many decisions one that
// was counted stands for, 0 if rl-top is no.
func (e *Engine) Top(q rl.TopQuery) (report rl.TopReport, sampling uint32) {
	if q.Keep == nil {
		q.Keep = func(string) bool { return true }
	}
	if q.NowMs == 0 {
		q.NowMs = e.clock.NowUs() / 1000
	}
	return e.top.Top(&q), e.settings.Load().TopSampling
}

// setTracer makes the handlers record decisions, or not.
func (w *watching) setTracer(on bool) {
	s := w.session
	s.calls.limits.Tracer = nil
	if on {
		s.calls.limits.Tracer = &s.engine.traces
	}
}

// observe sets the observer of the command, script or EXEC that begins, if rl-doctor is on.
func (w *watching) observe() {
	s := w.session
	if w.observer == nil {
		w.observer = s.engine.doctor.NewClient(s.id, s.shown.label)
	}
	s.ctx.Env.ObserveBy(nil)
	if w.observer.Begin() {
		s.ctx.Env.ObserveBy(w.observer)
	}
}

// label returns the name of the session's client, or its address without the port if it has
// none. It is called on the session's goroutine, the only one that sets the name.
func (v *shown) label() string {
	s := v.session
	if name := v.public.name; name != "" {
		return name
	}
	addr := s.peer.Addr
	if colon := strings.LastIndexByte(addr, ':'); colon >= 0 {
		return addr[:colon]
	}
	return addr
}

// doctorShards is how many shards a tick examines for RL.DOCTOR.
const doctorShards = 8

// tickDoctor examines what RL.DOCTOR remembers of keys, some shards at a time, unless they
// are locked.
func (e *Engine) tickDoctor() {
	if !e.doctor.On() {
		return
	}
	for range doctorShards {
		shard := e.doctorAt
		e.doctorAt = (e.doctorAt + 1) % store.NumShards
		if one := store.OneShard(shard); e.store.TryLock(one) {
			e.doctor.Sweep(e.store, shard, e.clock.NowUs()/1000)
			e.store.Unlock(one)
		}
	}
}
