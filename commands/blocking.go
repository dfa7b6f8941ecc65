package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Wait is what a command that found no element is blocked on. Handlers can neither
// lock nor block: they set Ctx.Waiting, and package engine calls Take when one of the
// keys exists.
type Wait struct {
	Keys      [][]byte   // owned by the Wait
	Target    []byte     // another key that Take changes; nil: none
	TimeoutMs int64      // 0: no timeout
	TimedOut  resp.Value // the reply after the timeout

	// Wants reports whether a node is of the type that the command waits for.
	Wants func(n *store.Node) bool
	// Take removes elements from n, which Wants has accepted and is under one of the
	// keys, and returns the reply. The shards of n and of Target are locked, and c is
	// the Ctx of the blocked session.
	Take func(c *Ctx, n *store.Node) resp.Value
}

// A taker removes elements from a key of one type.
type taker struct {
	wants func(n *store.Node) bool
	take  func(c *Ctx, n *store.Node) resp.Value // as in Wait
}

// takeNow takes from the first of the keys that exists.
func takeNow(c *Ctx, keys [][]byte, t taker) resp.Value {
	for _, k := range keys {
		n := c.DB.Find(k, c.NowMs)
		switch {
		case n == nil:
		case !t.wants(n):
			return ErrWrongType
		default:
			return t.take(c, n)
		}
	}
	return resp.NullArray
}

// takeOrWait is takeNow for commands that block if none of the keys exists.
func takeOrWait(c *Ctx, keys [][]byte, timeout []byte, t taker) resp.Value {
	timeoutMs, refusal := parseTimeout(timeout)
	if refusal.IsError() {
		return refusal
	}
	reply := takeNow(c, keys, t)
	if reply.Kind() != resp.KindNullArray {
		return reply
	}
	return c.wait(&Wait{
		Keys: ownKeys(keys), TimeoutMs: timeoutMs, TimedOut: resp.NullArray, Wants: t.wants, Take: t.take,
	}, resp.NullArray)
}

// wait blocks the command on w. Where a command cannot block, as in MULTI, it returns
// the reply of a timeout.
func (c *Ctx) wait(w *Wait, otherwise resp.Value) resp.Value {
	if !c.MayWait {
		return otherwise
	}
	c.Waiting = w
	return resp.None
}

// ownKeys copies keys: a Wait outlives its command's arguments.
func ownKeys(args [][]byte) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = append([]byte(nil), a...)
	}
	return out
}

// parseTimeout reads seconds, with a fraction, as milliseconds. It rounds up, so that
// no fraction becomes 0, which means no timeout.
func parseTimeout(arg []byte) (ms int64, refusal resp.Value) {
	seconds, ok := parseSeconds(arg)
	if !ok {
		return 0, errTimeoutFloat
	}
	f := math.Ceil(seconds * 1000)
	if f < 0 || f >= math.MaxInt64 {
		// In Redis a number too large for an int64 wraps around, and is refused with
		// the same text.
		return 0, ErrTimeoutNegative
	}
	return int64(f), resp.None
}
