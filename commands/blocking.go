package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Wait is what a command that found nothing to take waits for. Handlers can
// neither lock nor wait: they leave a Wait in Ctx, and whoever runs commands
// (package engine) calls Take once one of the keys is there.
type Wait struct {
	Keys      [][]byte   // each of which may bring something; the Wait's own
	Target    []byte     // another key that Take changes; nil: none
	TimeoutMs int64      // 0: for ever
	TimedOut  resp.Value // what is answered when nothing came in time

	// Wants reports whether a node is of the type that the command waits for.
	Wants func(n *store.Node) bool
	// Take takes something from n, which is wanted, alive and under one of the
	// keys, and returns the reply. It is called with the shards of n and of
	// Target held, and with the Ctx of the session that waits.
	Take func(c *Ctx, n *store.Node) resp.Value
}

// A taker takes something from a key of one type.
type taker struct {
	wants func(n *store.Node) bool
	take  func(c *Ctx, n *store.Node) resp.Value // as in Wait
}

// takeNow takes from the first of the keys that is there.
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

// takeOrWait is takeNow for commands that wait where none of the keys is there.
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

// wait makes the command wait where that is possible; inside MULTI it is not,
// and the reply is otherwise.
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

// parseTimeout reads seconds, with a fraction, as milliseconds, rounded up so
// that no fraction becomes for ever.
func parseTimeout(arg []byte) (ms int64, refusal resp.Value) {
	seconds, ok := parseSeconds(arg)
	if !ok {
		return 0, errTimeoutFloat
	}
	f := math.Ceil(seconds * 1000)
	if f < 0 || f >= math.MaxInt64 {
		// What is too large for an int64 wraps around in Redis, and is refused
		// with the same words.
		return 0, ErrTimeoutNegative
	}
	return int64(f), resp.None
}
