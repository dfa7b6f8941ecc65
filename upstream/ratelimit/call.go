package ratelimit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
)

// A Call is a rate limit command as a call of a function. It aliases the command's
// arguments.
type Call struct {
	limit    rl.LimitCall
	kind     *kind
	function string // without the suffix of a call that changes nothing
	peekable bool   // the function has such a variant
	peek     bool   // the call changes nothing
	keys     [][]byte
	args     [][]byte // of the function; a decision's caller has two more

	caller caller
	most   int64 // members that RL.ADOPT may make; 0: as many as the command

	nowMs int64            // by the gateway's clock, or as MoveTo says
	made  rl.LimitDecision // see Made; its Call is nil if there is none
}

// A caller is one of the calls that a function decides, which has a decision for each in its reply.
type caller struct {
	decides       bool // false: the function decides nothing, or takes no callers
	cost, options int64
}

// appendTo appends the words of a caller.
func (c *caller) appendTo(words [][]byte) [][]byte {
	if !c.decides {
		return words
	}
	return append(words, number(c.cost), number(c.options))
}

// Options of a caller; see prelude.lua.
const (
	optionAtMost = 1 << iota
	optionPeek
	optionFull
	optionCharge
)

// inexact is the first integer that a double may stand for together with another one.
const inexact = 1 << 53

// maxExpiryMs bounds a deadline of INCREX, so that adding the present time is exact.
const maxExpiryMs = 1 << 52

var (
	errEntries = resp.Error("ERR key holds more than 100000 entries, some of several units, " +
		"which a gateway counts one by one")
	errLimit        = resp.Error("ERR limit must be at most " + strconv.Itoa(inexact-1) + " over an upstream")
	errHeldCalendar = resp.Error("ERR a reservation over a window of the calendar is not available over an " +
		"upstream")
	errOutside = resp.Error("ERR the upstream's clock is in another slice of the calendar than this " +
		"server's: call again")
	errFloat = resp.Error("ERR INCREX with BYFLOAT is not available over an upstream")
	errLarge = resp.Error("ERR key holds a number above " + strconv.Itoa(inexact-1) +
		", which is not available over an upstream")
)

// Handles reports whether calls of a command become calls of functions.
func Handles(cmd *commands.Command) bool { return kinds[cmd.Name] != nil }

// Parse returns the call of c as a call of a function, or the error reply of a call that
// is invalid or beyond the package's bounds. Handles must report c.Cmd. Of c it uses Args,
// Cmd, Settings and NowMs, and the number of arguments must be right.
func Parse(c *commands.Ctx) (*Call, resp.Value) {
	k := &Call{kind: kinds[c.Cmd.Name], nowMs: c.NowMs}
	if refusal := k.kind.parse(&k.limit, c); refusal.IsError() {
		return nil, refusal
	}
	if k.keys = k.limit.Keys; k.keys == nil {
		k.keys = c.Cmd.AppendKeys(nil, c.Args)
	}
	if refusal := k.kind.prepare(k); refusal.IsError() {
		return nil, refusal
	}
	return k, resp.None
}

// Outside returns the instant of a reply that says that the engine's clock is in another slice of a calendar
// than the call, which has changed nothing. MoveTo makes it one of that instant.
func (k *Call) Outside(reply []byte) (nowMs int64, outside bool) {
	if !bytes.Contains(reply[:min(len(reply), len(outsideHead)+4)], outsideHead) {
		return 0, false
	}
	n, ok := numbers(nil, reply)
	if !ok || len(n) < 3 || n[0].n != codeOutside {
		return 0, false
	}
	return n[1].n, true
}

// outsideHead is in the beginning of such a reply.
var outsideHead = []byte("\r\n:" + strconv.Itoa(codeOutside) + "\r\n")

// MoveTo makes the call one of an instant by the engine's clock.
func (k *Call) MoveTo(nowMs int64) {
	k.nowMs = nowMs
	k.kind.prepare(k) // which has refused nothing before
}

// Keys returns the keys of the call, in the function's order.
func (k *Call) Keys() [][]byte { return k.keys }

// ReadOnly reports whether the call changes nothing, so that a replica may answer it.
func (k *Call) ReadOnly() bool { return k.peek || k.function == "info" }

// AppendFCall appends the words of FCALL or FCALL_RO.
func (k *Call) AppendFCall(words [][]byte) [][]byte {
	return k.caller.appendTo(appendFCall(words, k.name(), k.ReadOnly(), k.keys, k.args))
}

// AppendEval appends the words of EVALSHA.
func (k *Call) AppendEval(words [][]byte) [][]byte {
	return k.caller.appendTo(appendEval(words, k.name(), k.keys, k.args))
}

func appendFCall(words [][]byte, function string, readOnly bool, keys, args [][]byte) [][]byte {
	command := "FCALL"
	if readOnly {
		command = "FCALL_RO"
	}
	words = append(words, []byte(command), []byte(functionName(function)), number(int64(len(keys))))
	return append(append(words, keys...), args...)
}

func appendEval(words [][]byte, function string, keys, args [][]byte) [][]byte {
	words = append(words, []byte("EVALSHA"), []byte(ScriptSHA), number(int64(len(keys))))
	words = append(append(words, keys...), []byte(function))
	return append(words, args...)
}

// name returns the function's name in the library's table.
func (k *Call) name() string {
	if k.peek && k.peekable {
		return k.function + "_peek"
	}
	return k.function
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// count returns a number that is only compared with smaller ones.
func count(n int64) []byte { return number(min(n, inexact)) }

// decision prepares a call of a function that decides for callers.
func (k *Call) decision(function string, args ...[]byte) {
	k.function, k.args, k.peekable = function, args, true
	call := k.limit.Call
	if call.Cost == 0 && k.kind.zeroPeeks {
		call.Cost, call.Peek = 1, true
	}
	k.peek = call.Peek
	k.caller = caller{decides: true, cost: min(call.Cost, inexact)}
	for _, o := range [...]struct {
		given bool
		bit   int64
	}{{call.AtMost, optionAtMost}, {call.Peek, optionPeek}, {k.limit.Full, optionFull}} {
		if o.given {
			k.caller.options |= o.bit
		}
	}
}

// allow prepares a call of RL.ALLOW or CL.THROTTLE.
func (k *Call) allow() resp.Value {
	t := &k.limit.Terms[0]
	args, refusal := k.appendTerm(make([][]byte, 0, 2+2*len(t.Quotas)), t)
	if !refusal.IsError() {
		k.decision(strings.ToLower(t.Algorithm), args...)
	}
	return refusal
}

// appendTerm appends the words of a term; see quotas_of in terms.lua.
func (k *Call) appendTerm(words [][]byte, t *rl.LimitTerm) (_ [][]byte, refusal resp.Value) {
	words = append(words, number(int64(len(t.Quotas))))
	for _, q := range t.Quotas {
		if q.Limit >= inexact && !t.AnyLimit {
			return nil, errLimit
		}
		window := number(q.WindowMs)
		if q.Calendar != nil {
			startMs, endMs := q.Calendar.Slice(k.nowMs)
			window = append(append(number(startMs), ':'), number(endMs)...)
		}
		words = append(words, number(q.Limit), window)
	}
	return append(words, number(t.Param)), resp.None
}

// joint prepares a call of a function that decides a term for each key. words are behind its options and the
// id.
func (k *Call) joint(function string, words ...[]byte) (refusal resp.Value) {
	k.function = function
	options := int64(0)
	if k.limit.Peek {
		options |= optionPeek
	}
	if k.limit.Full {
		options |= optionFull
	}
	if k.limit.Charge {
		options |= optionCharge
	}
	k.args = append(make([][]byte, 0, 3+6*len(k.limit.Terms)), number(options), k.limit.ID)
	k.args = append(k.args, words...)
	for i := range k.limit.Terms {
		t := &k.limit.Terms[i]
		k.args = append(k.args, algorithmNumbers[t.Algorithm], count(t.Cost))
		if k.args, refusal = k.appendTerm(k.args, t); refusal.IsError() {
			return refusal
		}
	}
	return resp.None
}

// algorithmNumbers are the algorithms' numbers in the functions, by name.
var algorithmNumbers = func() map[string][]byte {
	numbers := make(map[string][]byte)
	for i, name := range rl.LimitAlgorithms() {
		numbers[name] = number(int64(i + 1))
	}
	return numbers
}()

// mallow prepares a call of RL.MALLOW or RL.CHECK.
func (k *Call) mallow() resp.Value {
	k.peekable, k.peek = true, k.limit.Peek
	return k.joint("mallow")
}

// reserve prepares a call of RL.RESERVE or RL.MRESERVE. What such a call has taken may be settled in a later
// slice of a calendar, which the function cannot know.
func (k *Call) reserve() resp.Value {
	for _, t := range k.limit.Terms {
		if t.Quotas[0].Calendar != nil {
			return errHeldCalendar
		}
	}
	return k.joint("reserve", number(k.limit.DurationMs))
}

// increx prepares a call of INCREX.
func (k *Call) increx() resp.Value {
	i := &k.limit.Increment
	switch {
	case i.Float:
		return errFloat
	case i.ExpiryMs >= maxExpiryMs:
		return resp.Error("ERR invalid expire time in 'increx' command")
	}
	flag := func(b bool) []byte {
		if b {
			return []byte("1")
		}
		return []byte("0")
	}
	mode := map[commands.Deadline]string{
		commands.LeaveDeadline: "", commands.SetDeadline: "set", commands.KeepDeadline: "keep",
		commands.RemoveDeadline: "persist",
	}[i.Deadline]
	k.function = "increx"
	k.args = [][]byte{
		number(i.By), number(i.Lower), number(i.Upper), flag(i.Saturate), []byte(mode), number(i.ExpiryMs),
		flag(i.FromNow),
	}
	return resp.None
}
