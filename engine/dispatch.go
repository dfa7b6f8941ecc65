package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
)

// Do runs one command and returns its reply, or resp.None if nothing is to be
// sent. The reply is valid until the next Do; args are not kept.
func (s *Session) Do(args [][]byte) resp.Value {
	s.work.req = request{}
	return s.do(args)
}

// do is Do for the request that the work has.
func (s *Session) do(args [][]byte) resp.Value {
	s.work.ctx.Reset()
	if s.ending.dead.Load() {
		s.ending.closing = true
		return resp.None
	}
	s.inbox.collect()
	reply := s.dispatch(args)
	if !s.work.req.begun { // it was queued, refused or collected, so it has not ended the call before
		s.EndCall()
	}
	if !s.work.req.postponed && s.tracking.Caching { // else what CLIENT CACHING is for is still to come
		s.endCaching(args)
	}
	return s.exec.finish(reply)
}

// Resume returns the reply of a wait that is Over, or resp.None if none is to be
// sent. The reply is valid until the next Do.
func (s *Session) Resume() resp.Value {
	b := s.shown.blocked.Load()
	b.leaveQueues(false)
	if b.postponed != nil {
		return b.runPostponed()
	}
	if b.last {
		s.ending.closing = true
	}
	if pos, ok := s.engine.storage.End(); ok {
		s.wrote.log = pos // what it was served is in another session's group
	}
	if b.awaited != nil && b.awaited.ended != nil {
		b.awaited.ended()
	}
	if b.silent {
		return s.answers.bound(resp.None)
	}
	return s.answers.bound(b.reply)
}

// runPostponed runs a postponed command, unless its wait was ended.
func (b *Blocked) runPostponed() resp.Value {
	s := b.session
	defer s.engine.pause.Finished(&b.postponed.Command)
	if !b.postponed.released {
		return b.reply
	}
	s.work.req = b.postponed.request
	return s.do(b.postponed.args)
}

// apply drops the reply of a command that has ended if CLIENT REPLY says so.
func (y *answers) apply(reply resp.Value) resp.Value {
	mode := y.mode
	switch mode {
	case replySkipNext:
		y.mode = replySkip
	case replySkip:
		y.mode = replyOn
	}
	if mode == replyOn || y.session.work.req.answered {
		return reply
	}
	return resp.None
}

// dispatch decides whether args run now, are queued, or are refused.
func (s *Session) dispatch(args [][]byte) resp.Value {
	cmd, refusal := s.engine.table.Resolve(args)
	if cmd == nil {
		if isHTTP(args[0]) {
			s.ending.closing, s.ending.aborted = true, true
			return resp.None
		}
		if cmd = s.called(args); cmd == nil {
			return s.work.calls.refused(s.tx.reject(nil, refusal))
		}
	}
	s.work.calls.begins(cmd)
	if cmd.Is(commands.ByPolicy) && !refusal.IsError() && !s.work.req.rewritten {
		args = s.work.byPolicy(args)
	}
	if !refusal.IsError() {
		refusal = s.admit(cmd, args)
	}
	if refusal.IsError() {
		s.work.calls.run.Rejected++
		return s.work.calls.refused(s.tx.reject(cmd, refusal))
	}
	if isPaused(s, cmd, args) || s.who.postpones(cmd, args) {
		return resp.None
	}
	if s.tx.open && !cmd.Is(commands.Immediate) {
		if refusal := s.exec.refuseQueued(cmd, args); refusal.IsError() {
			s.work.calls.run.Rejected++
			return s.work.calls.refused(s.tx.reject(cmd, refusal))
		}
		if !s.tx.broken && !s.tx.watch.Dirty() { // else EXEC runs nothing
			s.tx.add(cmd, args)
		}
		return resp.Queued
	}
	reply := s.exec.execute(cmd, args)
	s.work.calls.run.Calls++ // only now, as in Redis: INFO does not count itself
	if s.work.calls.failed(&reply) {
		s.work.calls.run.Failed++
	}
	return reply
}

// isPaused reports whether a pause postpones a command of the session, which is blocked then.
func isPaused(s *Session, cmd *commands.Command, args [][]byte) bool {
	kind := s.engine.pause.Kind()
	if kind == pause.Nothing || s.work.req.resumed || s.seen.monitoring ||
		s.peer.Owner && s.side.follows == nil {
		return false
	}
	least := pause.All
	if s.tx.anyRuns(cmd, args, (*commands.Command).Replicates) {
		least = pause.Writes
	}
	if least > kind {
		return false
	}
	c := &postponedCommand{Command: pause.Command{Least: least}}
	return s.engine.pause.Postpone(&c.Command, func() { s.postpone(c, args) })
}

// called returns the row that args name, whatever their number, or nil.
func (s *Session) called(args [][]byte) *commands.Command {
	cmd := s.engine.table.Lookup(args[0])
	if cmd != nil && cmd.Subs != nil && len(args) > 1 {
		return cmd.Sub(args[1])
	}
	return cmd
}

// isHTTP reports whether a command is the start of an HTTP request, by which a web
// page makes a browser talk to a port of its user's machine. Redis hangs up, too.
func isHTTP(name []byte) bool {
	return commands.EqualFold(name, "post") || commands.EqualFold(name, "host:")
}

// endCaching ends the effect of CLIENT CACHING after the command args, unless that
// is a subcommand of CLIENT or a transaction is open.
func (s *Session) endCaching(args [][]byte) {
	cmd := s.called(args)
	if !s.tx.open && (cmd == nil || !strings.HasPrefix(cmd.FullName(), "client")) {
		s.tracking.Caching = false
	}
}

// byPolicy returns the arguments that the policies make of a call's.
func (w *Work) byPolicy(args [][]byte) [][]byte {
	w.calls.session.EndCall() // which may look at the words of the call before
	if w.policies == nil {
		w.policies = new(policy.Matcher)
	}
	w.req.rewritten = true
	return w.engine.cfg.policies.Set().Rewrite(w.policies, args)
}

// Refuse returns an error reply for a command that the caller does not pass to Do.
// EXEC then fails as after every error.
func (s *Session) Refuse(text string) resp.Value {
	s.EndCall()
	return s.tx.reject(nil, resp.Error(text))
}

var (
	nameOfCheck = []byte("rl.check")
	nameOfAllow = []byte("rl.allow")
)

// Check runs a call of RL.CHECK that policy.Matcher.Call has made, as Session.Do does, whatever
// rename-command calls the command.
func Check(s *Session, words [][]byte) resp.Value {
	s.work.req = request{rewritten: true}
	return doOwn(s, nameOfCheck, words)
}

// Allow runs a call of RL.ALLOW, as Session.Do does, whatever rename-command calls the command.
func Allow(s *Session, words [][]byte) resp.Value {
	s.work.req = request{}
	return doOwn(s, nameOfAllow, words)
}

// doOwn runs a call of the command with this name, whatever clients call it.
func doOwn(s *Session, name []byte, words [][]byte) resp.Value {
	if cmd := s.engine.table.Own(name); cmd.Called != cmd.Name {
		words[0] = []byte(cmd.Called)
	}
	return s.do(words)
}

// ChecksWait reports whether a call of RL.CHECK may wait: for an upstream, for the disk, or for the end of a
// pause.
func (e *Engine) ChecksWait() bool {
	return e.pause.On() || e.options.Upstream != nil ||
		e.cfg.Bool("appendonly") && e.cfg.String("appendfsync") == "always"
}
