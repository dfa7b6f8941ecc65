package rl

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// This file is for a caller that runs rate limit commands elsewhere than in the keyspace
// of a Ctx: it parses arguments and makes replies as the handlers do.

// A LimitCall is the parsed arguments of a rate limit command. A field is zero if the
// command has no such argument. What is a slice may alias the arguments.
type LimitCall struct {
	limiter.Call                 // RL.ALLOW, RL.MALLOW, CL.THROTTLE; of RL.RESERVE the estimate
	Quotas       []limiter.Quota // of RL.MALLOW one for each key
	Keys         [][]byte        // of RL.MALLOW; of a call about a hold, with the hold's
	Algorithm    string          // as ALGO has it
	algorithm    *algorithm      // of RL.ALLOW and CL.THROTTLE
	Param        int64           // the burst of GCRA, the number of BUCKETS
	Full         bool

	Count      int64  // n of RL.REFUND, actual of RL.SETTLE, max of RL.ACQUIRE
	DurationMs int64  // HOLD or LEASE
	Unit       string // of RL.ADOPT's BACK
	ID         []byte // of a hold or a lease

	Increment commands.Increment // INCREX

	count func(d *LimitDecision, c *commands.Ctx) // nil: the command makes no decision that is counted
}

// limitParsers parse the arguments of the commands that can be decided elsewhere.
var limitParsers = map[string]func(c *commands.Ctx, l *LimitCall) (refusal resp.Value){
	"rl.allow": func(c *commands.Ctx, l *LimitCall) resp.Value {
		var t term
		if refusal := t.parse(c.Args[2:], allowOptions); refusal.IsError() {
			return refusal
		}
		l.Call, l.Quotas, l.Param, l.Full = t.Call, t.quotas[:t.n], t.param, t.full
		l.algorithm, l.Algorithm, l.count = t.algo, t.algo.name, (*LimitDecision).countAllow
		return resp.None
	},
	"rl.mallow": func(c *commands.Ctx, l *LimitCall) resp.Value {
		m, refusal := parseMallow(c, newTerms)
		if refusal.IsError() {
			return refusal
		}
		if m.step == 1 {
			return errTermsElsewhere
		}
		for i := 0; i < len(m.names); i += m.step {
			q, _ := parseQuota(m.names[i+1], m.names[i+2])
			l.Keys, l.Quotas = append(l.Keys, m.names[i]), append(l.Quotas, q)
		}
		l.Call, l.Algorithm, l.count = m.call, logAlgorithm.name, (*LimitDecision).countMallow
		return resp.None
	},
	"rl.reset": func(*commands.Ctx, *LimitCall) resp.Value { return resp.None },
	"rl.info":  func(*commands.Ctx, *LimitCall) resp.Value { return resp.None },
	"rl.refund": func(c *commands.Ctx, l *LimitCall) (refusal resp.Value) {
		l.Count, refusal = parseRefund(c)
		return refusal
	},
	"rl.adopt": func(c *commands.Ctx, l *LimitCall) resp.Value {
		back, refusal := parseAdopt(c.Args)
		if back != nil {
			l.Unit = back.name
		}
		l.Algorithm = logAlgorithm.name
		return refusal
	},
	"rl.reserve": func(c *commands.Ctx, l *LimitCall) resp.Value {
		var t term
		h, refusal := parseReserve(c, &t)
		switch {
		case refusal.IsError():
			return refusal
		case t.algo != &logAlgorithm:
			return errTermsElsewhere
		}
		l.Cost, l.Quotas, l.DurationMs, l.ID = t.Cost, t.quotas[:1], h.holdMs, h.id
		l.Algorithm, l.count = logAlgorithm.name, (*LimitDecision).countReserve
		l.Keys = holdCallKeys(c.Args[1], l.ID)
		return resp.None
	},
	"rl.settle": func(c *commands.Ctx, l *LimitCall) (refusal resp.Value) {
		l.ID, l.Algorithm = c.Args[2], logAlgorithm.name
		l.Count, refusal = parseSettle(c)
		l.Keys = holdCallKeys(c.Args[1], l.ID)
		return refusal
	},
	"rl.cancel": func(c *commands.Ctx, l *LimitCall) resp.Value {
		l.ID, l.Algorithm = c.Args[2], logAlgorithm.name
		l.Keys = holdCallKeys(c.Args[1], l.ID)
		return checkID(l.ID)
	},
	"rl.acquire": func(c *commands.Ctx, l *LimitCall) (refusal resp.Value) {
		l.Algorithm = leasesAlgorithm.name
		l.Count, l.DurationMs, l.ID, refusal = parseAcquire(c)
		return refusal
	},
	"rl.renew": func(c *commands.Ctx, l *LimitCall) (refusal resp.Value) {
		l.ID, l.Algorithm = c.Args[2], leasesAlgorithm.name
		l.DurationMs, refusal = parseRenew(c)
		return refusal
	},
	"rl.release": func(c *commands.Ctx, l *LimitCall) resp.Value {
		l.ID, l.Algorithm = c.Args[2], leasesAlgorithm.name
		return checkID(l.ID)
	},
	"cl.throttle": func(c *commands.Ctx, l *LimitCall) (refusal resp.Value) {
		var q limiter.Quota
		q, l.Param, l.Cost, refusal = parseThrottle(c)
		l.Quotas, l.Peek = []limiter.Quota{q}, l.Cost == 0
		l.algorithm, l.Algorithm = &gcraAlgorithm, gcraAlgorithm.name
		l.count = (*LimitDecision).countThrottle
		return refusal
	},
	"increx": func(c *commands.Ctx, l *LimitCall) resp.Value { return l.Increment.Parse(c) },
}

func newTerms(n int) []term { return make([]term, n) }

// holdCallKeys returns the key of a call about a hold, and the hold's.
func holdCallKeys(key, id []byte) [][]byte {
	parts := holdName(key, id)
	return [][]byte{key, parts.Append(nil)}
}

// ParseLimitCall parses the call of c, whose command has a row in limitParsers and whose
// number of arguments is valid. Of c it uses Args, Cmd and Settings.
func ParseLimitCall(c *commands.Ctx) (l LimitCall, refusal resp.Value) {
	refusal = limitParsers[c.Cmd.Name](c, &l)
	return l, refusal
}

// DecisionReply returns the reply of RL.ALLOW; a decision of RL.MALLOW has the index of
// its key before it.
func DecisionReply(c *commands.Ctx, d *limiter.Decision) resp.Value { return decisionReply(c, d) }

// FullReply returns the reply of RL.ALLOW with FULL.
func FullReply(c *commands.Ctx, d *limiter.Decision, algorithm string) resp.Value {
	return fullReply(c, d, algorithm)
}

// ThrottleReply returns the reply of CL.THROTTLE.
func ThrottleReply(c *commands.Ctx, t *limiter.Throttle) resp.Value { return throttleReply(c, t) }

// A LimitState is what RL.INFO tells of a key.
type LimitState struct {
	Algorithm            string
	Used, Oldest, Newest resp.Value // null if unknown
	Bytes                resp.Value // likewise
	TTLMs                int64      // -1: none
	// More is the theoretical arrival time of GCRA, the width and number of BUCKETS, or
	// the window of COUNTER.
	More [2]int64
}

// InfoReply returns the reply of RL.INFO.
func InfoReply(c *commands.Ctx, s *LimitState) resp.Value {
	i := keyInfo{
		bytes: s.Bytes, ttlMs: s.TTLMs, used: s.Used, oldest: s.Oldest, newest: s.Newest, more: s.More,
	}
	for _, a := range algorithms {
		if a.name == s.Algorithm {
			i.algorithm = a
		}
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

// BucketsReply refuses a key whose BUCKETS are not those of the call.
func BucketsReply(n, widthMs, wantN, wantWidthMs int64) resp.Value {
	return resp.Error(fmt.Sprintf("ERR key holds BUCKETS state of %d buckets of %dms, not %d of %dms",
		n, widthMs, wantN, wantWidthMs))
}

// CounterReply refuses a key whose COUNTER has another window than the call.
func CounterReply(windowMs, wantMs int64) resp.Value {
	return resp.Error(fmt.Sprintf("ERR key holds COUNTER state of a window of %dms, not %dms",
		windowMs, wantMs))
}

// Replies that refuse what the key of a single command holds.
var (
	ErrLimitClock  = rlError(limiter.ErrInstant)
	ErrSum         = rlError(limiter.ErrSum)
	ErrForeignHold = errForeignHold
	ErrNoRefund    = errNoRefund
	ErrAdoptLarge  = errAdoptLarge
	ErrAdoptScores = errAdoptScores
)
