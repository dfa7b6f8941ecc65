package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// initTracking connects the state of CLIENT TRACKING with the sessions.
func (e *Engine) initTracking() {
	e.recording.tracking.Init(&e.broker,
		func(id int64) *pubsub.Subscriber {
			if s := e.sessions.find(id); s != nil {
				return &s.inbox.subscriber
			}
			return nil
		},
		func() (out []*tracking.Mode) {
			for _, s := range e.sessions.all() {
				if mode := s.shown.view().tracking; mode != nil {
					out = append(out, mode)
				}
			}
			return out
		},
		func(on bool) { e.recording.want(effects.Tracked, on) })
}

// tracks reports whether a session tracks or the table has keys.
func (r *recording) tracks() bool { return r.wanted()&effects.Tracked != 0 }

// CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN]
// [OPTOUT] [NOLOOP]
func clientTracking(c *commands.Ctx) resp.Value {
	s := caller(c)
	next, refusal := s.tracking.Parse(c.Args[2:])
	if refusal.IsError() {
		return refusal
	}
	s.work.rec.track(next)
	return resp.OK
}

// CLIENT CACHING <YES | NO>
func clientCaching(c *commands.Ctx) resp.Value { return caller(c).tracking.Cache(c.Args[2]) }

// CLIENT GETREDIR
func clientGetRedir(c *commands.Ctx) resp.Value {
	return resp.Int(caller(c).tracking.Mode().Redirection())
}

// CLIENT TRACKINGINFO
func clientTrackingInfo(c *commands.Ctx) resp.Value { return caller(c).tracking.Info() }

// track replaces the session's mode; nil is CLIENT TRACKING OFF.
func (r *recorder) track(next *tracking.Mode) {
	s := r.session
	if !s.tracking.Set(next) {
		return
	}
	s.shown.edit(func(p *public) { p.tracking = next })
	s.shown.countNames()
	s.work.ctx.Env.AfterReads(nil)
	if s.tracking.ReadsKeys() {
		s.work.ctx.Env.AfterReads(s.work.read)
	}
}

// untrack is for a session that ends.
func (r *recorder) untrack() {
	s := r.session
	if s.tracking.Tracked() {
		r.track(nil)
		s.tracking.Close()
	}
}

// endCaching ends the effect of CLIENT CACHING after the command args, unless that
// is a subcommand of CLIENT or a transaction is open.
func (s *Session) endCaching(args [][]byte) {
	cmd := s.called(args)
	if !s.tx.open && (cmd == nil || !strings.HasPrefix(cmd.FullName(), "client")) {
		s.tracking.Caching = false
	}
}

// read adds the keys of a command that has read them to the table. Their
// shards must be locked. As in Redis, a script that calls any command which reads
// has read all of its own keys, too.
func (r *recorder) read(cmd *commands.Command, args [][]byte) {
	s := r.session
	if !s.tracking.Records() || isScript(cmd) {
		return
	}
	r.invalidate() // the changes before this read
	s.tracking.Read(cmd, args)
	if c := &s.work.ctx; isScript(c.Cmd) {
		s.tracking.Read(c.Cmd, c.Args)
	}
}

// isScript reports whether a command runs others.
func isScript(cmd *commands.Command) bool { return cmd.Is(commands.SkipMonitor) }

// invalidate adds what the session's command has changed so far to its
// invalidations.
func (r *recorder) invalidate() {
	s := r.session
	if r.on && s.work.invalid.Missed(&r.group) {
		s.work.invalid.Add(&r.group, tracking.Author{
			Client: &s.inbox.subscriber, Script: isScript(r.work.ctx.Cmd),
			Scan: r.work.ctx.Cmd.Is(commands.AllShards),
		})
	}
}

// invalidateServed is invalidate for changes on behalf of session to, which was
// blocked on a key. As in Redis, the author in BCAST mode is the session that has
// pushed to the key.
func (r *recorder) invalidateServed(to *Session, k store.ReadyKey) {
	s := r.session
	if r.on && s.work.invalid.Missed(&r.group) {
		s.work.invalid.Add(&r.group, tracking.Author{
			Client: &to.inbox.subscriber, Filled: k.Key, Giver: &s.inbox.subscriber,
		})
	}
}
