package logins

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimit checks attempts {instant, network, longest wait, wait} of which all fail: ten at once, then one
// a second.
func TestLimit(t *testing.T) {
	var l Limit
	l.SetRate(1)
	for i := range 9 {
		require.LessOrEqual(t, l.Reserve("a", 0, 0), int64(0))
		require.False(t, l.Failed("a", 0), i)
	}
	require.EqualValues(t, 0, l.Reserve("a", 0, 0))
	require.True(t, l.Failed("a", 0), "the tenth: from now on attempts are slowed")
	for _, attempt := range []struct {
		nowUs   int64
		network string
		mostUs  int64
		waitUs  int64
	}{
		{0, "a", 0, 1_000_000}, // does not count
		{0, "a", 1_000_000, 1_000_000},
		{0, "a", 1_000_000, 2_000_000},
		{0, "b", 0, -9_000_000},
		{1_000_000, "a", 0, 1_000_000},
		{2_000_000, "a", 0, 0},
		{2_000_000, "a", 0, 1_000_000},
		{1_000_000, "a", 0, 2_000_000}, // the clock has gone back
		{100_000_000, "a", 0, -9_000_000},
	} {
		require.Equal(t, attempt.waitUs, l.Reserve(attempt.network, attempt.nowUs, attempt.mostUs), attempt)
	}
	require.Equal(t, 2, l.Len())
}

func TestSucceededGivesBack(t *testing.T) {
	var l Limit
	l.SetRate(1)
	for range 100 {
		require.EqualValues(t, -9_000_000, l.Reserve("a", 5, 0))
		l.Succeeded("a", 5)
		require.Zero(t, l.Len())
	}
}

func TestOff(t *testing.T) {
	var l Limit
	for range 100 {
		require.Zero(t, l.Reserve("a", 0, 0))
		require.False(t, l.Failed("a", 0))
	}
	require.Zero(t, l.Len())
}

// TestNetworksAreBounded checks that the networks with the fewest failures are forgotten first.
func TestNetworksAreBounded(t *testing.T) {
	var l Limit
	l.SetRate(1)
	for range 10 {
		l.Reserve("guesser", 0, 0)
	}
	for i := range 3 * maxNetworks {
		l.Reserve(fmt.Sprint(i), 0, 0)
		require.LessOrEqual(t, l.Len(), maxNetworks)
	}
	require.EqualValues(t, 1_000_000, l.Reserve("guesser", 0, math.MinInt64))
}
