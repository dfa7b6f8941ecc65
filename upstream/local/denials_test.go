package local_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/upstream/local"
)

func denials(t *testing.T, words ...string) *local.Denials {
	d, err := local.ParseDenials(words)
	require.NoError(t, err)
	return d
}

// denied is a decision that denies until retryMs have passed.
func denied(retryMs int64) *limiter.Decision {
	return &limiter.Decision{Limit: 3, RetryAfterMs: retryMs, ResetAfterMs: retryMs + 7}
}

var key, question = []byte("user:1"), []byte("3 1000 user:1")

func TestDenialIsAnsweredUntilItsTime(t *testing.T) {
	d := denials(t, "user:", "5000")
	d.Remember(key, question, d.Epoch(key), denied(100), 1_000_000, 1_002_000)
	for _, step := range []struct {
		atUs, retryMs, resetMs int64 // 0: not known
	}{
		{1_002_000, 100, 107},
		{1_002_999, 100, 107},
		{1_003_000, 99, 106},
		{1_099_000, 3, 10}, // a round trip more than the true wait, never less
		{1_099_001, 0, 0},
		{1_050_000, 0, 0}, // forgotten
	} {
		got, ok := d.Answer(key, question, step.atUs)
		require.Equal(t, step.retryMs != 0, ok, "%d", step.atUs)
		require.Equal(t, step.retryMs, got.RetryAfterMs, "%d", step.atUs)
		require.Equal(t, step.resetMs, got.ResetAfterMs, "%d", step.atUs)
	}
}

func TestDenialEndsWithTheLongestTime(t *testing.T) {
	d := denials(t, "user:", "5000", "user:2", "10", "", "20")
	for _, c := range []struct {
		key    string
		lastUs int64
	}{{"user:1", 4_999_999}, {"user:2", 9_999}, {"other", 19_999}} {
		d.Remember([]byte(c.key), question, d.Epoch([]byte(c.key)), denied(60_000), 0, 0)
		_, ok := d.Answer([]byte(c.key), question, c.lastUs)
		require.True(t, ok, c.key)
		_, ok = d.Answer([]byte(c.key), question, c.lastUs+1)
		require.False(t, ok, c.key)
	}
}

func TestDenialIsForgotten(t *testing.T) {
	d := denials(t, "", "5000")
	remember := func(epoch uint64) bool {
		d.Remember(key, question, epoch, denied(1000), 0, 0)
		_, ok := d.Answer(key, question, 1)
		return ok
	}
	require.True(t, remember(d.Epoch(key)))
	d.Forget(key)
	_, ok := d.Answer(key, question, 1)
	require.False(t, ok)
	before := d.Epoch(key)
	d.Forget(key) // a command that was sent after the decision was asked for
	require.False(t, remember(before))
	require.True(t, remember(d.Epoch(key)))
	d.ForgetAll()
	require.False(t, remember(before))
	_, ok = d.Answer(key, []byte("4 1000 user:1"), 1)
	require.False(t, ok, "another call")
}

func TestOnlyDenialsThatEndAreRemembered(t *testing.T) {
	d := denials(t, "user:", "5000")
	for _, other := range []*limiter.Decision{
		{Allowed: 1, Limit: 3},
		{Limit: 3, RetryAfterMs: -1},
		{Limit: 3},
	} {
		d.Remember(key, question, d.Epoch(key), other, 0, 0)
		_, ok := d.Answer(key, question, 0)
		require.False(t, ok)
	}
	require.True(t, d.Covers(key))
	require.False(t, d.Covers([]byte("users")))
	require.False(t, d.Covers(nil))
	require.Nil(t, denials(t))
	require.False(t, denials(t).Covers(key))
}

func TestDenialsAreBounded(t *testing.T) {
	d := denials(t, "", "5000")
	for i := range 200_000 {
		k := fmt.Append(nil, i)
		d.Remember(k, k, d.Epoch(k), denied(1000), int64(i), int64(i))
	}
	require.Less(t, d.Len(), 1<<16+1)
	require.Less(t, 1<<14, d.Len())
}

func TestDenyCacheDirective(t *testing.T) {
	for _, words := range [][]string{
		{"a"}, {"a", "0"}, {"a", "-1"}, {"a", "x"}, {"a", "86400001"}, {"a", "1", "b"}, {
			"a", "1", "b",
			"1.5",
		},
	} {
		_, err := local.ParseDenials(words)
		require.ErrorContains(t, err, "rl-deny-cache must be pairs", "%q", words)
	}
}

// TestDenialsNeverOutliveThem runs random calls of one limit against a log, with round trips that
// take time: an answer from here is one that the log would give, until the longest wait is over.
func TestDenialsNeverOutliveThem(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld()
		d := denials(t, "", "86400000")
		answered := 0
		for range 400 {
			w.nowUs += r.Int64N(40_000)
			if r.IntN(25) == 0 {
				d.Forget(key)
				w.refund(1)
				d.Forget(key)
			}
			if got, ok := d.Answer(key, question, w.nowUs); ok {
				answered++
				want := w.peek(3, 1000, 1)
				require.Zero(t, want.Allowed, "seed %d", seed)
				require.LessOrEqual(t, want.RetryAfterMs, got.RetryAfterMs)
				require.Greater(t, want.RetryAfterMs+12, got.RetryAfterMs)
				continue
			}
			epoch, sentUs := d.Epoch(key), w.nowUs
			w.nowUs += r.Int64N(5_000)
			decision := w.allow(3, 1000, 1, 0)
			w.nowUs += r.Int64N(5_000)
			d.Remember(key, question, epoch, &decision, sentUs, w.nowUs)
		}
		require.Less(t, 20, answered, "seed %d", seed)
	}
}
