package rl

import (
	"bytes"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlHoldRows = []commands.Command{
	{
		Name: "rl.reserve", Arity: -9, Flags: commands.Write | commands.DenyOOM | commands.Fast,
		Keys:  holdKeys(key("RW access update")[0], 1, reserveID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlReserve,
		Syntax:  "key limit window estimate HOLD milliseconds ID id [ALGO algorithm]",
		Summary: "Admits work by an estimate of its cost, which RL.SETTLE corrects.",
		Example: "tokens:42 10000 1m 500 HOLD 30s ID request-1",
	},
	{
		Name: "rl.mreserve", Arity: -10, Flags: commands.Write | commands.DenyOOM | commands.Fast,
		Keys:  holdKeys(commands.CountedKeys(1, "RW access update"), 2, mreserveID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K*log(N)) with K keys", Handler: rlMReserve,
		Syntax: "numkeys key [key ...] " + termSyntax + " HOLD milliseconds ID id [FULL]",
		Summary: "Admits work by estimates of its costs if every one of several keys does, " +
			"until RL.MSETTLE corrects them.",
		Example: "3 {42}:requests {42}:tokens {42}:jobs TERM 60 1m TERM 90000 1m COST 1500 " +
			"TERM SLOTS 10 LEASE 1m HOLD 1m ID request-1",
	},
	{
		Name: "rl.settle", Arity: 4, Flags: commands.Write | commands.Fast,
		Keys:  holdKeys(key("RW access update")[0], 1, settleID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlSettle,
		Syntax:  "key id actual",
		Summary: "Corrects what RL.RESERVE took to what the work has cost.",
		Example: "tokens:42 request-1 430",
	},
	{
		Name: "rl.msettle", Arity: -5, Flags: commands.Write | commands.Fast,
		Keys:  holdKeys(commands.CountedKeys(1, "RW access update"), 2, msettleID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K*log(N)) with K keys", Handler: rlMSettle,
		Syntax:  "numkeys key [key ...] id actual [actual ...]",
		Summary: "Corrects what RL.MRESERVE took of each key to what the work has cost, and frees slots.",
		Example: "3 {42}:requests {42}:tokens {42}:jobs request-1 1 1430 0",
	},
	{
		Name: "rl.cancel", Arity: 3, Flags: commands.Write | commands.Fast,
		Keys:  holdKeys(key("RW access update")[0], 1, settleID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlCancel,
		Syntax:  "key id",
		Summary: "Refunds what RL.RESERVE took.",
		Example: "tokens:42 request-1",
	},
	{
		Name: "rl.mcancel", Arity: -4, Flags: commands.Write | commands.Fast,
		Keys:  holdKeys(commands.CountedKeys(1, "RW access update"), 2, msettleID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(K*log(N)) with K keys", Handler: rlMCancel,
		Syntax:  "numkeys key [key ...] id",
		Summary: "Refunds what RL.MRESERVE took of each key, and frees its slots.",
		Example: "3 {42}:requests {42}:tokens {42}:jobs request-1",
	},
}

// holdKeys returns the keys of a command about a hold. The first of them is argument first; find returns the
// id, or nil if it is refused.
func holdKeys(keys commands.KeySpec, first int, find func(args [][]byte) []byte) []commands.KeySpec {
	named := func(old bool, notes string) commands.KeySpec {
		return commands.KeySpec{
			Flags: "RW access update", Notes: notes, First: 1, Step: 1,
			Unslotted: old, // a hold of 0.1.0 was made without slots
			Derive: func(args [][]byte) (parts commands.NameParts) {
				key := args[first]
				if old && hasBraces(key) {
					return parts // before the search for the id
				}
				switch id := find(args); {
				case checkID(id).IsError():
				case old:
					parts = oldHoldName(key, id)
				default:
					parts = holdName(key, id)
				}
				return parts
			},
		}
	}
	return []commands.KeySpec{
		keys,
		named(false, "the hold: the first key, ':hold:', the key as a hash tag and ':' if it has none, "+
			"and the id"),
		named(true, "a hold of 0.1.0: the first key, ':hold:' and the id"),
	}
}

// reserveID returns the id of RL.RESERVE.
func reserveID(args [][]byte) []byte { return idAmong(args[5:]) }

func mreserveID(args [][]byte) []byte {
	keys, refusal := countedKeys(args)
	if refusal.IsError() {
		return nil
	}
	return idAmong(args[2+len(keys):])
}

// idAmong returns the id among options, if it is valid in a call that does not fail. They are the last of the
// call's arguments: at most seven with their values.
func idAmong(args [][]byte) []byte {
	for at := max(len(args)-7, 0); at+1 < len(args); at++ {
		switch parseOption(args[at], optHold|optID) {
		case optHold:
			at++
		case optID:
			return args[at+1]
		}
	}
	return nil
}

func settleID(args [][]byte) []byte { return args[2] }

func msettleID(args [][]byte) []byte {
	keys, refusal := countedKeys(args)
	if refusal.IsError() || len(args) < 3+len(keys) {
		return nil
	}
	return args[2+len(keys)]
}

func checkID(id []byte) resp.Value {
	switch {
	case len(id) == 0:
		return errIDEmpty
	case len(id) > maxID:
		return errIDLong
	}
	return resp.None
}

// holdCall is the options of a call that makes a hold.
type holdCall struct {
	command decides
	holdMs  int64
	id      []byte
	full    bool
}

// parse parses HOLD, ID and others that are allowed. t takes ALGO.
func (h *holdCall) parse(o options, allowed optionSet, t *term) (refusal resp.Value) {
	r := optionReader{options: o, allowed: allowed}
	for r.more() {
		var option optionSet
		option, refusal = r.next()
		switch option {
		case optHold:
			h.holdMs, refusal = r.duration("HOLD")
		case optID:
			h.id, refusal = r.id()
		case optFull:
			h.full = true
		case optShadow:
			refusal = errShadowHold
		case optAlgo:
			refusal = t.parseAlgorithm(&r.options)
		}
		if refusal.IsError() {
			return refusal
		}
	}
	switch {
	case r.seen&optHold == 0:
		return errHoldMissing
	case r.seen&optID == 0:
		return errIDMissing
	}
	return resp.None
}

// RL.RESERVE key limit window estimate HOLD ms ID id [ALGO algorithm]
//
// The reply is that of RL.ALLOW key limit window COST estimate. If the id has a hold,
// the call changes nothing and repeats the first reply.
func rlReserve(c *commands.Ctx) resp.Value {
	terms := session(c).newTerms(1)
	h, refusal := parseReserve(c, &terms[0])
	if refusal.IsError() {
		return refusal
	}
	if _, refusal := takeHold(c, terms, c.Args[1:2], &h); refusal.IsError() {
		return refusal
	}
	return DecisionReply(c, &terms[0].d, 0)
}

func parseReserve(c *commands.Ctx, t *term) (h holdCall, refusal resp.Value) {
	t.reset()
	h.command = reserves
	t.name, t.n = c.Args[1], 1
	if t.quotas[0], refusal = parseQuota(c.Args[2], c.Args[3]); refusal.IsError() {
		return h, refusal
	}
	estimate, ok := store.ParseInt(c.Args[4])
	if !ok {
		return h, errEstimateNumber
	}
	if refusal = h.parse(options{c.Args[5:]}, reserveOptions, t); refusal.IsError() {
		return h, refusal
	}
	t.Cost = max(estimate, 1)
	if refusal = t.validate(); refusal.IsError() {
		return h, refusal
	}
	if estimate < 1 {
		return h, errEstimate
	}
	return h, resp.None
}

// RL.MRESERVE numkeys key [key ...] TERM ... HOLD ms ID id [FULL]
//
// Terms and the reply are those of RL.MALLOW. A term's cost is an estimate. If the id has a hold over these
// keys, the call changes nothing and repeats the first reply.
func rlMReserve(c *commands.Ctx) resp.Value {
	terms, h, refusal := parseMReserve(c, session(c).newTerms)
	if refusal.IsError() {
		return refusal
	}
	binding, refusal := takeHold(c, terms, c.Args[2:2+len(terms)], &h)
	if refusal.IsError() {
		return refusal
	}
	return jointReply(c, terms, binding, &terms[binding].d, h.full, 0)
}

func parseMReserve(c *commands.Ctx, newTerms func(n int) []term) (
	terms []term, h holdCall, refusal resp.Value,
) {
	keys, refusal := countedKeys(c.Args)
	if refusal.IsError() {
		return nil, h, refusal
	}
	terms = newTerms(len(keys))
	o := options{c.Args[2+len(keys):]}
	if refusal = parseTerms(terms, keys, &o, &holdForm); refusal.IsError() {
		return nil, h, refusal
	}
	h.command = mreserves
	refusal = h.parse(o, holdOptions, nil)
	for i := range terms {
		terms[i].id = h.id
	}
	return terms, h, refusal
}

// takeHold decides all terms, and if all admit takes their units and makes the hold. If there is one it sets
// the terms' decisions to the first reply. It returns the binding term.
func takeHold(c *commands.Ctx, terms []term, keys [][]byte, r *holdCall) (binding int, refusal resp.Value) {
	h, name, refusal := findHold(c, keys, r.id)
	if refusal.IsError() {
		return 0, refusal
	}
	if h.node != nil {
		for i := range terms {
			t := &h.terms[i]
			terms[i].d = limiter.Decision{
				Allowed: t.Units, Limit: t.Limit, Remaining: t.remaining, ResetAfterMs: t.reset,
			}
		}
		return int(h.binding), resp.None
	}
	for i := range terms {
		t := &terms[i]
		if i > 0 && bytes.Equal(t.name, name) {
			return 0, NamedTwice(t.name)
		}
		if refusal = t.decide(c); refusal.IsError() {
			return 0, refusal
		}
		if i > 0 && t.d.Binds(&terms[binding].d) {
			binding = i
		}
	}
	if terms[binding].d.Allowed == 0 {
		withdraw(c, terms)
		countReserve(c, r.command, terms, keys, binding, 0)
		return binding, resp.None
	}
	if refusal = reserveHold(c, keys, name); refusal.IsError() {
		return 0, refusal
	}
	units := int64(0)
	for i := range terms {
		t := &terms[i]
		t.content.apply(c, t)
		markFullness(c, t.name, &t.d)
		units += t.d.Units
	}
	countReserve(c, r.command, terms, keys, binding, units)
	makeHold(c, name, &h, terms, binding, r)
	return binding, resp.None
}

// countReserve counts a decision of RL.RESERVE or RL.MRESERVE that granted units in all.
func countReserve(c *commands.Ctx, command decides, terms []term, keys [][]byte, binding int, units int64) {
	j := jointCall{
		command: command, names: keys, step: 1, terms: terms, by: terms[binding].algo, binding: binding,
		units: units,
	}
	countJoint(c, &j, &terms[binding].d)
}

// makeHold stores the hold of what terms took.
func makeHold(c *commands.Ctx, name []byte, h *hold, terms []term, binding int, r *holdCall) {
	h.idLen, h.binding, h.terms = int64(len(r.id)), int64(binding), session(c).newHeld(len(terms))
	for i := range terms {
		t := &terms[i]
		longest := t.quotas[0]
		for _, q := range t.quotas[1:t.n] {
			longest.WindowMs = max(longest.WindowMs, q.WindowMs)
		}
		longest.Limit = t.d.Limit
		h.terms[i] = heldTerm{
			key: t.name, algo: t.algo, param: t.param, remaining: t.d.Remaining, reset: t.d.ResetAfterMs,
			Taking: limiter.Taking{
				Quota: longest, Units: t.d.Units, Place: t.d.Place(),
			},
		}
	}
	line := h.line(c)
	s := &store.String{}
	s.SetBytes(line)
	n := c.DB.Add(name, s)
	c.DB.SetFullness(name, store.Full, c.NowMs) // evicted late: its units are consumed
	c.DB.ExpireAt(n, c.NowMs+r.holdMs)
	c.DB.Touch(n)
	c.DidSet(name, line, c.NowMs+r.holdMs)
}

// parseDuration parses a duration, in the syntax of windows.
func parseDuration(name string, arg []byte) (ms int64, refusal resp.Value) {
	ms, err := limiter.ParseWindow(arg)
	if err != nil {
		return 0, durationError(name, err)
	}
	return ms, resp.None
}

// RL.SETTLE key id actual
//
// The reply is the number of units that now count for the work and the excess over
// the estimate, or 0 if the id has no hold.
func rlSettle(c *commands.Ctx) resp.Value {
	actual, refusal := parseSettle(c)
	if refusal.IsError() {
		return refusal
	}
	terms, refusal := settleHold(c, c.Args[1:2], c.Args[2], []int64{actual})
	switch {
	case refusal.IsError():
		return refusal
	case terms == nil:
		return resp.Int(0)
	}
	return resp.Array(append(c.Values(2), resp.Int(terms[0].counted), resp.Int(terms[0].excess))...)
}

// parseSettle returns the units that the work of RL.SETTLE has cost.
func parseSettle(c *commands.Ctx) (actual int64, refusal resp.Value) {
	if refusal = checkID(c.Args[2]); refusal.IsError() {
		return 0, refusal
	}
	return parseActual(c.Args[3])
}

func parseActual(arg []byte) (actual int64, refusal resp.Value) {
	return notNegative(arg, errActualNumber, errActualNegative)
}

// RL.MSETTLE numkeys key [key ...] id actual [actual ...]
//
// The reply is an array with the two integers of RL.SETTLE for each key, or 0 if the id has no hold. Slots
// end, and have the integers 0 and 0.
func rlMSettle(c *commands.Ctx) resp.Value {
	keys, id, actuals, refusal := parseMSettle(c)
	if refusal.IsError() {
		return refusal
	}
	terms, refusal := settleHold(c, keys, id, actuals[:len(keys)])
	switch {
	case refusal.IsError():
		return refusal
	case terms == nil:
		return resp.Int(0)
	}
	reply := c.Values(len(keys))
	for i := range terms {
		pair := append(c.Values(2), resp.Int(terms[i].counted), resp.Int(terms[i].excess))
		reply = append(reply, resp.Array(pair...))
	}
	return resp.Array(reply...)
}

func parseMSettle(c *commands.Ctx) (keys [][]byte, id []byte, actuals [maxTerms]int64, refusal resp.Value) {
	if keys, id, refusal = parseMany(c); refusal.IsError() {
		return nil, nil, actuals, refusal
	}
	args := c.Args[3+len(keys):]
	if len(args) != len(keys) {
		return nil, nil, actuals, wrongActuals(len(keys), len(args))
	}
	for i, arg := range args {
		if actuals[i], refusal = parseActual(arg); refusal.IsError() {
			return nil, nil, actuals, refusal
		}
	}
	return keys, id, actuals, resp.None
}

// parseMany returns the keys and the id of RL.MSETTLE and RL.MCANCEL.
func parseMany(c *commands.Ctx) (keys [][]byte, id []byte, refusal resp.Value) {
	keys, refusal = countedKeys(c.Args)
	switch {
	case refusal.IsError():
		return nil, nil, refusal
	case len(c.Args) < 3+len(keys):
		return nil, nil, errIDMissing
	}
	id = c.Args[2+len(keys)]
	return keys, id, checkID(id)
}

// RL.CANCEL key id
//
// RL.CANCEL is RL.SETTLE with 0. The reply is the number of units released.
func rlCancel(c *commands.Ctx) resp.Value {
	if refusal := checkID(c.Args[2]); refusal.IsError() {
		return refusal
	}
	terms, refusal := settleHold(c, c.Args[1:2], c.Args[2], []int64{0})
	switch {
	case refusal.IsError():
		return refusal
	case terms == nil:
		return resp.Int(0)
	}
	return resp.Int(terms[0].released)
}

// RL.MCANCEL numkeys key [key ...] id
//
// The reply is an array with the units released of each key, 1 for a slot, or 0 if the id has no hold.
func rlMCancel(c *commands.Ctx) resp.Value {
	keys, id, refusal := parseMCancel(c)
	if refusal.IsError() {
		return refusal
	}
	var none [maxTerms]int64
	terms, refusal := settleHold(c, keys, id, none[:len(keys)])
	switch {
	case refusal.IsError():
		return refusal
	case terms == nil:
		return resp.Int(0)
	}
	reply := c.Values(len(keys))
	for i := range terms {
		reply = append(reply, resp.Int(terms[i].released))
	}
	return resp.Array(reply...)
}

func parseMCancel(c *commands.Ctx) (keys [][]byte, id []byte, refusal resp.Value) {
	keys, id, refusal = parseMany(c)
	if !refusal.IsError() && len(c.Args) != 3+len(keys) {
		refusal = commands.WrongArity(c.Cmd)
	}
	return keys, id, refusal
}

// settleHold settles the hold of an id and returns its terms, nil if it has none. A hold that is already
// settled does not change. If a key refuses what it would have to change, nothing is changed.
func settleHold(c *commands.Ctx, keys [][]byte, id []byte, actuals []int64) (
	settled []heldTerm, refusal resp.Value,
) {
	h, name, refusal := findHold(c, keys, id)
	switch {
	case refusal.IsError() || h.node == nil:
		return nil, refusal
	case h.settled:
		return h.terms, resp.None
	}
	terms := session(c).newTerms(len(keys))
	for i := range terms {
		t, held := &terms[i], &h.terms[i]
		t.reset()
		t.name, t.algo, t.param, t.id = keys[i], held.algo, held.param, id
		t.quotas[0], t.n = held.Quota, 1
		if refusal = t.settle(c, held, actuals[i]); refusal.IsError() {
			return nil, refusal
		}
	}
	for i := range terms {
		t, held := &terms[i], &h.terms[i]
		switch {
		case held.excess > 0:
			t.content.apply(c, t)
		case held.released > 0:
			t.content.giveBack(c, t, held, held.released)
		}
	}
	h.settled = true
	line := h.line(c)
	store.StringOf(h.node).SetBytes(line)
	c.DB.Touch(h.node)
	c.DidCall("SET", name, line, []byte("KEEPTTL"))
	return h.terms, resp.None
}

// settle computes what a term of a hold counts, exceeds and releases, and changes nothing yet. A key that an
// excess makes is never refused: the work is done.
func (t *term) settle(c *commands.Ctx, h *heldTerm, actual int64) (refusal resp.Value) {
	if refusal = t.open(c); refusal.IsError() {
		return refusal
	}
	h.held = t.content.held(c, t, h)
	if t.algo.slots {
		h.released = h.held
		return resp.None
	}
	h.excess = max(actual-h.Units, 0)
	h.released = min(max(h.Units-actual, 0), h.held)
	// Others may have added units at the place, and RL.REFUND may have taken some.
	h.counted = min(h.held-h.released, h.Units-h.released) + h.excess
	if h.excess == 0 {
		return resp.None
	}
	return t.content.record(c, t, h.excess)
}
