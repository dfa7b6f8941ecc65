package limiter_test

import (
	"fmt"

	"github.com/zlimit/zlimit/limiter"
)

// entry is an entry of a log.
type entry struct{ score, units int64 }

// entries is a minimal Log; the server's is a sorted set.
type entries []entry

func (e entries) Len() int      { return len(e) }
func (e entries) Oldest() int64 { return e[0].score }
func (e entries) Newest() int64 { return e[len(e)-1].score }
func (e entries) Units() int64  { return e.UnitsAfter(0) }

func (e entries) UnitsAfter(score int64) (units int64) {
	for _, x := range e {
		if x.score > score {
			units += x.units
		}
	}
	return units
}

func (e entries) UnitAt(rank int64) int64 {
	for _, x := range e {
		if rank < x.units {
			return x.score
		}
		rank -= x.units
	}
	panic("no such unit")
}

// Allow two calls a second: decide, then record the decision.
func ExampleDecide() {
	var log entries
	var expireAtMs int64
	quota := []limiter.Quota{{Limit: 2, WindowMs: 1000}}
	const start = 1_700_000_000_000
	for _, nowMs := range []int64{start, start + 300, start + 400, start + 1000} {
		d, err := limiter.Decide(log, nowMs, expireAtMs, quota, 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		if d.Units > 0 {
			for len(log) > 0 && log[0].score <= d.DropThrough {
				log = log[1:]
			}
			if n := len(log); n > 0 && log[n-1].score == d.Score {
				log[n-1].units += d.Units
			} else {
				log = append(log, entry{d.Score, d.Units})
			}
			expireAtMs = d.ExpireAtMs
		}
		fmt.Println(nowMs-start, d.Allowed, d.Limit, d.Remaining, d.RetryAfterMs, d.ResetAfterMs)
	}
	// Output:
	// 0 1 2 1 0 1000
	// 300 1 2 0 0 1000
	// 400 0 2 0 600 900
	// 1000 1 2 0 0 1000
}

func ExamplePeek() {
	const now = 1_700_000_000_000
	log := entries{{(now - 400) * 1000, 1}}
	d, _ := limiter.Peek(log, now, now+600, []limiter.Quota{{Limit: 1, WindowMs: 1000}}, 1)
	fmt.Println(d.Allowed, d.Remaining, d.RetryAfterMs, d.ResetAfterMs)
	// Output: 0 0 600 600
}

// The same calls under each algorithm with a small state; the limit is three a second. The caller stores the
// state with its expiry and discards both once the expiry has passed.
func ExampleState() {
	quota := limiter.Quota{Limit: 3, WindowMs: 1000}
	const start = 1_700_000_000_000
	for _, algorithm := range []struct {
		name string
		zero func() limiter.State
	}{
		{"FIXED", func() limiter.State { return &limiter.Fixed{} }},
		{"GCRA 3", func() limiter.State { return &limiter.GCRA{Burst: 3} }},
		{"BUCKETS 4", func() limiter.State {
			width := limiter.BucketWidth(quota.WindowMs, 4)
			return &limiter.Buckets{WidthMs: width, N: 4, Counts: make([]int64, 0, 5)}
		}},
		{"COUNTER", func() limiter.State { return &limiter.Counter{WindowMs: quota.WindowMs} }},
	} {
		fmt.Printf("%-9s admits at", algorithm.name)
		state, expireAtMs := algorithm.zero(), int64(0)
		for nowMs := int64(start + 700); nowMs <= start+1900; nowMs += 100 {
			if nowMs > expireAtMs {
				state, expireAtMs = algorithm.zero(), 0
			}
			d := state.Decide(nowMs, expireAtMs, quota, limiter.Call{Cost: 1})
			if d.Allowed > 0 {
				state.Apply(nowMs, &d)
				expireAtMs = d.ExpireAtMs
				fmt.Printf(" %d", nowMs-start)
			}
		}
		fmt.Println()
	}
	// Output:
	// FIXED     admits at 700 800 900 1000 1100 1200
	// GCRA 3    admits at 700 800 900 1100 1400 1800
	// BUCKETS 4 admits at 700 800 900 1800
	// COUNTER   admits at 700 800 900 1400 1700
}

func ExampleParseWindow() {
	for _, s := range []string{"1500", "10s", "1d", "0", "1.5s", "36525d"} {
		fmt.Println(limiter.ParseWindow([]byte(s)))
	}
	// Output:
	// 1500 <nil>
	// 10000 <nil>
	// 86400000 <nil>
	// 0 limiter: window is below one millisecond
	// 0 limiter: window is not whole milliseconds or a whole number of ms, s, m, h or d
	// 0 limiter: window is not below a hundred years
}

func ExampleValidate() {
	quota := []limiter.Quota{{Limit: limiter.MaxUnits + 1, WindowMs: 1000}}
	fmt.Println(limiter.Validate(quota, limiter.Call{Cost: 1}))
	// Output: limiter: limit is above 2^53-1
}
