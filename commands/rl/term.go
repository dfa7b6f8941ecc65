package rl

import (
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A term is a key and what a call asks of it: limits and windows under an algorithm, or one of a number of
// slots. RL.ALLOW has one, RL.MALLOW one for each key. A session reuses its terms: reset makes one ready for
// the next call, open for its key.
type term struct {
	name []byte // of the key
	limiter.Call
	quotas [limiter.MaxQuotas]limiter.Quota // of slots their number and the milliseconds of a lease
	n      int                              // number of quotas
	algo   *algorithm
	param  int64  // value of algo.param
	id     []byte // of slots: who takes one
	full   bool   // of RL.ALLOW
	shadow bool   // of RL.ALLOW; see AdmitShadow
	waitMs int64  // of RL.ALLOW; 0: it does not wait
	policy []byte // of RL.CHECK: what its decisions are counted under; nil: nothing
	zero   bool   // of RL.CHECK: it asks for no unit
	seen   optionSet

	node       *store.Node // nil: the key does not exist
	expireAtMs int64       // 0: none
	content    content
	d          limiter.Decision

	log    logKey
	leases leaseKey
	state  stateKey
}

// A content is what the key of a term holds, at the instant of the call.
type content interface {
	// decide sets t.d to the answer to t.Call and changes nothing.
	decide(c *commands.Ctx, t *term) resp.Value
	// record sets t.d to the change that takes units whatever the limit says, for work already done.
	record(c *commands.Ctx, t *term, units int64) resp.Value
	// subject returns what RL.EXPLAIN explains; nil: it refuses the content.
	subject() limiter.Subject
	// apply carries the change of t.d out. If there is no key the caller has called reserve.
	apply(c *commands.Ctx, t *term)
	// held returns how many of the units that a hold took still count.
	held(c *commands.Ctx, t *term, h *heldTerm) int64
	// giveBack gives n of them back, at least 1.
	giveBack(c *commands.Ctx, t *term, h *heldTerm, n int64)
	// refund gives the newest n units back, or as many as count, and returns how many.
	refund(c *commands.Ctx, t *term, n int64) resp.Value
}

func (t *term) reset() {
	t.Call, t.algo = limiter.Call{Cost: 1}, defaultAlgorithm
	t.n, t.param, t.id, t.full, t.shadow, t.waitMs, t.seen = 0, 0, nil, false, false, 0, 0
	t.policy, t.zero = nil, false
}

// open looks the key up. It fails if the key holds anything but state of the algorithm.
func (t *term) open(c *commands.Ctx) (refusal resp.Value) {
	return t.view(c, c.DB.Find(t.name, c.NowMs))
}

// view is open for a key that was looked up.
func (t *term) view(c *commands.Ctx, n *store.Node) (refusal resp.Value) {
	t.node, t.expireAtMs = n, 0
	if n != nil {
		t.expireAtMs, _ = n.Value.ExpireAtMs()
	}
	return t.algo.stateError(c, n, t.algo.open(c, t))
}

// decide opens the key and answers the call, which changes nothing yet.
func (t *term) decide(c *commands.Ctx) (refusal resp.Value) {
	if refusal = t.open(c); !refusal.IsError() {
		refusal = t.content.decide(c, t)
	}
	return refusal
}

// creates reports whether the change of t.d makes a key.
func (t *term) creates() bool { return t.node == nil && t.d.Units > 0 }

// parse parses and validates the arguments after the key of RL.ALLOW.
func (t *term) parse(args [][]byte, allowed optionSet) resp.Value {
	if refusal := t.parseArgs(args, allowed); refusal.IsError() {
		return refusal
	}
	return t.validate()
}

// parseArgs is parse without validation.
func (t *term) parseArgs(args [][]byte, allowed optionSet) (refusal resp.Value) {
	t.reset()
	r := optionReader{options: options{args}, allowed: allowed}
	if refusal = t.parseQuotas(&r.options, allowed); refusal.IsError() {
		return refusal
	}
	return t.parseOptions(&r, 0)
}

// parseQuotas parses limits and windows, up to an option.
func (t *term) parseQuotas(o *options, allowed optionSet) (refusal resp.Value) {
	for t.n == 0 || o.more() && parseOption(o.rest[0], allowed) == 0 {
		if refusal = t.appendQuota(o); refusal.IsError() {
			return refusal
		}
	}
	return resp.None
}

func (t *term) validate() resp.Value {
	if !t.algo.multiQuota && t.n > 1 {
		return errOneQuota
	}
	if err := t.algo.validate(t); err != nil {
		return t.algo.refuse(err)
	}
	return resp.None
}

func (t *term) appendQuota(o *options) (refusal resp.Value) {
	if len(o.rest) == 0 {
		return commands.SyntaxError("a limit and its window are missing")
	}
	limit := o.value()
	_, number := store.ParseInt(limit)
	switch {
	case t.n > 0 && !number:
		return commands.SyntaxError(commands.Quote(limit) + " is neither a limit nor an option")
	case !o.more():
		return commands.SyntaxError("the limit " + commands.Quote(limit) + " has no window")
	case t.n == len(t.quotas):
		return errManyQuotas
	}
	t.quotas[t.n], refusal = parseQuota(limit, o.value())
	t.n++
	return refusal
}

func parseQuota(limit, window []byte) (q limiter.Quota, refusal resp.Value) {
	var ok bool
	if q.Limit, ok = store.ParseInt(limit); !ok {
		return q, errLimitNumber
	}
	if err := q.SetWindow(window); err != nil {
		return q, errorIn(err, windowErrors, rlErrors)
	}
	return q, resp.None
}

// parseOptions parses the arguments after the limits and windows, up to the name of an option in until.
func (t *term) parseOptions(r *optionReader, until optionSet) (refusal resp.Value) {
	for r.more() && parseOption(r.rest[0], until) == 0 {
		var option optionSet
		option, refusal = r.next()
		switch option {
		case optCost:
			t.Cost, refusal = r.number(errCostMissing, errCostNumber)
		case optAtMost:
			t.AtMost = true
		case optPeek:
			t.Peek = true
		case optFull:
			t.full = true
		case optShadow:
			t.shadow = true
		case optAlgo:
			refusal = t.parseAlgorithm(&r.options)
		case optWait:
			t.waitMs, refusal = r.duration("WAIT")
		case optPolicy:
			t.policy, refusal = r.name()
		}
		if refusal.IsError() {
			return refusal
		}
		t.seen = r.seen
	}
	return checkWait(t.waitMs, t.Peek || t.Cost == 0, t.shadow)
}

func (t *term) parseAlgorithm(o *options) (refusal resp.Value) {
	if !o.more() {
		return commands.SyntaxError("ALGO needs " + algoAlternatives((*algorithm).syntax))
	}
	name := o.value()
	if t.algo = algorithmByName(name); t.algo == nil {
		return resp.Error("ERR ALGO " + commands.Quote(name) + " is not " +
			algoAlternatives((*algorithm).nameOnly))
	}
	if p := t.algo.param; p != nil {
		t.param, refusal = o.number(p.missing, p.wrong)
	}
	return refusal
}

// maxTerms is the maximum number of terms of a call.
const maxTerms = 16

// A termForm is what calls with terms have beside limits and windows.
type termForm struct {
	of    optionSet // options of a term
	after optionSet // those behind the last term
	zero  bool      // a term may ask for no unit
}

const (
	termOptions = optCost | optAlgo
	nextTerm    = optTerm
)

var (
	mallowForm = termForm{of: termOptions, after: jointOptions}
	holdForm   = termForm{of: termOptions, after: holdOptions}
	checkForm  = termForm{of: termOptions | optPolicy, after: checkOptions, zero: true}
)

// parseTerms parses a term for each key: TERM limit window [limit window ...] [ALGO algorithm] [COST n], or
// TERM SLOTS max LEASE ms. It leaves o at what follows the last term.
func parseTerms(terms []term, keys [][]byte, o *options, form *termForm) (refusal resp.Value) {
	for i := range terms {
		t := &terms[i]
		t.reset()
		t.name = keys[i]
		if !o.more() || parseOption(o.rest[0], nextTerm) == 0 {
			return commands.SyntaxError("key " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(keys)) +
				" has no TERM")
		}
		o.value()
		if o.more() && parseOption(o.rest[0], optSlots) != 0 {
			o.value()
			if refusal = t.parseSlots(o); refusal.IsError() {
				return refusal
			}
			continue
		}
		if refusal = t.parseQuotas(o, form.of|nextTerm|form.after); refusal.IsError() {
			return refusal
		}
		r := optionReader{options: *o, allowed: form.of}
		refusal = t.parseOptions(&r, nextTerm|form.after)
		*o = r.options
		switch {
		case refusal.IsError():
			return refusal
		case t.Cost == 0 && !form.zero:
			return errTermCost
		}
		if refusal = t.validate(); refusal.IsError() {
			return refusal
		}
	}
	if o.more() && parseOption(o.rest[0], nextTerm) != 0 {
		return commands.SyntaxError("more terms than " + strconv.Itoa(len(keys)) + " keys")
	}
	if name := duplicate(keys, 1); name != nil {
		return NamedTwice(name)
	}
	return resp.None
}

// allowIsReadOnly reports whether a call of RL.ALLOW changes nothing. It may take a
// value for an option only in calls that fail.
func allowIsReadOnly(args [][]byte) bool { return isPeek(args[4:]) }

func isPeek(options [][]byte) bool {
	for i, word := range options {
		if commands.EqualFold(word, "peek") ||
			commands.EqualFold(word, "cost") && i+1 < len(options) && string(options[i+1]) == "0" {
			return true
		}
	}
	return false
}
