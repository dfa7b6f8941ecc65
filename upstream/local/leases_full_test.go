package local

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter"
)

// fullLeases returns as many leases as there may be, the one of call i over at endUs(i).
func fullLeases(t testing.TB, endUs func(i int) int64) *Leases {
	l, err := ParseLeases([]string{"", "10", "50"})
	require.NoError(t, err)
	for i := range maxLeases {
		call := []byte(fmt.Sprint(i))
		_, _, want := l.Take(call, call, 1, 0)
		require.NotZero(t, want)
		l.Taken(call, l.Epoch(call), new(limiter.Decision), 5, Want{AheadMs: 1}, endUs(i)-1, 0)
	}
	return l
}

// TestFullLeases: where there is no room, a lease that is over makes some, whichever it is, and one that
// runs or is asked for stays.
func TestFullLeases(t *testing.T) {
	ends := rand.New(rand.NewPCG(1, 2)).Perm(maxLeases) // each instant once
	l := fullLeases(t, func(i int) int64 { return 1000 + int64(ends[i]) })
	next := []byte("next")
	take := func(nowUs int64) bool {
		_, _, want := l.Take(next, next, 1, nowUs)
		return want != Want{}
	}
	require.False(t, take(999), "all of them run")
	for at := range maxLeases {
		nowUs := 1000 + int64(at)
		require.True(t, take(nowUs), "one is over")
		require.False(t, take(nowUs), "it is asked for")
		_, ok := l.m[fmt.Sprint(slices.Index(ends, at))]
		require.False(t, ok, "the one that was over is gone")
		if at%2 == 0 {
			l.Failed(next)
		} else {
			l.Taken(next, l.Epoch(next), new(limiter.Decision), 5, Want{AheadMs: 1}, 1<<40, 0)
		}
		require.Len(t, l.m, maxLeases)
		next = fmt.Append(nil, "next", at)
		if at%2 == 0 {
			require.True(t, take(nowUs), "one that has failed")
			l.Taken(next, l.Epoch(next), new(limiter.Decision), 5, Want{AheadMs: 1}, 1<<40, 0)
			next = fmt.Append(nil, "then", at)
		}
		require.False(t, take(nowUs), "all of them run")
		require.Len(t, l.ends, maxLeases)
	}
}

// BenchmarkFullLeases asks about new keys while every lease runs.
func BenchmarkFullLeases(b *testing.B) {
	l := fullLeases(b, func(int) int64 { return 1 << 40 })
	call := []byte("next")
	for b.Loop() {
		l.Take(call, call, 1, 2000)
	}
}
