package ratelimit

import (
	"slices"

	"github.com/zlimit/zlimit/resp"
)

// A Batch is calls of RL.ALLOW or CL.THROTTLE that one call of a function decides, in
// their order and at one instant.
type Batch struct {
	calls []*Call
}

// Combines reports whether one call of a function can decide both calls: they are about
// the same key, with the same limits and algorithm.
func (k *Call) Combines(o *Call) bool {
	return k.caller.decides && o.caller.decides && k.function == o.function &&
		slices.Equal(k.keys[0], o.keys[0]) && slices.EqualFunc(k.args, o.args, slices.Equal[[]byte])
}

// Combinable reports whether there are calls that combine with k. Those have the same
// Signature.
func (k *Call) Combinable() bool { return k.caller.decides }

// Bound limits how many members RL.ADOPT may make of a key: each takes the engine time in which it does
// nothing else. It must be called once, if at all.
func (k *Call) Bound(most int64) {
	if k.function == "adopt" {
		k.most = most
		k.args = append(k.args, number(most))
	}
}

// AppendSignature appends a text that only calls that combine with k have.
func (k *Call) AppendSignature(b []byte) []byte {
	b = append(b, k.function...)
	for _, arg := range k.args {
		b = append(append(b, ' '), arg...)
	}
	return append(append(b, ' '), k.keys[0]...)
}

// Combine returns a batch of calls, of which there is at least one and which combine with
// each other.
func Combine(calls []*Call) *Batch { return &Batch{calls} }

// ReadOnly reports whether no call changes anything.
func (b *Batch) ReadOnly() bool {
	return !slices.ContainsFunc(b.calls, func(k *Call) bool { return !k.ReadOnly() })
}

func (b *Batch) name() string {
	for _, k := range b.calls {
		if !k.peek {
			return k.name()
		}
	}
	return b.calls[0].name()
}

// AppendFCall appends the words of FCALL or FCALL_RO.
func (b *Batch) AppendFCall(words [][]byte) [][]byte {
	k := b.calls[0]
	return b.appendCallers(appendFCall(words, b.name(), b.ReadOnly(), k.keys, k.args))
}

// AppendEval appends the words of EVALSHA.
func (b *Batch) AppendEval(words [][]byte) [][]byte {
	k := b.calls[0]
	return b.appendCallers(appendEval(words, b.name(), k.keys, k.args))
}

func (b *Batch) appendCallers(words [][]byte) [][]byte {
	for _, k := range b.calls {
		words = k.caller.appendTo(words)
	}
	return words
}

// Split returns the part of the function's reply for each call, as its own function would
// have answered it alone. What concerns the key as a whole is the same for all.
func (b *Batch) Split(raw []byte) [][]byte {
	parts := make([][]byte, len(b.calls))
	n, ok := numbers(make([]item, 0, decisionLen*len(b.calls)), raw)
	if !ok || len(n) != decisionLen*len(b.calls) {
		for i := range parts {
			parts[i] = raw
		}
		return parts
	}
	for i := range parts {
		elems := make([]resp.Value, decisionLen)
		for j := range elems {
			elems[j] = n[decisionLen*i+j].value()
		}
		part := resp.Array(elems...)
		parts[i] = resp.Append(nil, &part, resp.RESP2)
	}
	return parts
}
