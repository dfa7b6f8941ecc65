package local_test

import (
	"slices"

	"github.com/zlimit/zlimit/limiter"
)

// A world is the log of one key and a clock in microseconds.
type world struct {
	nowUs      int64
	scores     []int64
	expireAtMs int64
}

func newWorld() *world { return &world{nowUs: 1_700_000_000_000_000} }

func (w *world) Len() int              { return len(w.scores) }
func (w *world) UnitAt(rank int) int64 { return w.scores[rank] }
func (w *world) Oldest() int64         { return w.scores[0] }
func (w *world) Newest() int64         { return w.scores[len(w.scores)-1] }

func (w *world) CountAfter(score int64) int {
	at, _ := slices.BinarySearch(w.scores, score+1)
	return len(w.scores) - at
}

func (w *world) nowMs() int64 { return w.nowUs / 1000 }

func (w *world) peek(limit, windowMs, cost int64) limiter.Decision {
	d, err := limiter.Peek(w, w.nowMs(), w.expireAtMs, []limiter.Quota{{Limit: limit, WindowMs: windowMs}},
		cost)
	if err != nil {
		panic(err)
	}
	return d
}

// allow decides a call. aheadMs is how much later than now its units are recorded.
func (w *world) allow(limit, windowMs, cost, aheadMs int64) limiter.Decision {
	d := w.peek(limit, windowMs, cost)
	if d.Allowed == 0 {
		return d
	}
	c, err := limiter.Record(w, w.nowMs()+aheadMs, w.expireAtMs, windowMs, d.Allowed)
	if err != nil {
		panic(err)
	}
	for i := range c.Units {
		w.scores = append(w.scores, c.First+i)
	}
	w.expireAtMs = c.ExpireAtMs
	return d
}

// refund removes the newest n units.
func (w *world) refund(n int) { w.scores = w.scores[:max(0, len(w.scores)-n)] }
