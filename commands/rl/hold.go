package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A hold is a reservation by RL.RESERVE for work whose cost is not known in advance.
// Its units are ordinary units of the key's log, so that readers of the log need not
// know about holds. A hold that is never settled counts as its estimate. The hold
// itself is a string in a key of its own,
//
//	hold <length of the id> <score> <units> <window ms> <limit> <remaining> <reset ms> open
//	hold ... settled <units counted> <excess> <units released>
//
// In the place of open, 0.1.0 wrote held: its units are plain entries of consecutive scores from that one on.
// The string expires after HOLD's time. Limit, remaining and reset are from RL.RESERVE's
// reply. The window is how long an excess counts if the log no longer exists. The
// length distinguishes "b:hold:c" of key "a" from "c" of key "a:hold:b".

var rlHoldRows = []commands.Command{
	{
		Name: "rl.reserve", Arity: 9, Flags: commands.Write | commands.DenyOOM | commands.Fast,
		Keys:  holdKeys(reserveID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlReserve,
		Syntax:    "key limit window estimate HOLD milliseconds ID id",
		Summary:   "Admits work by an estimate of its cost, which RL.SETTLE corrects.",
		Example:   "tokens:42 10000 1m 500 HOLD 30s ID request-1",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.settle", Arity: 4, Flags: commands.Write | commands.Fast, Keys: holdKeys(settleID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlSettle,
		Syntax:    "key id actual",
		Summary:   "Corrects what RL.RESERVE took to what the work has cost.",
		Example:   "tokens:42 request-1 430",
		Deviation: "zlimit's own",
	},
	{
		Name: "rl.cancel", Arity: 3, Flags: commands.Write | commands.Fast, Keys: holdKeys(settleID),
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(log(N))", Handler: rlCancel,
		Syntax:    "key id",
		Summary:   "Refunds what RL.RESERVE took.",
		Example:   "tokens:42 request-1",
		Deviation: "zlimit's own",
	},
}

var holdAlgorithm = algorithm{
	name: "HOLD", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, ok := parseHold(store.StringOf(n))
		return ok
	},
	info: func(_ *commands.Ctx, n *store.Node) keyInfo {
		s := store.StringOf(n)
		h, _ := parseHold(s)
		i := emptyInfo()
		i.used = resp.Int(h.units)
		return i
	},
}

const (
	maxID          = 512
	holdInfix      = ":hold:"
	holdBufferSize = 1 << 10 // fits most names and values of holds
)

func holdKeys(tail func(args [][]byte) []byte) []commands.KeySpec {
	return []commands.KeySpec{
		{Flags: "RW access update", First: 1, Step: 1},
		{
			Flags: "RW access update", Notes: "the hold: the key, '" + holdInfix + "' and the id",
			First: 1, Step: 1, Infix: holdInfix, Tail: tail,
		},
	}
}

func appendHoldName(b, key, id []byte) []byte {
	return append(append(append(b, key...), holdInfix...), id...)
}

// reserveID returns the id among RL.RESERVE's options, or nil if none is valid: the
// call then fails.
func reserveID(args [][]byte) []byte {
	for at := 5; at+1 < len(args); at += 2 {
		if commands.EqualFold(args[at], "id") {
			return validID(args[at+1])
		}
	}
	return nil
}

func settleID(args [][]byte) []byte { return validID(args[2]) }

func validID(id []byte) []byte {
	if checkID(id).IsError() {
		return nil
	}
	return id
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

// hold is the state of a hold, in the order of the string.
type hold struct {
	idLen, score, units, windowMs int64
	limit, remaining, resetMs     int64

	state                     []byte
	counted, excess, released int64
}

var (
	holdPrefix  = []byte("hold ")
	holdOpen    = []byte("open")
	holdHeld    = []byte("held")
	holdSettled = []byte("settled")
	space       = []byte(" ")
)

// numbers returns the numeric fields before and after "held" or "settled".
func (h *hold) numbers() (before [7]*int64, after [3]*int64) {
	return [7]*int64{&h.idLen, &h.score, &h.units, &h.windowMs, &h.limit, &h.remaining, &h.resetMs},
		[3]*int64{&h.counted, &h.excess, &h.released}
}

func parseHold(s *store.String) (h hold, ok bool) {
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
	before, after := h.numbers()
	for _, n := range before {
		if *n, ok = store.ParseInt(field()); !ok {
			return h, false
		}
	}
	if h.state = holdStateOf(field()); !h.settled() {
		return h, h.state != nil && !more && h.valid()
	}
	for _, n := range after {
		if *n, ok = store.ParseInt(field()); !ok {
			return h, false
		}
	}
	return h, !more && h.valid()
}

// holdStateOf returns one of the states, or nil. It does not keep the text.
func holdStateOf(text []byte) []byte {
	for _, state := range [][]byte{holdOpen, holdHeld, holdSettled} {
		if bytes.Equal(state, text) {
			return state
		}
	}
	return nil
}

func (h *hold) settled() bool { return bytes.Equal(h.state, holdSettled) }

// valid reports whether the numbers are within the limiter's bounds: users can write
// such strings.
func (h *hold) valid() bool {
	return h.units >= 1 && h.units <= limiter.MaxUnits &&
		h.score >= limiter.MinScore && h.score < limiter.MaxScore && h.last() < limiter.MaxScore &&
		h.windowMs >= 1 && h.windowMs < limiter.MaxWindowMs
}

// last returns the score of the last entry with units of the hold.
func (h *hold) last() int64 {
	if bytes.Equal(h.state, holdHeld) {
		return h.score + h.units - 1
	}
	return h.score
}

// append appends the hold in the format that parseHold parses.
func (h *hold) append(b []byte) []byte {
	b = append(b, holdPrefix...)
	before, after := h.numbers()
	for _, n := range before {
		b = append(strconv.AppendInt(b, *n, 10), ' ')
	}
	b = append(b, h.state...)
	if !h.settled() {
		return b
	}
	for _, n := range after {
		b = strconv.AppendInt(append(b, ' '), *n, 10)
	}
	return b
}

// findHold looks up the hold of id in the key name; n is nil if it does not exist.
func findHold(c *commands.Ctx, name, id []byte) (n *store.Node, h hold, refusal resp.Value) {
	n = c.DB.Find(name, c.NowMs)
	if n == nil {
		return nil, h, resp.None
	}
	s := store.StringOf(n)
	if s == nil {
		return n, h, commands.ErrWrongType
	}
	h, ok := parseHold(s)
	if !ok || h.idLen != int64(len(id)) {
		return n, h, errForeignHold
	}
	return n, h, resp.None
}

// RL.RESERVE key limit window estimate HOLD ms ID id
//
// The reply is that of RL.ALLOW key limit window COST estimate. If the id has a hold,
// the call changes nothing and repeats the first reply.
func rlReserve(c *commands.Ctx) resp.Value {
	a, refusal := parseReserve(c)
	if refusal.IsError() {
		return refusal
	}
	var buf [holdBufferSize]byte
	name := appendHoldName(buf[:0], c.Args[1], a.id)
	n, h, refusal := findHold(c, name, a.id)
	switch {
	case refusal.IsError():
		return refusal
	case n != nil:
		return reserveReply(c, &h)
	}
	var k logKey
	if refusal := findLog(c, &k, c.Args[1]); refusal.IsError() {
		return refusal
	}
	d, err := limiter.Decide(k.log(), c.NowMs, k.expireAtMs, a.quotas[:], a.estimate)
	if err != nil {
		return rlError(err)
	}
	if d.Units == 0 {
		markFullness(c, c.Args[1], &d)
		countReserve(c, c.Args[1], a.estimate, 0)
		return decisionReply(c, &d)
	}
	if refusal := reserveHold(c, &k, &d.Change, name); refusal.IsError() {
		return refusal
	}
	k.apply(c, &d.Change)
	markFullness(c, c.Args[1], &d)
	countReserve(c, c.Args[1], a.estimate, d.Units)
	h = hold{
		state: holdOpen,
		idLen: int64(len(a.id)), score: d.Score, units: d.Units, windowMs: a.quotas[0].WindowMs,
		limit: d.Limit, remaining: d.Remaining, resetMs: d.ResetAfterMs,
	}
	var text [holdBufferSize]byte
	s, line := &store.String{}, h.append(text[:0])
	s.SetBytes(line)
	n = c.DB.Put(name, s)
	c.DB.SetFullness(name, store.Full, c.NowMs) // evicted late: its units are consumed
	c.DB.ExpireAt(n, c.NowMs+a.holdMs)
	c.DidSet(name, line, c.NowMs+a.holdMs)
	return reserveReply(c, &h)
}

// reserveCall is the arguments of RL.RESERVE behind the key.
type reserveCall struct {
	quotas           [1]limiter.Quota
	estimate, holdMs int64
	id               []byte
}

func parseReserve(c *commands.Ctx) (a reserveCall, refusal resp.Value) {
	if a.quotas[0], refusal = parseQuota(c.Args[2], c.Args[3]); refusal.IsError() {
		return a, refusal
	}
	var ok bool
	if a.estimate, ok = store.ParseInt(c.Args[4]); !ok {
		return a, errEstimateNumber
	}
	a.holdMs, a.id, refusal = parseDurationAndID(options{c.Args[5:]}, reserveOptions)
	if refusal.IsError() {
		return a, refusal
	}
	call := limiter.Call{Cost: max(a.estimate, 1)}
	switch err := limiter.Validate(a.quotas[:], call); {
	case err != nil:
		return a, rlError(err)
	case a.estimate < 1:
		return a, errEstimate
	}
	return a, resp.None
}

func reserveReply(c *commands.Ctx, h *hold) resp.Value {
	return decisionReply(c, &limiter.Decision{
		Change: limiter.Change{Units: h.units}, Allowed: h.units,
		Limit: h.limit, Remaining: h.remaining, ResetAfterMs: h.resetMs,
	})
}

// parseDurationAndID parses HOLD or LEASE, and ID. The arity guarantees that each
// option has a value.
func parseDurationAndID(o options, allowed optionSet) (ms int64, id []byte, refusal resp.Value) {
	for r := (optionReader{options: o, allowed: allowed}); r.more(); {
		option, refusal := r.next()
		switch option {
		case optHold:
			ms, refusal = parseDuration("HOLD", r.value())
		case optLease:
			ms, refusal = parseDuration("LEASE", r.value())
		case optID:
			id = r.value()
			refusal = checkID(id)
		}
		if refusal.IsError() {
			return 0, nil, refusal
		}
	}
	return ms, id, resp.None
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
	h, found, refusal := settleHold(c, actual)
	switch {
	case refusal.IsError():
		return refusal
	case !found:
		return resp.Int(0)
	}
	return resp.Array(append(c.Values(2), resp.Int(h.counted), resp.Int(h.excess))...)
}

// parseSettle returns the units that the work of RL.SETTLE has cost.
func parseSettle(c *commands.Ctx) (actual int64, refusal resp.Value) {
	actual, ok := store.ParseInt(c.Args[3])
	switch refusal := checkID(c.Args[2]); {
	case refusal.IsError():
		return 0, refusal
	case !ok:
		return 0, errActualNumber
	case actual < 0:
		return 0, errActualNegative
	}
	return actual, resp.None
}

// RL.CANCEL key id
//
// RL.CANCEL is RL.SETTLE with 0. The reply is the number of units released.
func rlCancel(c *commands.Ctx) resp.Value {
	if refusal := checkID(c.Args[2]); refusal.IsError() {
		return refusal
	}
	h, _, refusal := settleHold(c, 0)
	if refusal.IsError() {
		return refusal
	}
	return resp.Int(h.released)
}

// settleHold settles the call's hold. A hold that is already settled is returned
// unchanged.
func settleHold(c *commands.Ctx, actual int64) (h hold, found bool, refusal resp.Value) {
	var buf [holdBufferSize]byte
	name := appendHoldName(buf[:0], c.Args[1], c.Args[2])
	n, h, refusal := findHold(c, name, c.Args[2])
	if refusal.IsError() || n == nil || h.settled() {
		return h, n != nil, refusal
	}
	var k logKey
	if refusal := findLog(c, &k, c.Args[1]); refusal.IsError() {
		return h, true, refusal
	}
	h.excess = max(actual-h.units, 0)
	h.released = k.removeNewest(c, h.units-actual, h.score, h.last())
	// Others may have added units to the entry, and RL.REFUND may have taken some.
	h.counted = min(k.heldUnits(c, h.score, h.last()), h.units-h.released) + h.excess
	if h.excess > 0 {
		change, err := limiter.Record(k.log(), c.NowMs, k.expireAtMs, h.windowMs, h.excess)
		if err != nil {
			return h, true, rlError(err)
		}
		if k.node != nil { // the key that work makes is never refused: the work is done
			if refusal := k.makeRoom(c, &change); refusal.IsError() {
				return h, true, refusal
			}
		}
		k.apply(c, &change)
	}
	h.state = holdSettled
	var text [holdBufferSize]byte
	line := h.append(text[:0])
	store.StringOf(n).SetBytes(line)
	c.DB.Touch(n)
	c.DidCall("SET", name, line, []byte("KEEPTTL"))
	return h, true, resp.None
}
