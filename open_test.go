package zlimit_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/persist/disk"
)

// What one Limiter has admitted still counts in the next.
func TestOpen(t *testing.T) {
	options := func() zlimit.Options {
		cfg := config.New()
		require.NoError(t,
			cfg.ParseArgs([]string{"--appendonly", "yes", "--appendfsync", "always", "--dir", t.TempDir()},
				nil))
		return zlimit.Options{Config: cfg}
	}()
	quota := zlimit.Quota{Limit: 3, Window: time.Hour}
	limits, err := zlimit.Open(options)
	require.NoError(t, err)
	d, err := limits.Allow(t.Context(), "user:42", quota, 2)
	require.NoError(t, err)
	require.Equal(t, int64(1), d.Remaining)

	_, err = zlimit.Open(options)
	require.ErrorIs(t, err, disk.ErrLocked, "one at a time")
	require.NoError(t, limits.Close())

	limits, err = zlimit.Open(options)
	require.NoError(t, err)
	d, err = limits.Peek(t.Context(), "user:42", quota)
	require.NoError(t, err)
	require.Equal(t, int64(1), d.Remaining)
	answer, err := limits.Do(t.Context(), "WAITAOF", 1, 0, 0)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), int64(0)}, answer)
	require.NoError(t, limits.Close())
}

// Ticks begin when the files are open: the race detector sees one that comes while they are being opened.
func TestTicksAfterOpen(t *testing.T) {
	start := time.Now()
	asked := make(chan struct{})
	closing := make(chan struct{})
	cfg := config.New()
	require.NoError(t,
		cfg.ParseArgs([]string{"--hz", "500", "--appendonly", "yes", "--dir", t.TempDir()}, nil))
	var watched atomic.Bool
	limits, err := zlimit.Open(zlimit.Options{Config: cfg, Clock: clock.New(clock.Sources{
		Monotonic: func() int64 { return time.Since(start).Microseconds() },
		Wall: func() int64 {
			if watched.Load() {
				select {
				case asked <- struct{}{}:
				case <-closing:
				}
			}
			return time.Now().UnixMicro()
		},
	})})
	require.NoError(t, err)
	watched.Store(true)
	for range 20 { // a tick begins with a few of these questions, so one of them has ended
		<-asked
	}
	close(closing)
	require.NoError(t, limits.Close())
}
