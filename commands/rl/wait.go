package rl

import (
	"math"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A call with WAIT that is denied waits until its keys have room for it, in the order of arrival, or its time
// is over: docs/adr/0054-waiting.md. Package engine keeps the queues and calls the handler again.

var (
	errWaitScript    = resp.Error("ERR WAIT is not allowed from scripts")
	errWaitElsewhere = resp.Error("ERR WAIT is not served here: the keys are upstream, where nothing tells " +
		"when they change")
	errWaitShadow = commands.SyntaxError("WAIT does not go with SHADOW, which denies nobody")
	errWaitPeek   = commands.SyntaxError("WAIT does not go with PEEK or COST 0")
)

// errWaitFull refuses a call beyond rl-max-waiting.
func errWaitFull(key []byte, most int64) resp.Value {
	return resp.Error("ERR as many calls wait for key " + commands.Quote(key) +
		" as rl-max-waiting allows (" + strconv.FormatInt(most, 10) + ")")
}

// waits decides whether a call with WAIT waits instead of being answered now. names has its keys as every
// step-th, which have room for it after retryMs: 0 is now, -1 never. If it reports false the call may change
// its keys, if they have room; if it reports true the handler returns the refusal.
func waits(c *commands.Ctx, waitMs, retryMs int64, names [][]byte) (waiting bool, refusal resp.Value) {
	if c.Waiting != nil {
		return waitsOn(c, retryMs), resp.None
	}
	if c.Mode.Is(commands.InScript) {
		return true, errWaitScript
	}
	if retryMs < 0 || !c.Mode.Is(commands.MayWait) {
		return false, resp.None
	}
	queued := false
	for _, name := range names {
		n := c.DB.WaitersForChange(name)
		if n > 0 {
			queued = true
		}
		if int64(n) >= c.Settings.RLMaxWaiting && (retryMs > 0 || queued) {
			return true, errWaitFull(name, c.Settings.RLMaxWaiting)
		}
	}
	if retryMs == 0 && !queued {
		return false, resp.None
	}
	c.Wait(names, &commands.RoomWait{
		SinceMs: c.NowMs, UntilMs: later(c.NowMs, waitMs), DueMs: later(c.NowMs, retryMs),
	})
	return true, resp.None
}

// waitsOn is waits for a call that is called again.
func waitsOn(c *commands.Ctx, retryMs int64) bool {
	room := c.Waiting.Room
	if retryMs > 0 && !room.IsOver(c.NowMs) {
		room.DueMs = later(c.NowMs, retryMs)
		return true
	}
	return !room.Claim()
}

func later(nowMs, ms int64) int64 {
	if ms > math.MaxInt64-nowMs {
		return math.MaxInt64
	}
	return nowMs + ms
}

// waitedMs returns for how long the call has waited.
func waitedMs(c *commands.Ctx) int64 {
	if c.Waiting == nil {
		return 0
	}
	return max(0, c.NowMs-c.Waiting.Room.SinceMs)
}

// waited appends to the reply of a call with WAIT for how long it has waited.
func waited(c *commands.Ctx, waitMs int64, reply []resp.Value) []resp.Value {
	if waitMs == 0 {
		return reply
	}
	return append(reply, resp.Int(waitedMs(c)))
}

// checkWait refuses WAIT beside what does not wait.
func checkWait(waitMs int64, peek, shadow bool) resp.Value {
	switch {
	case waitMs == 0:
	case peek:
		return errWaitPeek
	case shadow:
		return errWaitShadow
	}
	return resp.None
}
