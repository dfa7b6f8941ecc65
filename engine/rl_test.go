package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// Package limiter tests its decisions as pure functions, and server the replies on every
// path. These tests run random calls through all of it: decisions, expiry and trimming on
// one key, with the clock going forwards and back.

// admission is an admitted call as an outsider records it.
type admission struct {
	latestMs int64 // the latest instant of any admitted call so far
	units    int64
}

// overAdmitted reports whether more than limit units were admitted in the window that
// ends with the last admission.
func overAdmitted(history []admission, windowMs, limit int64) bool {
	end, sum := history[len(history)-1].latestMs, int64(0)
	for _, a := range history {
		if a.latestMs > end-windowMs {
			sum += a.units
		}
	}
	return sum > limit
}

func TestRLAllowAtRandom(t *testing.T) {
	race.OneGoroutine(t)
	windows := []int64{1, 7, 100, 1000}
	rnd := seeded()
	for walk := range 20 {
		r := rnd(walk)
		e, _, s := newServer(t)
		nowMs, latestMs := int64(startNowMs), int64(0)
		var history []admission
		since := map[int64]int{} // for each window, from which admission on it was named
		// What is promised is promised for as long as the key lives.
		lives := func() {
			if do(s, "EXISTS k") == "0" {
				history, latestMs = nil, 0
				clear(since)
			}
		}
		record := func(windowMs, limit, cost int64, where string) {
			latestMs = max(latestMs, nowMs)
			history = append(history, admission{latestMs, cost})
			for _, w := range windows {
				if _, named := since[w]; !named && w <= windowMs {
					since[w] = len(history) - 1
				}
			}
			require.False(t, overAdmitted(history[since[windowMs]:], windowMs, limit), where)
		}
		denied, admitted := 0, 0
		for step := range 400 {
			switch r.IntN(10) {
			case 0:
				nowMs -= r.Int64N(50)
			case 1:
				nowMs += r.Int64N(1200)
			case 2, 3, 4:
				nowMs += r.Int64N(20)
			}
			e.Clock().Set(nowMs)
			windowMs := windows[r.IntN(len(windows))]
			limit, cost := 1+r.Int64N(8), 1+r.Int64N(4)
			if r.IntN(20) == 0 {
				limit, cost = windowMs*1000, min(windowMs*1000, 1500)
			}
			line := fmt.Sprintf("RL.ALLOW k %d %d COST %d", limit, windowMs, cost)
			where := fmt.Sprintf("walk %d step %d at %+d: %s", walk, step, nowMs-startNowMs, line)
			lives()
			reply := rlReply(t, s.Do(args(line)).Elems(), where)
			require.Equal(t, limit, reply.limit, where)
			switch {
			case reply.allowed > 0:
				require.Equal(t, [2]int64{cost, 0}, [2]int64{reply.allowed, reply.retryMs}, where)
				admitted++
				record(windowMs, limit, cost, where)
			case cost > limit:
				require.EqualValues(t, -1, reply.retryMs, where)
			default:
				denied++
				require.Greater(t, cost, reply.remaining, where)
				// One millisecond less does not, exactly that admits.
				nowMs += reply.retryMs - 1
				e.Clock().Set(nowMs)
				early := rlReply(t, s.Do(args(line)).Elems(), where)
				require.Equal(t, [2]int64{0, 1}, [2]int64{early.allowed, early.retryMs}, where)
				if r.IntN(2) == 0 {
					nowMs++
					e.Clock().Set(nowMs)
					lives()
					require.Equal(t, cost, rlReply(t, s.Do(args(line)).Elems(), where).allowed, where)
					record(windowMs, limit, cost, where)
				}
			}
			// Once the window is over and nobody called, nothing is used.
			if r.IntN(50) == 0 {
				look := fmt.Sprintf("RL.ALLOW k %d %d COST 0", limit, windowMs)
				nowMs += rlReply(t, s.Do(args(look)).Elems(), where).resetMs
				e.Clock().Set(nowMs)
				require.Equal(t, rlAnswer{1, limit, limit, 0, 0}, rlReply(t, s.Do(args(look)).Elems(), where),
					where)
			}
		}
		require.Greater(t, admitted, 50, "walk %d", walk)
		require.Greater(t, denied, 50, "walk %d", walk)
	}
}

// rlAnswer is the five integers of RL.ALLOW's reply.
type rlAnswer struct{ allowed, limit, remaining, retryMs, resetMs int64 }

func rlReply[V interface{ Int() int64 }](t *testing.T, v []V, where string) rlAnswer {
	t.Helper()
	require.Len(t, v, 5, where)
	return rlAnswer{v[0].Int(), v[1].Int(), v[2].Int(), v[3].Int(), v[4].Int()}
}

// TestOverAdmittedFinds checks that overAdmitted can fail.
func TestOverAdmittedFinds(t *testing.T) {
	history := []admission{{0, 2}, {9, 1}, {10, 1}}
	require.False(t, overAdmitted(history, 10, 2))
	require.True(t, overAdmitted(history, 11, 3))
	require.True(t, overAdmitted(history, 10, 1))
}

// TestManyKeysExpireOnTime checks that each key expires with its own window and that none
// remains.
func TestManyKeysExpireOnTime(t *testing.T) {
	e, clock, s := newServer(t)
	r := rand.New(rand.NewPCG(1, 1))
	left := map[int64]int{}
	for i := range 2000 {
		windowMs := 1 + r.Int64N(100)
		left[windowMs]++
		require.Equal(t, fmt.Sprintf("[1 1 0 0 %d]", windowMs),
			do(s, fmt.Sprintf("RL.ALLOW k%d 1 %d", i, windowMs)))
	}
	alive := 2000
	for atMs := int64(1); atMs <= 101; atMs++ {
		clock.pass(1)
		alive -= left[atMs-1] // at its deadline a key still lives
		e.Reclaim()
		require.Equal(t, fmt.Sprint(alive), do(s, "DBSIZE"), "at %d", atMs)
	}
	require.Equal(t, "0", do(s, "DBSIZE"))
}
