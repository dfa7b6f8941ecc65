package commands

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A hold is what RL.RESERVE took from a log for work whose cost is known only
// afterwards. Its units are ordinary units of the log: whoever asks the log
// needs to know nothing of holds, and a hold that nobody settles counts as its
// estimate. Beside them the hold is a string under a name of its own, a line of
//
//	hold <length of the id> <first score> <units> <window ms> <limit> <remaining> <reset ms> held
//	hold ... settled <units counted> <excess> <units released>
//
// that lives as long as HOLD said. Limit, remaining and reset are RL.RESERVE's
// answer. The window is how long an excess counts if the key has gone by then.
// The length tells "b:hold:c" of key "a" from "c" of key "a:hold:b".

var rlHoldRows = []Command{
	{
		Name: "rl.reserve", Arity: 9, Flags: Write | DenyOOM | Fast, Keys: holdKeys(tailOfReserve),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlReserve,
		Syntax:    "key limit window estimate HOLD milliseconds ID id",
		Summary:   "Admits work by an estimate of its cost, which RL.SETTLE corrects.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.settle", Arity: 4, Flags: Write | Fast, Keys: holdKeys(tailOfSettle),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlSettle,
		Syntax:    "key id actual",
		Summary:   "Corrects what RL.RESERVE took to what the work has cost.",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.cancel", Arity: 3, Flags: Write | Fast, Keys: holdKeys(tailOfSettle),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlCancel,
		Syntax:    "key id",
		Summary:   "Refunds what RL.RESERVE took.",
		Deviation: "zlimit's own",
	},
}

var holdAlgorithm = algorithm{
	name: "HOLD", typed: isString, foreign: errRLForeignString,
	holds: func(_ *Ctx, n *store.Node) bool {
		_, ok := holdIn(store.StringOf(n))
		return ok
	},
	info: func(_ *Ctx, n *store.Node) keyInfo {
		s := store.StringOf(n)
		h, _ := holdIn(s)
		i := nullInfo()
		i.used = resp.Int(h.units)
		return i
	},
}

const (
	maxID     = 512
	holdInfix = ":hold:"
	holdRoom  = 1 << 10 // for the name of a hold, or its text, without allocating
)

func holdKeys(tail func(args [][]byte) []byte) []KeySpec {
	return []KeySpec{
		key(1, "RW access update"),
		{Flags: "RW access update", Notes: "the hold: the key, '" + holdInfix + "' and the id", First: 1, Step: 1, Infix: holdInfix, Tail: tail},
	}
}

// tailOfReserve finds the id among the options. One that will be refused names
// no key.
func tailOfReserve(args [][]byte) []byte {
	for at := 5; at+1 < len(args); at += 2 {
		if EqualFold(args[at], "id") {
			return goodID(args[at+1])
		}
	}
	return nil
}

func tailOfSettle(args [][]byte) []byte { return goodID(args[2]) }

func goodID(id []byte) []byte {
	if refuseID(id).IsError() {
		return nil
	}
	return id
}

func refuseID(id []byte) resp.Value {
	switch {
	case len(id) == 0:
		return errRLIDEmpty
	case len(id) > maxID:
		return errRLIDLong
	}
	return resp.None
}

// hold is the numbers of the string, in its order.
type hold struct {
	idLen, first, units, windowMs int64
	limit, remaining, resetMs     int64

	settled                   bool
	counted, excess, released int64
}

var (
	holdPrefix  = []byte("hold ")
	holdHeld    = []byte("held")
	holdSettled = []byte("settled")
	space       = []byte(" ")
)

// numbers are the fields before and behind the state.
func (h *hold) numbers() (before [7]*int64, behind [3]*int64) {
	return [7]*int64{&h.idLen, &h.first, &h.units, &h.windowMs, &h.limit, &h.remaining, &h.resetMs},
		[3]*int64{&h.counted, &h.excess, &h.released}
}

// holdIn reads a string as a hold.
func holdIn(s *store.String) (h hold, ok bool) {
	var digits [20]byte
	rest, ok := bytes.CutPrefix(s.Bytes(digits[:]), holdPrefix)
	if !ok {
		return h, false
	}
	more := true
	field := func() (f []byte) {
		f, rest, more = bytes.Cut(rest, space)
		return f
	}
	before, behind := h.numbers()
	for _, n := range before {
		if *n, ok = parseInt(field()); !ok {
			return h, false
		}
	}
	state := field()
	h.settled = bytes.Equal(state, holdSettled)
	if !h.settled {
		return h, bytes.Equal(state, holdHeld) && !more && h.possible()
	}
	for _, n := range behind {
		if *n, ok = parseInt(field()); !ok {
			return h, false
		}
	}
	return h, !more && h.possible()
}

// possible tells that no number can lead astray whoever computes with it: users
// can write strings.
func (h *hold) possible() bool {
	return h.units >= 1 && h.units <= limiter.MaxCost &&
		h.first >= limiter.MinScore && h.first < limiter.MaxScore-h.units &&
		h.windowMs >= 1 && h.windowMs < limiter.MaxWindowMs
}

func (h *hold) last() int64 { return h.first + h.units - 1 }

// append spells the hold as holdIn reads it.
func (h *hold) append(b []byte) []byte {
	b = append(b, holdPrefix...)
	before, behind := h.numbers()
	for _, n := range before {
		b = append(strconv.AppendInt(b, *n, 10), ' ')
	}
	if !h.settled {
		return append(b, holdHeld...)
	}
	b = append(b, holdSettled...)
	for _, n := range behind {
		b = strconv.AppendInt(append(b, ' '), *n, 10)
	}
	return b
}

// findHold looks up the hold that the call is about; a refusal where its key
// holds something else. No node: there is none.
func (c *Ctx) findHold(name, id []byte) (n *store.Node, h hold, refusal resp.Value) {
	n = c.DB.Find(name, c.NowMs)
	if n == nil {
		return nil, h, resp.None
	}
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return n, h, refusal
	}
	h, ok := holdIn(s)
	if !ok || h.idLen != int64(len(id)) {
		return n, h, errRLForeignHold
	}
	return n, h, resp.None
}

// RL.RESERVE key limit window estimate HOLD ms ID id
//
// Answers as RL.ALLOW key limit window COST estimate does. With the id of a hold
// that lives it answers what it answered then, and changes nothing.
func rlReserve(c *Ctx) resp.Value {
	var quotas [1]limiter.Quota
	var refusal resp.Value
	if quotas[0], refusal = quotaOf(c, c.Args[2], c.Args[3]); refusal.IsError() {
		return refusal
	}
	estimate, ok := parseInt(c.Args[4])
	if !ok {
		return errRLEstimateNumber
	}
	holdMs, id, refusal := parseTerm(options{c.Args[5:]}, reserveOptions)
	if refusal.IsError() {
		return refusal
	}
	switch err := limiter.Validate(quotas[:], limiter.Call{Cost: max(estimate, 1)}, c.Settings.RLLogMaxUnits); {
	case errors.Is(err, limiter.ErrCostLarge):
		return errRLEstimateLarge
	case err != nil:
		return rlError(c, err)
	case estimate < 1:
		return errRLEstimate
	}

	var room [holdRoom]byte
	name := c.Cmd.Keys[1].appendDerived(room[:0], c.Args)
	n, h, refusal := c.findHold(name, id)
	switch {
	case refusal.IsError():
		return refusal
	case n != nil:
		return c.answerOf(&h)
	}
	var k logKey
	if refusal := c.findLog(&k, c.Args[1]); refusal.IsError() {
		return refusal
	}
	d, err := limiter.Decide(k.log(), c.NowMs, k.expireAtMs, quotas[:], estimate)
	if err != nil {
		return rlError(c, err)
	}
	if d.Units == 0 {
		return five(c, &d)
	}
	k.record(c, &d.Change)
	h = hold{
		idLen: int64(len(id)), first: d.First, units: d.Units, windowMs: quotas[0].WindowMs,
		limit: d.Limit, remaining: d.Remaining, resetMs: d.ResetAfterMs,
	}
	var text [holdRoom]byte
	s, line := &store.String{}, h.append(text[:0])
	s.SetBytes(line)
	n = c.DB.Put(name, s)
	c.DB.ExpireAt(n, c.NowMs+holdMs)
	c.didSet(name, line, c.NowMs+holdMs)
	return c.answerOf(&h)
}

// answerOf is what RL.RESERVE answered when it took the hold.
func (c *Ctx) answerOf(h *hold) resp.Value {
	return five(c, &limiter.Decision{
		Change: limiter.Change{Units: h.units}, Allowed: h.units,
		Limit: h.limit, Remaining: h.remaining, ResetAfterMs: h.resetMs,
	})
}

// parseTerm reads the options that end RL.RESERVE, RL.ACQUIRE and RL.RENEW: how
// long, as HOLD or LEASE, which is written as a window is, and for whom. The
// arity has seen to it that each has its value.
func parseTerm(o options, may optionSet) (ms int64, id []byte, refusal resp.Value) {
	for r := (optionReader{options: o, may: may}); r.more(); {
		option, refusal := r.next()
		switch option {
		case optHold:
			ms, refusal = parseDuration("HOLD", r.value())
		case optLease:
			ms, refusal = parseDuration("LEASE", r.value())
		case optID:
			id = r.value()
			refusal = refuseID(id)
		}
		if refusal.IsError() {
			return 0, nil, refusal
		}
	}
	return ms, id, resp.None
}

// parseDuration reads an argument that is written as a window is.
func parseDuration(name string, arg []byte) (ms int64, refusal resp.Value) {
	ms, err := limiter.ParseWindow(arg)
	if err != nil {
		return 0, durationError(name, err)
	}
	return ms, resp.None
}

// RL.SETTLE key id actual
//
// Answers how many units count now for the work, and by how many it went over
// the estimate; 0 for an id that is not known (any more).
func rlSettle(c *Ctx) resp.Value {
	actual, ok := parseInt(c.Args[3])
	switch refusal := refuseID(c.Args[2]); {
	case refusal.IsError():
		return refusal
	case !ok:
		return errRLActualNumber
	case actual < 0:
		return errRLActualNegative
	}
	h, found, refusal := c.settle(actual)
	switch {
	case refusal.IsError():
		return refusal
	case !found:
		return resp.Int(0)
	}
	return resp.Array(append(c.Values(2), resp.Int(h.counted), resp.Int(h.excess))...)
}

// RL.CANCEL key id
//
// Is RL.SETTLE with 0. Answers how many units were released.
func rlCancel(c *Ctx) resp.Value {
	if refusal := refuseID(c.Args[2]); refusal.IsError() {
		return refusal
	}
	h, _, refusal := c.settle(0)
	if refusal.IsError() {
		return refusal
	}
	return resp.Int(h.released)
}

// settle ends the hold that the call is about, unless it has ended: what it came
// to then is what it is.
func (c *Ctx) settle(actual int64) (h hold, found bool, refusal resp.Value) {
	var room [holdRoom]byte
	name := c.Cmd.Keys[1].appendDerived(room[:0], c.Args)
	n, h, refusal := c.findHold(name, c.Args[2])
	if refusal.IsError() || n == nil || h.settled {
		return h, n != nil, refusal
	}
	var k logKey
	if refusal := c.findLog(&k, c.Args[1]); refusal.IsError() {
		return h, true, refusal
	}
	h.settled = true
	h.excess = max(actual-h.units, 0)
	if h.excess > limiter.MaxCost {
		return h, true, errRLActualLarge
	}
	h.released = k.takeBack(c, h.units-actual, h.first, h.last())
	below, through := k.within(c, h.first, h.last())
	h.counted = int64(through-below) + h.excess
	if h.excess > 0 {
		change, err := limiter.Record(k.log(), c.NowMs, k.expireAtMs, h.windowMs, h.excess)
		if err != nil {
			return h, true, rlError(c, err)
		}
		k.record(c, &change)
	}
	var text [holdRoom]byte
	line := h.append(text[:0])
	store.StringOf(n).SetBytes(line)
	c.DB.Touch(n)
	c.didCall("SET", name, line, keepTTL)
	return h, true, resp.None
}
