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
	TimeoutMs int64      // of real time; 0: no timeout
	TimedOut  resp.Value // the reply after the timeout

	// Room is set instead of the fields below by a command that waits for room in its keys.
	Room *RoomWait

	// Wants reports whether a node is of the type that the command waits for.
	Wants func(n *store.Node) bool
	// Take removes elements from n, which Wants has accepted and is under one of the
	// keys, and returns the reply. The shards of n and of Target are locked, and c is
	// the Ctx of the blocked session.
	Take func(c *Ctx, n *store.Node) resp.Value
}

// A popper removes elements from a key of one type.
type popper struct {
	wants func(n *store.Node) bool
	take  func(c *Ctx, n *store.Node) resp.Value // as in Wait
}

// popNow removes elements from the first of the keys that exists.
func popNow(c *Ctx, keys [][]byte, p popper) resp.Value {
	for _, k := range keys {
		n := c.DB.Find(k, c.NowMs)
		switch {
		case n == nil:
		case !p.wants(n):
			return ErrWrongType
		default:
			return p.take(c, n)
		}
	}
	return resp.NullArray
}

// popOrBlock is popNow for commands that block if none of the keys exists.
func popOrBlock(c *Ctx, keys [][]byte, timeout []byte, p popper) resp.Value {
	timeoutMs, refusal := parseTimeout(timeout)
	if refusal.IsError() {
		return refusal
	}
	reply := popNow(c, keys, p)
	if reply.Kind() != resp.KindNullArray {
		return reply
	}
	return c.wait(&Wait{
		Keys: ownKeys(keys), TimeoutMs: timeoutMs, TimedOut: resp.NullArray, Wants: p.wants, Take: p.take,
	}, resp.NullArray)
}

// wait blocks the command on w. Where a command cannot block, as in MULTI, it returns
// the reply of a timeout.
func (c *Ctx) wait(w *Wait, otherwise resp.Value) resp.Value {
	if !c.Mode.Is(MayWait) {
		return otherwise
	}
	c.Waiting = w
	return resp.None
}

// Wait makes the command wait for room in keys.
func (c *Ctx) Wait(keys [][]byte, room *RoomWait) {
	c.Waiting = &Wait{Keys: ownKeys(keys), TimedOut: resp.NullArray, Room: room}
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

// A RoomWait is a command that waits, on the server's clock, until there is room in its keys for what it
// takes. Package engine calls its handler again, with Ctx.Waiting set, when room may have come: a call is
// first in the queues of all its keys then. The handler returns resp.None to go on waiting, or calls Claim
// and, if that is true, changes the keys and returns the reply. When the time is over it may not wait on.
type RoomWait struct {
	SinceMs int64 // when the command came
	UntilMs int64 // when its time is over
	// DueMs is when there is room unless the keys change before. It counts for the first in the queues.
	DueMs int64
	// Claim ends the wait; it reports false if that has ended in another way.
	Claim func() bool
}

// IsOver reports whether the time of the wait is over.
func (r *RoomWait) IsOver(nowMs int64) bool { return nowMs >= r.UntilMs }
