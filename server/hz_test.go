package server_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// TestHzChangeTakesEffect counts readings of the wall clock, one per Tick.
func TestHzChangeTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ticks atomic.Int64
		began := time.Now()
		cfg := config.New()
		srv := server.New(server.Options{Config: cfg, Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return time.Since(began).Microseconds() },
			Wall: func() int64 {
				ticks.Add(1)
				return time.Now().UnixMicro()
			},
		})})
		served := make(chan error, 1)
		go func() { served <- srv.Serve() }()
		perSecond := func() int64 {
			synctest.Wait()
			before := ticks.Load()
			<-time.After(time.Second - time.Microsecond) // the bubble's time
			synctest.Wait()
			return ticks.Load() - before
		}
		require.InDelta(t, 10, perSecond(), 1)
		require.NoError(t, cfg.Set([][]byte{[]byte("hz"), []byte("100")}))
		require.InDelta(t, 100, perSecond(), 1)
		require.NoError(t, cfg.Set([][]byte{[]byte("hz"), []byte("1")}))
		require.InDelta(t, 1, perSecond(), 1)
		require.NoError(t, srv.Close())
		require.NoError(t, <-served)
	})
}
