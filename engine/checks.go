package engine

import (
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
)

// Calls of RL.CHECK become calls about keys before anything looks at their keys: the policies say which.

// byPolicy returns the arguments that the policies make of a call's.
func (w *Work) byPolicy(args [][]byte) [][]byte {
	w.calls.session.EndCall() // which may look at the words of the call before
	if w.policies == nil {
		w.policies = new(policy.Matcher)
	}
	w.req.rewritten = true
	return w.engine.cfg.policies.Set().Rewrite(w.policies, args)
}

var nameOfCheck = []byte("rl.check")

// Check runs a call of RL.CHECK that policy.Matcher.Call has made, as Session.Do does, whatever
// rename-command calls the command.
func Check(s *Session, words [][]byte) resp.Value {
	if cmd := s.engine.table.Own(nameOfCheck); cmd.Called != cmd.Name {
		words[0] = []byte(cmd.Called)
	}
	return s.do(words, request{rewritten: true})
}

// ChecksWait reports whether a call of RL.CHECK may wait, for an upstream or for the disk.
func (e *Engine) ChecksWait() bool {
	return e.options.Upstream != nil || e.cfg.Bool("appendonly") && e.cfg.String("appendfsync") == "always"
}
