package limiter

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAlgorithmScenarios checks scenarios. Each line is a call at a time in ms, and its
// answer. Limits are 4 in 1,000 ms; the burst of GCRA is 2.
func TestAlgorithmScenarios(t *testing.T) {
	type line struct{ t, cost, allowed, remaining, retry, reset, next int64 }
	q := per(4, 1000)
	for _, s := range []struct {
		name  string
		m     machine
		lines []line
	}{
		{"FIXED", newFixed(), []line{
			{700, 3, 3, 1, 0, 300, 300},
			{800, 2, 0, 1, 200, 200, 200},
			{999, 1, 1, 0, 0, 1, 1},
			{999, 5, 0, 0, -1, 1, 1},
			{1000, 4, 4, 0, 0, 1000, 1000},
			{400, 1, 0, 0, 1600, 1600, 1600}, // the clock steps back
			{9000, 1, 1, 3, 0, 1000, 1000},
		}},
		{"GCRA", newGCRA(2), []line{ // a unit every 250 ms
			{0, 2, 2, 0, 0, 500, 250},
			{0, 1, 0, 0, 250, 500, 250},
			{249, 1, 0, 0, 1, 251, 1},
			{250, 1, 1, 0, 0, 500, 250},
			{250, 3, 0, 0, -1, 500, 250},
			{100, 1, 0, 0, 400, 650, 400}, // the clock steps back
			{600, 2, 0, 1, 150, 150, 150},
			{750, 2, 2, 0, 0, 500, 250},
		}},
		{"COUNTER", newCounter(), []line{
			{100, 4, 4, 0, 0, 1900, 1150}, // 4 at the slice's end: 3 after a quarter of the next slice
			{900, 1, 0, 0, 350, 1100, 350},
			{1249, 1, 0, 0, 1, 751, 1},
			{1250, 1, 1, 0, 0, 1750, 250}, // 3 of the previous slice, and 1
			{1250, 5, 0, 0, -1, 1750, 250},
			{1100, 1, 0, 0, 400, 1900, 400}, // back: 5 count
			{1750, 3, 0, 2, 250, 1250, 250},
			{2333, 3, 3, 0, 0, 1667, 667}, // 1 of the previous slice, still counted in full
			{9000, 4, 4, 0, 0, 2000, 1250},
		}},
		{"BUCKETS", newBuckets(4), []line{ // 250 ms each
			{0, 1, 1, 3, 0, 1249, 1249},
			{260, 2, 2, 1, 0, 1239, 989},
			{260, 2, 0, 1, 989, 1239, 989},
			{260, 3, 0, 1, 1239, 1239, 989},
			{100, 1, 1, 0, 0, 1399, 1149}, // back: into the newest bucket
			{1248, 1, 0, 0, 1, 251, 1},
			{1249, 1, 1, 0, 0, 1000, 250},
			{9000, 4, 4, 0, 0, 1249, 1249},
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			for i, l := range s.lines {
				d := s.m.decide(startMs+l.t, q, Call{Cost: l.cost})
				got := line{
					l.t, l.cost, d.Allowed, d.Remaining, d.RetryAfterMs, d.ResetAfterMs,
					d.NextAfterMs,
				}
				require.Equal(t, l, got, "line %d", i+1)
			}
		})
	}
}

// TestNoAlgorithmOverflows checks that answers keep their form whatever state a
// snapshot or a user supplies, at any instant.
func TestNoAlgorithmOverflows(t *testing.T) {
	ends := []int64{
		math.MinInt64, -1, 0, 1, 1000, startMs, 9_007_199_254_741, math.MaxInt64 / 1000,
		math.MaxInt64 - 1, math.MaxInt64,
	}
	check := func(d Decision, capacity int64, what ...any) {
		if d.Allowed < 0 || d.Allowed > capacity || d.Remaining < 0 || d.RetryAfterMs < -1 ||
			d.ResetAfterMs < 0 || d.NextAfterMs < 0 ||
			(d.Allowed == 0) == (d.RetryAfterMs == 0) || d.Used < 0 {
			require.Failf(t, "bad", "%v: %+v", what, d)
		}
	}
	calls := []Call{
		{},
		{Cost: 1},
		{Cost: math.MaxInt64},
		{Cost: math.MaxInt64, AtMost: true},
		{Cost: 2, Peek: true},
	}
	for _, nowMs := range ends {
		for _, state := range ends {
			for _, expireAtMs := range ends {
				for _, q := range []Quota{
					per(0, 1000),
					per(1, 1),
					per(math.MaxInt64, 1),
					per(1, MaxWindowMs-1),
					per(math.MaxInt64, MaxWindowMs-1),
					per(3, 1000),
				} {
					for _, call := range calls {
						fixed := Fixed{max(state, 0)}
						check(fixed.Decide(nowMs, expireAtMs, q, call), q.Limit, "FIXED", nowMs, state,
							expireAtMs, q, call)
						for _, burst := range []int64{0, 1, 2, 1_000_000} {
							if ValidateBurst(q, burst) == nil {
								gcra := GCRA{state, burst}
								d := gcra.Decide(nowMs, expireAtMs, q, call)
								check(d, q.Capacity(burst), "GCRA", nowMs, state, expireAtMs, q, burst, call)
							}
						}
						for _, n := range []int64{1, 3} {
							b := Buckets{
								WidthMs: BucketWidth(q.WindowMs, n), N: n,
								Counts: make([]int64, 0, n+1),
							}
							b.NewestMs = floor(state, b.WidthMs)
							b.Counts = append(b.Counts, max(state, 0), math.MaxInt64)
							if !b.Valid() {
								continue
							}
							d := b.Decide(nowMs, expireAtMs, q, call)
							check(d, q.Limit, "BUCKETS", nowMs, state, expireAtMs, q, n, call)
							if d.Units > 0 {
								b.Apply(nowMs, &d)
							}
							_, _ = b.Refund(nowMs, expireAtMs, 5)
						}
						for _, before := range []int64{0, 7, math.MaxInt64} {
							s := Counter{q.WindowMs, floor(state, q.WindowMs), max(state, 0), before}
							if !s.Valid() {
								continue
							}
							d := s.Decide(nowMs, expireAtMs, q, call)
							check(d, q.Limit, "COUNTER", nowMs, s, expireAtMs, q, call)
							if d.Units > 0 {
								s.Apply(nowMs, &d)
							}
							_, _ = s.Refund(nowMs, expireAtMs, 5)
						}
					}
				}
			}
		}
	}
}

func TestAlgorithmsDoNotAllocate(t *testing.T) {
	q := per(10, 1000)
	for name, m := range map[string]machine{
		"FIXED": newFixed(), "GCRA": newGCRA(0), "BUCKETS": newBuckets(60), "COUNTER": newCounter(),
	} {
		nowMs := int64(startMs)
		require.Zero(t, testing.AllocsPerRun(500, func() {
			nowMs += 37
			m.decide(nowMs, q, Call{Cost: 1})
		}), name)
	}
}

func TestValidateOthers(t *testing.T) {
	q := per(10, 1000)
	require.NoError(t, ValidateQuota(per(math.MaxInt64, 1), Call{Cost: math.MaxInt64}))
	require.NoError(t, ValidateQuota(per(0, 1), Call{}))
	require.ErrorIs(t, ValidateQuota(per(-1, 1), Call{}), ErrLimit)
	require.ErrorIs(t, ValidateQuota(q, Call{Cost: -1}), ErrCostNegative)
	require.NoError(t, ValidateBurst(q, 0))
	require.ErrorIs(t, ValidateBurst(q, -1), ErrBurst)
	require.ErrorIs(t, ValidateBurst(q, math.MinInt64), ErrBurst)
	require.NoError(t, ValidateBurst(q, 31_557_599_999))
	require.ErrorIs(t, ValidateBurst(q, 31_557_600_000), ErrBurstLong)
	for n, want := range map[int64]error{
		-1: ErrBuckets, 0: ErrBuckets, 1: nil, MaxBuckets: nil,
		MaxBuckets + 1: ErrBuckets,
	} {
		require.ErrorIs(t, ValidateBuckets(n), want)
	}
}
