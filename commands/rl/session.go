package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
)

// A Session counts and traces the decisions of one session. It is Env.Limits of the
// session's calls; without one they are counted nowhere.
type Session struct {
	Tracer  Tracer // records decisions about single keys; nil: none is traced
	Sampler TopSampler

	// The session regularly adds these to INFO's totals, which avoids contention.
	Decisions []Decisions // by Decider; nil: none so far
	Prefixes  PrefixTally // of Settings.StatsPrefixes

	// Scratch space, in use during one call.
	terms   []term
	held    []heldTerm
	buckets []int64
	text    []byte
	name    []byte // of a hold
	oldName []byte // of one of 0.1.0
}

func session(c *commands.Ctx) *Session {
	if c.Env == nil {
		c.Env = &commands.Env{}
	}
	s, ok := c.Env.Limits.(*Session)
	if !ok {
		s = &Session{}
		c.Env.Limits = s
	}
	return s
}

// newTerm returns scratch space for the arguments of a call with one key.
func (s *Session) newTerm() *term { return &s.newTerms(1)[0] }

// newTerms returns scratch space for n terms, at most maxTerms.
func (s *Session) newTerms(n int) []term {
	if len(s.terms) < n {
		s.terms = make([]term, n)
	}
	return s.terms[:n]
}

// newHeld returns scratch space for so many terms of a hold.
func (s *Session) newHeld(n int) []heldTerm {
	if len(s.held) < n {
		s.held = make([]heldTerm, n)
	}
	return s.held[:n]
}

// maxScratch is the largest text that is kept as scratch space: names and ids can be longer.
const maxScratch = 4 << 10

// keepText keeps a text as scratch space, whose content may be overwritten.
func keepText(to *[]byte, text []byte) {
	if cap(text) <= maxScratch {
		*to = text
	}
}

func (s *Session) decisions(d Decider) *Decisions {
	if s.Decisions == nil {
		s.Decisions = make([]Decisions, NumDeciders())
	}
	return &s.Decisions[d]
}

// count counts a decision about a key.
func (s *Session) count(c *commands.Ctx, by Decider, key []byte, o outcome) {
	s.decisions(by).count(o)
	if d := s.prefixDecisions(c, by, key); d != nil {
		d.count(o)
	}
}

// prefixDecisions returns where to count decisions of a key, or nil if that is nowhere.
func (s *Session) prefixDecisions(c *commands.Ctx, by Decider, key []byte) *Decisions {
	p := c.Settings.StatsPrefixes
	if p == nil {
		return nil
	}
	i := p.Find(key)
	if i < 0 {
		return nil
	}
	return s.Prefixes.at(i*NumDeciders()+int(by), p.Len()*NumDeciders())
}

// observe counts a decision about a key for RL.TOP, if it is in the sample.
func (s *Session) observe(c *commands.Ctx, key []byte, denied bool, q limiter.Quota) {
	if c.Settings.TopSampling != 0 {
		s.Sampler.sample(c, key, denied, q)
	}
}

// trace records a decision about a key. A cost of 0 is a peek, which is not recorded.
func (s *Session) trace(c *commands.Ctx, key []byte, call limiter.Call, granted int64) {
	if s.Tracer != nil && !call.Peek && call.Cost > 0 {
		s.Tracer.Record(c.DBIndex, key, TracedDecision{c.NowMs, call.Cost, call.AtMost, granted})
	}
}
