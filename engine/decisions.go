package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
)

// Top returns the keys that RL.TOP lists, and rl-top-sampling: how many decisions one that
// was counted stands for, 0 if rl-top is no.
func (e *Engine) Top(q rl.TopQuery) (report rl.TopReport, sampling uint32) {
	if q.Keep == nil {
		q.Keep = func(string) bool { return true }
	}
	if q.NowMs == 0 {
		q.NowMs = e.clock.NowUs() / 1000
	}
	return e.stats.Top.Top(&q), e.stats.Top.Sampling()
}

// setTracer makes the handlers record decisions, or not.
func (w *watching) setTracer(on bool) {
	s := w.session
	s.work.calls.limits.Tracer = nil
	if on {
		s.work.calls.limits.Tracer = &s.engine.observers.traces
	}
}

// observe sets the observer of the command, script or EXEC that begins, if rl-doctor is on.
func (w *watching) observe() {
	s := w.session
	if w.observer == nil {
		newClient := s.engine.observers.doctor.NewClient
		if s.peer.Owner {
			newClient = s.engine.observers.doctor.NewOwnClient
		}
		w.observer = newClient(s.id, s.shown.label)
	}
	if w.observer.Begin() {
		s.work.ctx.Env.ObserveBy(w.observer)
	} else {
		s.work.ctx.Env.ObserveBy(nil)
	}
}

// endObserver is called when the session ends.
func (w *watching) endObserver() {
	if w.observer != nil && w.session.peer.Owner {
		w.session.engine.observers.doctor.End(w.observer)
		w.observer = nil
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

// byPolicy returns the arguments that the policies make of a call's.
func (w *Work) byPolicy(args [][]byte) [][]byte {
	w.calls.session.EndCall() // which may look at the words of the call before
	if w.policies == nil {
		w.policies = new(policy.Matcher)
	}
	w.req.rewritten = true
	return w.engine.cfg.policies.Set().Rewrite(w.policies, args)
}

var (
	nameOfCheck = []byte("rl.check")
	nameOfAllow = []byte("rl.allow")
)

// Check runs a call of RL.CHECK that policy.Matcher.Call has made, as Session.Do does, whatever
// rename-command calls the command.
func Check(s *Session, words [][]byte) resp.Value {
	return doOwn(s, nameOfCheck, words, request{rewritten: true})
}

// Allow runs a call of RL.ALLOW, as Session.Do does, whatever rename-command calls the command.
func Allow(s *Session, words [][]byte) resp.Value {
	return doOwn(s, nameOfAllow, words, request{})
}

// doOwn runs a call of the command with this name, whatever clients call it.
func doOwn(s *Session, name []byte, words [][]byte, r request) resp.Value {
	if cmd := s.engine.table.Own(name); cmd.Called != cmd.Name {
		words[0] = []byte(cmd.Called)
	}
	return s.do(words, r)
}

// ChecksWait reports whether a call of RL.CHECK may wait: for an upstream, for the disk, or for the end of a
// pause.
func (e *Engine) ChecksWait() bool {
	return e.pause.on() || e.options.Upstream != nil ||
		e.cfg.Bool("appendonly") && e.cfg.String("appendfsync") == "always"
}
