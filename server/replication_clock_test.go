package server_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// A machine runs a server whose wall clock is wrong by a constant.
type machine struct {
	*server.Server
	t *testing.T
}

// startMachine starts a server on a machine whose clock is aheadUs ahead of true time, which is what nowUs
// holds.
func startMachine(t *testing.T, nowUs *atomic.Int64, aheadUs int64) *machine {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(
		[]string{"--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"}, nil))
	srv, err := server.Listen(server.Options{
		Config: cfg, FreePort: true, NoCron: true,
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return nowUs.Load() + 7*aheadUs }, // its zero is arbitrary
			Wall:      func() int64 { return startNowMs*1000 + nowUs.Load() + aheadUs },
		}),
	})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-served)
	})
	return &machine{srv, t}
}

func (m *machine) do(args ...any) any {
	m.t.Helper()
	reply, err := m.Do(context.Background(), args...)
	require.NoError(m.t, err, "%v", args)
	return reply
}

// TestPromotionKeepsTheTime: a limiter's windows stay what they are when a replica takes over, whatever its
// own clock says: no window of true time ever has more than the limit.
func TestPromotionKeepsTheTime(t *testing.T) {
	const limit, windowMs, stepMs = 10, 5_000, 100
	for _, aheadMs := range []int64{-2000, 0, 2000} {
		t.Run(fmt.Sprintf("%+d ms", aheadMs), func(t *testing.T) {
			var nowUs atomic.Int64
			nowUs.Store(3_600_000_000)
			master, replica := startMachine(t, &nowUs, 0), startMachine(t, &nowUs, aheadMs*1000)
			replica.do("REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port()))
			inStep := func() bool { // the replica has heard the master's time, too
				online := len(master.do("ROLE").([]any)[2].([]any)) == 1
				master.Engine().Tick()
				replica.Engine().Tick()
				nowUs.Add(1000)
				offset := master.do("ROLE").([]any)[1]
				return online && fmt.Sprint(replica.do("ROLE")) ==
					fmt.Sprintf("[slave 127.0.0.1 %d connected %v]", master.Port(), offset)
			}
			require.Eventually(t, inStep, time.Minute, time.Millisecond)

			var admitted []int64 // true time, in milliseconds
			serving := master
			for i := range 200 {
				if i == 33 {
					require.Eventually(t, inStep, time.Minute, time.Millisecond)
					replica.do("REPLICAOF", "NO", "ONE")
					serving = replica
				}
				nowUs.Add(stepMs * 1000)
				serving.Engine().Clock().Sync()
				got := serving.do("RL.ALLOW", "k", limit, fmt.Sprintf("%dms", windowMs))
				if got.([]any)[0] == int64(1) {
					admitted = append(admitted, nowUs.Load()/1000)
				}
			}
			for i, from := range admitted {
				in := 0
				for _, at := range admitted[i:] {
					if at < from+windowMs {
						in++
					}
				}
				require.LessOrEqual(t, in, limit, "from %d ms", from)
			}
			require.Greater(t, len(admitted), 3*limit, "the promoted server admits as before")
		})
	}
}
