package limiter

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/calendar"
	"github.com/zlimit/zlimit/race"
)

func quotaOf(t testing.TB, limit int64, window string) Quota {
	t.Helper()
	q := Quota{Limit: limit}
	require.NoError(t, q.SetWindow([]byte(window)))
	return q
}

// FIXED admits by a calendar what a count for each of its slices admits, while the clock goes forwards.
func TestFixedCountsBySlices(t *testing.T) {
	const dayMs = 86_400_000
	windows := []string{
		"1h@Australia/Lord_Howe", "1d@Europe/Zurich", "1d@America/Havana", "1w@America/New_York:sun",
		"1mo@Asia/Kathmandu:31", "1y@UTC:02-29",
	}
	for seed := range uint64(race.Fewer(60)) {
		rng := rand.New(rand.NewPCG(seed, 20))
		window := windows[rng.IntN(len(windows))]
		q := quotaOf(t, 1+rng.Int64N(20), window)
		var s Fixed
		used := map[int64]int64{} // by the end of a slice
		nowMs, expireAtMs := startMs+rng.Int64N(4000*dayMs), int64(0)
		for range 400 {
			nowMs += rng.Int64N(1 + rng.Int64N(2*dayMs))
			if nowMs > expireAtMs {
				s = Fixed{}
			}
			startMs, endMs := q.Calendar.Slice(nowMs)
			cost := 1 + rng.Int64N(5)
			d := s.Decide(nowMs, expireAtMs, q, Call{Cost: cost})
			require.Equal(t, used[endMs]+cost <= q.Limit, d.Allowed == cost, "%s at %d", window, nowMs)
			require.Equal(t, endMs-startMs, d.WindowMs)
			if d.Allowed > 0 {
				s.Apply(nowMs, &d)
				used[endMs] += cost
				expireAtMs = d.ExpireAtMs
				require.Equal(t, endMs, expireAtMs)
				require.Equal(t, endMs-nowMs, d.ResetAfterMs)
			} else if d.RetryAfterMs > 0 {
				require.Equal(t, endMs-nowMs, d.RetryAfterMs)
			}
		}
	}
}

func TestWindowsOfQuotas(t *testing.T) {
	for window, text := range map[string]string{
		"60000": "60000", "1m": "60000", "7d": "604800000", "1w": "1w", "1w@UTC:mon": "1w",
		"1mo@Europe/Zurich:17": "1mo@Europe/Zurich:17", "1h@UTC": "1h@UTC",
	} {
		q := quotaOf(t, 5, window)
		require.Equal(t, text, string(q.AppendWindow(nil)))
		require.Equal(t, q.Calendar != nil, q.WindowMs == 0)
		again := quotaOf(t, 5, "1d@UTC")
		require.NoError(t, again.SetWindow([]byte(text)))
		require.Equal(t, text, string(again.AppendWindow(nil)), "another window before is forgotten")
		require.Equal(t, q.Calendar != nil, errors.Is(Validate([]Quota{q}, Call{}), ErrCalendar))
		require.Equal(t, q.Calendar != nil, errors.Is(ValidateQuota(q, Call{}), ErrCalendar))
		require.NoError(t, ValidateFixed(q, Call{}))
	}
	var q Quota
	require.ErrorIs(t, q.SetWindow([]byte("10sec")), ErrWindowSyntax)
	require.ErrorIs(t, q.SetWindow([]byte("2w")), calendar.ErrMany)
	require.ErrorIs(t, q.SetWindow([]byte("1d@Nowhere")), calendar.ErrZone)
	require.ErrorIs(t, q.SetWindow([]byte("0")), ErrWindowShort)
}

// A window that was parsed before is parsed again, and decided by, without an allocation.
func TestCalendarsAllocateNothing(t *testing.T) {
	window := []byte("1mo@Europe/Zurich:17")
	s := Fixed{Count: 3}
	allocations := testing.AllocsPerRun(100, func() {
		q := Quota{Limit: 100}
		if q.SetWindow(window) != nil || s.Decide(startMs, startMs+1000, q, Call{Cost: 1}).Allowed != 1 {
			panic("refused")
		}
	})
	require.Zero(t, allocations)
}
