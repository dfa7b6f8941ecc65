package rl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// This file is for a caller that runs rate limit commands elsewhere than in the keyspace
// of a Ctx: it parses arguments and makes replies as the handlers do.

// A LimitCall is the parsed arguments of a rate limit command. A field is zero if the
// command has no such argument. What is a slice may alias the arguments.
type LimitCall struct {
	limiter.Call             // RL.ALLOW, CL.THROTTLE; RL.MALLOW, where terms have costs of their own
	Terms        []LimitTerm // of RL.ALLOW and CL.THROTTLE one; otherwise one for each key
	terms        []term      // the same, unless the form of the call knows only logs
	Keys         [][]byte    // of RL.MALLOW; of a call about a hold, with the hold's
	Algorithm    string      // as ALGO has it, of a call about one key
	Full, Shadow bool
	Charge       bool // denied units count; of RL.CHECK

	Count      int64   // n of RL.REFUND, max of RL.ACQUIRE
	Actuals    []int64 // of RL.SETTLE and RL.MSETTLE; zeros of RL.CANCEL and RL.MCANCEL
	DurationMs int64   // HOLD or LEASE
	Unit       string  // of RL.ADOPT's BACK
	ID         []byte  // of a hold or a lease

	Increment commands.Increment // INCREX

	command decides // what its decision is counted for, if it makes one
}

// A LimitTerm is what a call asks of a key.
type LimitTerm struct {
	Quotas    []limiter.Quota // of slots their number and the milliseconds of a lease
	Algorithm string          // its row's name
	Param     int64           // the number behind the algorithm's name
	Cost      int64           // of RL.RESERVE and RL.MRESERVE the estimate
	AnyLimit  bool            // the function does not count with the limit
}

func limitTerm(t *term) LimitTerm {
	cost := t.Cost
	if t.zero {
		cost = 0
	}
	return LimitTerm{t.quotas[:t.n], t.algo.name, t.param, cost, t.algo.anyLimit}
}

// setTerms sets the terms of a call over several keys.
func (l *LimitCall) setTerms(terms []term) {
	l.terms, l.Terms = terms, make([]LimitTerm, len(terms))
	for i := range terms {
		l.Terms[i] = limitTerm(&terms[i])
	}
}

// setHold sets the keys and the id of a call about a hold.
func (l *LimitCall) setHold(keys [][]byte, id []byte) {
	parts := holdName(keys[0], id)
	l.ID, l.Keys = id, append(slices.Clone(keys), parts.Append(nil))
}

// These methods parse the arguments of a call, whose number of arguments is valid. Of c they use Args, Cmd
// and Settings.

// ParseAllow parses RL.ALLOW.
func (l *LimitCall) ParseAllow(c *commands.Ctx) resp.Value {
	var t term
	if refusal := t.parse(c.Args[2:], allowOptions); refusal.IsError() {
		return refusal
	}
	if t.waitMs > 0 {
		return errWaitElsewhere
	}
	l.Call, l.Terms, l.Full, l.Shadow = t.Call, []LimitTerm{limitTerm(&t)}, t.full, t.shadow
	l.Algorithm, l.command = t.algo.name, allows
	return resp.None
}

// ParseMAllow parses RL.MALLOW.
func (l *LimitCall) ParseMAllow(c *commands.Ctx) resp.Value {
	m, refusal := parseMallow(c, newTerms)
	if refusal.IsError() {
		return refusal
	}
	if m.waitMs > 0 {
		return errWaitElsewhere
	}
	l.command, l.Shadow = mallows, m.shadow
	if m.step == 1 {
		l.setTerms(m.terms)
		l.Peek, l.Full, l.Keys, l.ID = m.peek, m.full, m.names, m.terms[0].id
		return resp.None
	}
	l.Call, l.Keys, l.Terms = m.call, make([][]byte, m.n), make([]LimitTerm, m.n)
	quotas := make([]limiter.Quota, m.n)
	for i := range m.n {
		of := m.names[3*i:]
		l.Keys[i] = of[0]
		quotas[i], _ = parseQuota(of[1], of[2])
		l.Terms[i] = LimitTerm{Quotas: quotas[i : i+1], Algorithm: defaultAlgorithm.name, Cost: m.call.Cost}
	}
	return resp.None
}

// ParseCheck parses RL.CHECK.
func (l *LimitCall) ParseCheck(c *commands.Ctx) resp.Value {
	m, refusal := parseCheck(c, newTerms)
	switch {
	case refusal.IsError():
		return refusal
	case m.explain:
		return errExplainElsewhere
	}
	l.setTerms(m.terms)
	l.Peek, l.Full, l.Shadow, l.Charge = m.peek, m.full, m.shadow, m.charge
	l.Keys, l.ID, l.command = m.names, m.terms[0].id, checks
	return resp.None
}

// ParseRefund parses RL.REFUND.
func (l *LimitCall) ParseRefund(c *commands.Ctx) (refusal resp.Value) {
	l.Count, refusal = notNegative(c.Args[2], errRefundNumber, errRefundNegative)
	return refusal
}

// ParseReserve parses RL.RESERVE.
func (l *LimitCall) ParseReserve(c *commands.Ctx) resp.Value {
	terms := newTerms(1)
	h, refusal := parseReserve(c, &terms[0])
	if refusal.IsError() {
		return refusal
	}
	l.setTerms(terms)
	l.setHold(c.Args[1:2], h.id)
	l.DurationMs, l.command = h.holdMs, reserves
	return resp.None
}

// ParseMReserve parses RL.MRESERVE.
func (l *LimitCall) ParseMReserve(c *commands.Ctx) resp.Value {
	terms, h, refusal := parseMReserve(c, newTerms)
	if refusal.IsError() {
		return refusal
	}
	l.setTerms(terms)
	l.setHold(c.Args[2:2+len(terms)], h.id)
	l.DurationMs, l.Full, l.command = h.holdMs, h.full, mreserves
	return resp.None
}

// ParseSettle parses RL.SETTLE.
func (l *LimitCall) ParseSettle(c *commands.Ctx) resp.Value {
	actual, refusal := parseSettle(c)
	l.setHold(c.Args[1:2], c.Args[2])
	l.Actuals = []int64{actual}
	return refusal
}

// ParseMSettle parses RL.MSETTLE.
func (l *LimitCall) ParseMSettle(c *commands.Ctx) resp.Value {
	keys, id, actuals, refusal := parseMSettle(c)
	if refusal.IsError() {
		return refusal
	}
	l.setHold(keys, id)
	l.Actuals = actuals[:len(keys)]
	return resp.None
}

// ParseCancel parses RL.CANCEL.
func (l *LimitCall) ParseCancel(c *commands.Ctx) resp.Value {
	l.setHold(c.Args[1:2], c.Args[2])
	l.Actuals = make([]int64, 1)
	return checkID(l.ID)
}

// ParseMCancel parses RL.MCANCEL.
func (l *LimitCall) ParseMCancel(c *commands.Ctx) resp.Value {
	keys, id, refusal := parseMCancel(c)
	if refusal.IsError() {
		return refusal
	}
	l.setHold(keys, id)
	l.Actuals = make([]int64, len(keys))
	return resp.None
}

func newTerms(n int) []term { return make([]term, n) }

// JointReply returns the reply of a call with a term for each key: the index of the binding one, from 0, and
// its decision, or with full those of all.
func JointReply(c *commands.Ctx, binding int, decisions []limiter.Decision, full bool) resp.Value {
	index := resp.Int(int64(binding + 1))
	if !full {
		d := &decisions[0]
		return resp.Array(index, resp.Int(d.Allowed), resp.Int(d.Limit), resp.Int(d.Remaining),
			resp.Int(d.RetryAfterMs), resp.Int(d.ResetAfterMs))
	}
	reply := append(c.Values(1+len(decisions)), index)
	for i := range decisions {
		reply = append(reply, DecisionReply(c, &decisions[i], 0))
	}
	return resp.Array(reply...)
}

// A LimitState is what RL.INFO tells of a key.
type LimitState struct {
	Algorithm            string
	Used, Oldest, Newest resp.Value // null if unknown
	Bytes                resp.Value // null if unknown
	TTLMs                int64      // -1: none
	More                 [2]int64   // see algorithm.moreInfo
}

// InfoReply returns the reply of RL.INFO.
func InfoReply(c *commands.Ctx, s *LimitState) resp.Value {
	i := keyInfo{
		algorithm: algorithmNamed(s.Algorithm),
		bytes:     s.Bytes, ttlMs: s.TTLMs, used: s.Used, oldest: s.Oldest, newest: s.Newest, more: s.More,
	}
	return i.reply(c)
}

// LimitAlgorithms returns the names of the algorithms, in the order in which a key's
// content is compared with their states.
func LimitAlgorithms() (names []string) {
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// The replies that refuse a key's content.

// HoldsReply refuses a key that holds the state of another algorithm.
func HoldsReply(holds, want string) resp.Value {
	return resp.Error("ERR key holds " + holds + " state, not " + want)
}

// ForeignReply refuses a key of a Redis type (zset, string or hash; others are "") that
// holds no algorithm's state. want is the algorithm that the command uses, "" for any.
func ForeignReply(redisType, want string) resp.Value {
	for _, a := range algorithms {
		if a.redisType == redisType && (want == "" || a.name == want) {
			return a.foreignError
		}
	}
	return commands.ErrWrongType
}

// DiffersReply refuses a key whose state of the algorithm called name has other parameters than the call.
// numbers are those of the state, then the call's. It reports false if they are not as many.
func DiffersReply(name string, numbers []any) (resp.Value, bool) {
	a := algorithmNamed(name)
	if a == nil || strings.Count(a.differs, "%d") != len(numbers) || len(numbers) == 0 {
		return resp.None, false
	}
	return a.differ(numbers...), true
}

// NoRefundReply refuses a key with state of the algorithm called name, whose newest units are not known.
func NoRefundReply(name string) resp.Value { return algorithmNamed(name).noRefund }

// Replies that refuse what the key of a single command holds.
var (
	ErrLimitClock = rlError(limiter.ErrInstant)
	ErrSum        = rlError(limiter.ErrSum)
	ErrLong       = rlError(limiter.ErrLong)
)

// CheckTerm returns the error of a term without a cost, TERM limit window [limit window ...] [ALGO algorithm]
// or TERM SLOTS max LEASE ms, or nil.
func CheckTerm(words [][]byte) error {
	var terms [1]term
	o := options{words}
	refusal := parseTerms(terms[:], [][]byte{{}}, &o, &mallowForm)
	switch {
	case refusal.IsError():
		return errors.New(strings.TrimPrefix(refusal.Str(), "ERR "))
	case o.more():
		return fmt.Errorf("%s is not expected here", o.rest[0])
	}
	return nil
}
