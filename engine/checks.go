package engine

import (
	"github.com/zlimit/zlimit/policy"
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
