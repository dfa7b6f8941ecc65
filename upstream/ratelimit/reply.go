package ratelimit

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// An item is one number of a function's reply. null says that it is unknown.
type item struct {
	n    int64
	null bool
}

func (i item) value() resp.Value {
	if i.null {
		return resp.Null
	}
	return resp.Int(i.n)
}

func known(n []item) bool {
	for _, i := range n {
		if i.null {
			return false
		}
	}
	return true
}

func values(c *commands.Ctx, n []item) resp.Value {
	out := c.Values(len(n))
	for _, i := range n {
		out = append(out, i.value())
	}
	return resp.Array(out...)
}

// What is wrong with a key; see prelude.lua.
const (
	codeHolds = -101 - iota
	codeForeign
	codeDiffers
	codeClock
	codeLarge
	codeForeignHold
	codeNoRefund
	codeSum
	codeNotInteger
	codeOverflow
	codeAdoptLarge
	codeAdoptScores
	codeEntries
	codeHoldKeys
	codeLong
	codeNamedTwice
	codeOutside
)

// codeReplies are the replies for the codes whose numbers say nothing.
var codeReplies = map[int64]resp.Value{
	codeClock: rl.ErrLimitClock, codeLarge: errLarge, codeForeignHold: rl.ErrForeignHold,
	codeHoldKeys: rl.ErrHoldKeys, codeLong: rl.ErrLong, codeOutside: errOutside, codeSum: rl.ErrSum,
	codeEntries: errEntries, codeAdoptScores: rl.ErrAdoptScores, codeNotInteger: commands.ErrNotInteger,
	codeOverflow: commands.ErrIncrExOverflow,
}

var redisTypes = [...]string{"", "zset", "string", "hash"}

// Reply returns the command's reply for a function's, which is in RESP2 or RESP3. Errors
// of the engine are handed on.
func (k *Call) Reply(c *commands.Ctx, raw []byte) resp.Value {
	var buf [32]item
	n, ok := numbers(buf[:0], raw)
	switch {
	case len(raw) > 0 && raw[0] == '-':
		return resp.Encoded(raw)
	case !ok:
		return k.unexpected()
	}
	if len(n) > 0 && n[0].n <= codeHolds {
		return k.refusal(n)
	}
	reply, ok := k.kind.reply(c, k, n)
	if !ok {
		return k.unexpected()
	}
	return reply
}

// Made returns the decision in the last reply of Reply, or nil if there is none.
func (k *Call) Made() *rl.LimitDecision {
	if k.made.Call == nil {
		return nil
	}
	return &k.made
}

// decide notes the decision in a reply. binding is the index of the binding key.
func (k *Call) decide(d *limiter.Decision, binding int) {
	k.made = rl.LimitDecision{Call: &k.limit, Keys: k.keys, Decision: *d, Binding: binding}
}

func (k *Call) unexpected() resp.Value {
	return resp.Error("ERR upstream: the function " + functionName(k.name()) +
		" answered something else than it does")
}

// refusal returns the error reply for a code and its two numbers, or four. The last of what is about a
// key's content is the algorithm of the term, if the call has terms.
func (k *Call) refusal(n []item) resp.Value {
	if len(n) < 3 {
		return k.unexpected()
	}
	a, names, want := n[1].n, rl.LimitAlgorithms(), k.limit.Algorithm
	if last := n[len(n)-1].n; len(n)%2 == 0 && last >= 1 && last <= int64(len(names)) {
		n, want = n[:len(n)-1], names[last-1]
	}
	switch n[0].n {
	case codeHolds:
		if a >= 1 && a <= int64(len(names)) {
			return rl.HoldsReply(names[a-1], want)
		}
	case codeForeign:
		if a >= 0 && a < int64(len(redisTypes)) {
			return rl.ForeignReply(redisTypes[a], want)
		}
	case codeDiffers:
		parameters := make([]any, len(n)-1)
		for i := range parameters {
			parameters[i] = n[1+i].n
		}
		if reply, ok := rl.DiffersReply(want, parameters); ok {
			return reply
		}
	case codeNamedTwice:
		if a >= 1 && a <= int64(len(k.keys)) {
			return rl.NamedTwice(k.keys[a-1])
		}
	case codeNoRefund:
		if a >= 1 && a <= int64(len(names)) {
			return rl.NoRefundReply(names[a-1])
		}
	case codeAdoptLarge:
		if k.most > 0 && k.most < rl.MaxAdopted {
			return resp.Error(fmt.Sprintf("ERR key holds more than upstream-max-units (%d) members", k.most))
		}
		return rl.ErrAdoptLarge
	default:
		if reply, ok := codeReplies[n[0].n]; ok {
			return reply
		}
	}
	return k.unexpected()
}

// numbers appends the elements of an array of integers, integers as bulk strings, and
// nulls. It reports false for every other reply.
func numbers(out []item, raw []byte) ([]item, bool) {
	kind, text, rest := line(raw)
	length, ok := parseInt(text)
	if kind != '*' || !ok || length < 0 {
		return nil, false
	}
	for range length {
		kind, text, rest = line(rest)
		if kind == '$' && string(text) != "-1" {
			size, ok := parseInt(text)
			if !ok || size < 0 || size > int64(len(rest)-2) {
				return nil, false
			}
			kind, text, rest = ':', rest[:size], rest[size+2:]
		}
		switch kind {
		case ':':
			n, ok := parseInt(text)
			if !ok {
				return nil, false
			}
			out = append(out, item{n: n})
		case '$', '_':
			out = append(out, item{null: true})
		default:
			return nil, false
		}
	}
	return out, len(rest) == 0
}

// line returns the kind and the text of the first line, and what follows it.
func line(raw []byte) (kind byte, text, rest []byte) {
	text, rest, ok := bytes.Cut(raw, []byte("\r\n"))
	if !ok || len(text) == 0 {
		return 0, nil, nil
	}
	return text[0], text[1:], rest
}

func parseInt(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}
