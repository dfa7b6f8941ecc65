package limiter

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const startMs = 1_700_000_000_000

// TestExpiryEndsTheWait checks a key written with shorter windows: it expires before a
// long window's units leave it, and the expiry ends the wait.
func TestExpiryEndsTheWait(t *testing.T) {
	w := &world{decide: Decide}
	w.call(t, startMs, []Quota{per(1, 1000)}, 1)
	require.EqualValues(t, startMs+1000, w.expireAtMs)
	d := w.call(t, startMs+10, []Quota{per(1, 60_000)}, 1)
	require.EqualValues(t, 991, d.RetryAfterMs)
	require.EqualValues(t, 991, d.ResetAfterMs)
	require.EqualValues(t, 0, w.clone().call(t, startMs+1000, []Quota{per(1, 60_000)}, 1).Allowed)
	require.EqualValues(t, 1, w.clone().call(t, startMs+1001, []Quota{per(1, 60_000)}, 1).Allowed)
}

// TestRetentionBelongsToTheKey checks that no call shortens the retention and that a
// longer window lengthens it.
func TestRetentionBelongsToTheKey(t *testing.T) {
	w := &world{decide: Decide}
	short, long := []Quota{per(5, 100)}, []Quota{per(5, 10_000)}
	w.call(t, startMs, long, 2)
	require.EqualValues(t, startMs+10_000, w.expireAtMs)
	w.call(t, startMs+5000, short, 1)
	require.EqualValues(t, startMs+15_000, w.expireAtMs, "newest + retention")
	require.EqualValues(t, 3, w.units.Units(), "the short window keeps what the long one counts")
	d := w.call(t, startMs+9999, long, 3)
	require.EqualValues(t, 1, d.RetryAfterMs)
	d = w.call(t, startMs+10_000, short, 1)
	require.EqualValues(t, 1, d.Units)
	require.EqualValues(t, (startMs+1)*entriesPerMs-1, d.DropThrough)
	require.Len(t, w.units, 2)

	w.expireAtMs = 0 // PERSIST: only the call's window counts
	w.call(t, startMs+10_050, short, 1)
	require.EqualValues(t, startMs+10_150, w.expireAtMs)
	require.Len(t, w.units, 2)

	w.expireAtMs = math.MaxInt64 // an infinite expiry keeps everything
	d = w.call(t, startMs+20_000, short, 1)
	require.Equal(t, int64(math.MaxInt64), d.ExpireAtMs)
	require.Len(t, w.units, 3)

	w.expireAtMs = startMs + 20_001 // a shorter expiry set by a user counts as what it leaves the newest unit
	d = w.call(t, startMs+20_000, short, 1)
	require.EqualValues(t, startMs+20_100, d.ExpireAtMs)
}

// TestExpiredKeyCountsAsEmpty checks a store that has not yet removed an expired key:
// the answer is that of no key, and all units are dropped.
func TestExpiredKeyCountsAsEmpty(t *testing.T) {
	held := scores{startMs * entriesPerMs, (startMs + 90_000) * entriesPerMs}
	q := []Quota{per(1, 60_000)}
	for _, nowMs := range []int64{startMs + 1, startMs + 100_000} {
		got, err := Decide(held, nowMs, nowMs-1, q, 1)
		require.NoError(t, err)
		want, err := Decide(nil, nowMs, 0, q, 1)
		require.NoError(t, err)
		require.GreaterOrEqual(t, got.DropThrough, held.Newest())
		got.DropThrough = want.DropThrough
		require.Equal(t, want, got)

		d, err := Decide(held, nowMs, nowMs, q, 1)
		require.NoError(t, err)
		require.Zero(t, d.Allowed, "at expireAtMs itself the key lives")
		require.EqualValues(t, 1, d.RetryAfterMs)
	}
}

// TestInstantsThatALogCannotHold checks the range of scores: they end below 2^53 and
// begin at 10^14.
func TestInstantsThatALogCannotHold(t *testing.T) {
	q := []Quota{per(2000, 1000)}
	const lastMs = MaxScore / entriesPerMs // 2^53 is in this millisecond
	left := MaxScore - lastMs*entriesPerMs
	for _, c := range []struct {
		name  string
		log   Log
		nowMs int64
		cost  int64
		fails bool
	}{
		{"before 1973", nil, 99_999_999_999, 1, true},
		{"from 1973", nil, 100_000_000_000, 1, false},
		{"instant 0", nil, 0, 1, true},
		{"a negative instant", nil, -1, 1, true},
		{"the least instant", nil, math.MinInt64, 1, true},
		{"the greatest instant", nil, math.MaxInt64, 1, true},
		{"the last millisecond", nil, lastMs, left, false},
		{"the millisecond after", nil, lastMs + 1, 1, true},
		{"behind a held unit", scores{MaxScore - 2}, lastMs - 10, 2, false},
		{"across the end behind a held unit", scores{MaxScore - 1}, lastMs - 10, 1, true},
		{"an old clock and a held unit", scores{MinScore}, -5, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Decide(c.log, c.nowMs, 0, q, c.cost)
			p, peekErr := Peek(c.log, c.nowMs, 0, q, c.cost)
			if c.fails {
				require.ErrorIs(t, err, ErrInstant)
				require.ErrorIs(t, peekErr, ErrInstant)
				require.Zero(t, d)
				require.Zero(t, p)
				return
			}
			require.NoError(t, err)
			require.NoError(t, peekErr)
			require.Equal(t, c.cost, d.Units)
			require.GreaterOrEqual(t, d.Score, MinScore)
			require.Less(t, d.Score, MaxScore)
		})
	}
	// A denial needs no scores, so it is valid anywhere.
	d, err := Decide(scores{MaxScore - 1}, lastMs, 0, []Quota{per(1, 1000)}, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1000, d.RetryAfterMs)
}

// TestNothingOverflows passes numbers that Validate refuses. They must not panic,
// overflow into an admission above the limit, or name scores that a log cannot hold.
func TestNothingOverflows(t *testing.T) {
	ends := []int64{
		math.MinInt64, math.MinInt64 + 1, -1_000_000, -1, 0, 1, 2, 1000, startMs, MinScore,
		MaxScore, math.MaxInt64 - 1, math.MaxInt64,
	}
	logs := []Log{
		nil,
		scores{},
		scores{MinScore, MinScore + 1},
		scores{startMs * entriesPerMs},
		scores{MaxScore - 1},
		scores{math.MinInt64, 0, math.MaxInt64},
	}
	for _, log := range logs {
		for _, nowMs := range ends {
			for _, expireAtMs := range ends {
				for _, limit := range ends {
					for _, windowMs := range ends {
						for _, cost := range ends {
							d, err := Decide(log, nowMs, expireAtMs, []Quota{per(limit, windowMs)}, cost)
							if err != nil {
								if d != (Decision{}) {
									require.Zero(t, d)
								}
								continue
							}
							bad := d.Allowed < 0 || d.Allowed > max(limit, 0) || d.Remaining < 0 ||
								d.RetryAfterMs < -1 || d.ResetAfterMs < 0 ||
								(d.Allowed == 0) == (d.RetryAfterMs == 0) ||
								d.Units > 0 && (d.Score < MinScore || d.Score >= MaxScore)
							if bad && windowMs >= 1 {
								require.Failf(t, "bad", "%v now %d expire %d limit %d window %d cost %d: %+v",
									log, nowMs, expireAtMs, limit, windowMs, cost, d)
							}
						}
					}
				}
			}
		}
	}
}

func TestArithmeticSaturates(t *testing.T) {
	clamp := func(x *big.Int) int64 {
		if x.IsInt64() {
			return x.Int64()
		}
		if x.Sign() < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	values := []int64{
		math.MinInt64, math.MinInt64 + 1, math.MinInt64/1000 - 1, math.MinInt64 / 1000, -1001,
		-1000, -999, -1, 0, 1, 999, 1000, 1001, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1,
		math.MaxInt64 - 1, math.MaxInt64,
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values = append(values, int64(rng.Uint64())>>rng.IntN(64))
	}
	for _, a := range values {
		x := big.NewInt(a)
		require.Equal(t, clamp(new(big.Int).Mul(x, big.NewInt(1000))), mul(a, 1000), a)
		require.Equal(t, new(big.Int).Div(x, big.NewInt(1000)).Int64(), msOf(a), a) // Euclidean: rounds down
		for _, b := range values {
			y := big.NewInt(b)
			require.Equal(t, clamp(new(big.Int).Add(x, y)), add(a, b))
			require.Equal(t, clamp(new(big.Int).Sub(x, y)), sub(a, b))
		}
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		log  Log
		want bool
	}{
		{nil, true},
		{scores{}, true},
		{scores{MinScore}, true},
		{scores{MinScore, MaxScore - 1}, true},
		{scores{MinScore - 1}, false},
		{scores{MinScore - 1, MinScore}, false},
		{scores{MinScore, MaxScore}, false},
		{scores{0}, false},
		{scores{-1}, false},
		{scores{startMs}, false},        // milliseconds
		{scores{startMs / 1000}, false}, // seconds
		{scores{math.MinInt64, math.MaxInt64}, false},
	} {
		require.Equal(t, c.want, Holds(c.log), "%v", c.log)
	}
}

func TestNoQuotaPanics(t *testing.T) {
	require.Panics(t, func() { _, _ = Decide(nil, startMs, 0, nil, 1) })
}

// TestDecideDoesNotMutate checks that Decide leaves the log unchanged.
func TestDecideDoesNotMutate(t *testing.T) {
	held := scores{startMs * entriesPerMs, startMs*entriesPerMs + 1, startMs*entriesPerMs + 2}
	before := slices.Clone(held)
	quotas := []Quota{per(5, 1000), per(9, 50)}
	for cost := range int64(8) {
		for step := range int64(50) {
			_, err := Decide(held, startMs+step*40, startMs+2000, quotas, cost)
			require.NoError(t, err)
		}
	}
	require.Equal(t, before, held)
	require.Equal(t, []Quota{per(5, 1000), per(9, 50)}, quotas)
}

func TestDecideDoesNotAllocate(t *testing.T) {
	var held scores
	for i := range int64(1000) {
		held = append(held, (startMs+i)*entriesPerMs)
	}
	var log Log = held
	quotas := []Quota{per(1000, 500), per(1000, 60_000), per(2000, 600_000)}
	for name, cost := range map[string]int64{"peek": 0, "denied": 1500, "never": 5000} {
		require.Zero(t,
			testing.AllocsPerRun(100, func() { _, _ = Decide(log, startMs+1100, 0, quotas, cost) }), name)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = Decide(log, startMs+100_000, 0, quotas, 5) }),
		"allowed")
	text := []byte("10s")
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = ParseWindow(text) }))
	require.Zero(t,
		testing.AllocsPerRun(100, func() { _ = Validate(quotas, Call{Cost: 5}) }))
}
