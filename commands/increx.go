package commands

import (
	"math"
	"math/big"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// INCREX is Redis 8.8's: a counter with bounds and a deadline, as fixed-window limiters
// use.
var increxRow = Command{
	Name: "increx", Arity: -2, Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW access update")},
	Group: "string", Since: "8.8.0", Complexity: "O(1)", Handler: incrEx,
	Syntax: "key [BYINT integer | BYFLOAT float] [SATURATE] [LBOUND lowerbound] [UBOUND upperbound] " +
		"[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] " +
		"[ENX]",
	Summary:   "Adds to the number of a key within bounds, and sets the key's deadline.",
	Example:   "hits:42 UBOUND 100 EX 60 ENX",
	Deviation: "from Redis 8.8; syntax errors say what is wrong",
}

// incrExCall is the arguments of INCREX behind the key.
type incrExCall struct {
	byInt, byFloat, lower, upper []byte // nil: not given
	saturate, enx                bool
	ttl                          ttlOption
	atMs                         int64 // the new deadline, if ttl sets one
}

func (a *incrExCall) parse(c *Ctx) (refusal resp.Value) {
	for o := (options{c.Args[2:]}); o.more(); {
		word := o.rest[0]
		switch value, flag := a.optionOf(word); {
		case value != nil && *value != nil || flag != nil && *flag:
			return SyntaxError(Quote(word) + " is given twice")
		case flag != nil:
			o.value()
			*flag = true
		case value != nil:
			o.value()
			if !o.more() {
				return SyntaxError(Quote(word) + " needs a value")
			}
			*value = o.value()
		case a.ttl.keyword != nil:
			return SyntaxError(Quote(word) + " is not an option, or is a second deadline")
		case !a.ttl.read(&o, ttlOfGetEx):
			return SyntaxError(Quote(word) + " is not an option or needs a value")
		}
	}
	switch {
	case a.byInt != nil && a.byFloat != nil:
		return SyntaxError("BYINT and BYFLOAT exclude each other")
	case a.enx && a.ttl.keyword == &ttlPersist:
		return SyntaxError("ENX and PERSIST exclude each other")
	case a.enx && a.ttl.keyword == nil:
		return errIncrExENX
	}
	if a.ttl.arg != nil {
		a.atMs, refusal = a.ttl.deadline(c)
	}
	return refusal
}

// optionOf returns the value or the flag that an option sets. Deadlines are not among
// them.
func (a *incrExCall) optionOf(word []byte) (value *[]byte, flag *bool) {
	switch {
	case EqualFold(word, "byint"):
		return &a.byInt, nil
	case EqualFold(word, "byfloat"):
		return &a.byFloat, nil
	case EqualFold(word, "lbound"):
		return &a.lower, nil
	case EqualFold(word, "ubound"):
		return &a.upper, nil
	case EqualFold(word, "saturate"):
		return nil, &a.saturate
	case EqualFold(word, "enx"):
		return nil, &a.enx
	}
	return nil, nil
}

// INCREX key [BYINT n | BYFLOAT x] [SATURATE] [LBOUND v] [UBOUND v]
// [EX s | PX ms | EXAT s | PXAT ms | PERSIST] [ENX]
//
// Returns the new value and by how much it has changed. A result outside the bounds or
// the type's range changes nothing, and the second number is 0; with SATURATE the value
// becomes the bound.
func incrEx(c *Ctx) resp.Value {
	var a incrExCall
	if refusal := a.parse(c); refusal.IsError() {
		return refusal
	}
	if a.byFloat != nil {
		return a.countFloat(c)
	}
	return a.countInt(c)
}

func (a *incrExCall) countInt(c *Ctx) resp.Value {
	by, lower, upper, refusal := a.integers()
	if refusal.IsError() {
		return refusal
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	old := int64(0)
	if s != nil {
		var ok bool
		if old, ok = s.Int(); !ok {
			if old, ok = parseInt(s.Bytes(nil)); !ok {
				return ErrNotInteger
			}
		}
	}
	sum, above, below := old+by, false, false
	switch overflows := by > 0 && sum < old || by < 0 && sum > old; {
	case overflows:
		above, below = by > 0, by < 0
	default:
		above, below = sum > upper, sum < lower
	}
	if above || below {
		if !a.saturate {
			return resp.Array(append(c.Values(2), resp.Int(old), resp.Int(0))...)
		}
		if sum = upper; below {
			sum = lower
		}
		by = sum - old
		if (sum > old) != (by > 0) && sum != old {
			return ErrIncrExOverflow
		}
	}
	if n == nil {
		n = c.DB.Put(c.Args[1], store.NewInt(sum))
	} else {
		s.SetInt(sum)
	}
	a.finish(c, n)
	return resp.Array(append(c.Values(2), resp.Int(sum), resp.Int(by))...)
}

// integers returns the numbers of a call without BYFLOAT.
func (a *incrExCall) integers() (by, lower, upper int64, refusal resp.Value) {
	by, okBy := intOr(a.byInt, 1)
	lower, okLower := intOr(a.lower, math.MinInt64)
	upper, okUpper := intOr(a.upper, math.MaxInt64)
	switch {
	case !okBy:
		return 0, 0, 0, errIncrExInt
	case !okLower:
		return 0, 0, 0, errLBoundInt
	case !okUpper:
		return 0, 0, 0, errUBoundInt
	case lower > upper:
		return 0, 0, 0, errIncrExBounds
	}
	return by, lower, upper, resp.None
}

// intOr reads an optional integer.
func intOr(arg []byte, otherwise int64) (n int64, ok bool) {
	if arg == nil {
		return otherwise, true
	}
	return parseInt(arg)
}

// finish sets the deadline of a key that has changed, and marks its watchers.
func (a *incrExCall) finish(c *Ctx, n *store.Node) {
	oldMs, has := n.Value.ExpireAtMs()
	switch {
	case a.ttl.keyword == &ttlPersist:
		c.DB.Persist(n)
	case a.ttl.keyword == nil || a.enx && has:
	case a.atMs <= c.NowMs:
		c.DB.Delete(n) // a deadline in the past
		c.DidCall("DEL", c.Args[1])
		return
	default:
		c.DB.ExpireAt(n, a.atMs)
	}
	c.DB.Modified(n)
	if c.Group() != nil {
		var digits [20]byte
		atMs, _ := n.Value.ExpireAtMs()
		c.DidValueAt(c.Args[1], store.StringOf(n).Bytes(digits[:0]), atMs, oldMs)
	}
}

// greatestLongDouble is the largest finite C long double.
func greatestLongDouble() *big.Float {
	f := newLongDouble().SetUint64(math.MaxUint64)
	return f.SetMantExp(f, maxLongDouble-longDoubleBits)
}

func (a *incrExCall) countFloat(c *Ctx) resp.Value {
	by, upper := newLongDouble(), greatestLongDouble()
	lower := new(big.Float).Neg(upper)
	for _, arg := range []struct {
		text    []byte
		to      *big.Float
		refusal resp.Value
	}{{a.byFloat, by, errIncrExFloat}, {a.lower, lower, errLBoundFloat}, {a.upper, upper, errUBoundFloat}} {
		if arg.text != nil {
			if _, ok := parseLongDouble(arg.to, arg.text); !ok {
				return arg.refusal
			}
		}
	}
	switch {
	case by.IsInf():
		return errIncrExByInf
	case lower.Cmp(upper) > 0:
		return errIncrExBounds
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	old := newLongDouble()
	if s != nil {
		var digits [20]byte
		if _, ok := parseLongDouble(old, s.Bytes(digits[:])); !ok {
			return errNotFloat
		}
		if old.IsInf() {
			return errIncrExInf
		}
	}
	sum, most := newLongDouble().Add(old, by), greatestLongDouble()
	over := sum.Cmp(most) > 0 || sum.Cmp(new(big.Float).Neg(most)) < 0
	if above, below := sum.Cmp(upper) > 0, sum.Cmp(lower) < 0; above || below || over {
		if !a.saturate {
			return resp.Array(append(c.Values(2), floatReply(c, old), floatReply(c, newLongDouble()))...)
		}
		if sum = upper; below || over && by.Sign() < 0 {
			sum = lower
		}
		if sum.IsInf() {
			return errIncrExApplied
		}
		by.Sub(sum, old)
		if new(big.Float).Abs(by).Cmp(most) > 0 {
			return errIncrExApplied
		}
	}
	text := humanLongDouble(sum)
	if n == nil {
		s = &store.String{}
		s.SetBytes(text)
		n = c.DB.Put(c.Args[1], s)
	} else {
		s.SetBytes(text)
	}
	a.finish(c, n)
	return resp.Array(append(c.Values(2), floatReply(c, sum), floatReply(c, by))...)
}

// floatReply returns a long double as its text, in RESP3 as a double.
func floatReply(c *Ctx, f *big.Float) resp.Value {
	if c.Proto == resp.RESP3 {
		double, _ := f.Float64()
		return resp.Double(double)
	}
	return c.Copy(humanLongDouble(f))
}

// An Increment is the parsed arguments of INCREX.
type Increment struct {
	By, Lower, Upper int64
	Float, Saturate  bool // with Float the three numbers are 0
	// Expiry is the deadline to set, if Deadline is KeepDeadline or SetDeadline: in unix
	// milliseconds, or from now on.
	Deadline Deadline
	ExpiryMs int64
	FromNow  bool
}

// Deadline is what INCREX does to a key's deadline.
type Deadline uint8

// The values of Deadline.
const (
	LeaveDeadline  Deadline = iota
	SetDeadline             // sets a new one
	KeepDeadline            // ENX: sets one unless the key has one
	RemoveDeadline          // PERSIST
)

// Parse sets i to the arguments of a call. Of c it uses Args and Cmd.
func (i *Increment) Parse(c *Ctx) resp.Value {
	var a incrExCall
	// At instant 0 a deadline from now on is its distance.
	if refusal := a.parse(&Ctx{Args: c.Args, Cmd: c.Cmd}); refusal.IsError() {
		return refusal
	}
	i.Saturate, i.ExpiryMs = a.saturate, a.atMs
	switch {
	case a.ttl.keyword == nil:
	case a.ttl.keyword == &ttlPersist:
		i.Deadline = RemoveDeadline
	default:
		i.Deadline, i.FromNow = SetDeadline, !a.ttl.keyword.absolute
		if a.enx {
			i.Deadline = KeepDeadline
		}
	}
	if a.byFloat != nil {
		i.Float = true
		return resp.None
	}
	var refusal resp.Value
	i.By, i.Lower, i.Upper, refusal = a.integers()
	return refusal
}
