package server_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
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
	o := server.Options{NoCron: true, Clock: clock.New(clock.Sources{
		Monotonic: func() int64 { return nowUs.Load() + 7*aheadUs }, // its zero is arbitrary
		Wall:      func() int64 { return startNowMs*1000 + nowUs.Load() + aheadUs },
	})}
	srv, _ := serve(t, o, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0")
	return &machine{srv, t}
}

func (m *machine) do(args ...any) any {
	m.t.Helper()
	reply, err := m.Do(context.Background(), args...)
	require.NoError(m.t, err, "%v", args)
	return reply
}

// follows reports whether a replica has what its master has.
func (m *machine) follows(master *machine) bool {
	m.t.Helper()
	online := len(master.do("ROLE").([]any)[2].([]any)) == 1
	m.Engine().Tick()
	offset := master.do("ROLE").([]any)[1]
	return online && fmt.Sprint(m.do("ROLE")) ==
		fmt.Sprintf("[slave 127.0.0.1 %d connected %v]", master.Port(), offset)
}

// inStep is follows when the master has done its periodic work. It lets a millisecond pass.
func (m *machine) inStep(master *machine, nowUs *atomic.Int64) bool {
	m.t.Helper()
	master.Engine().Tick()
	nowUs.Add(1000)
	return m.follows(master)
}

// mostWithin returns how many instants there are at most in a window.
func mostWithin(windowMs int64, instants []int64) (most int) {
	for i, from := range instants {
		end := slices.IndexFunc(instants[i:], func(at int64) bool { return at >= from+windowMs })
		if end < 0 {
			end = len(instants) - i
		}
		most = max(most, end)
	}
	return most
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
			inStep := func() bool { return replica.inStep(master, &nowUs) }
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
			require.LessOrEqual(t, mostWithin(windowMs, admitted), limit)
			require.Greater(t, len(admitted), 3*limit, "the promoted server admits as before")
		})
	}
}

// TestPromotionKeepsDecisions: whatever the clock of a promoted replica says, limiters of every algorithm,
// holds and leases of all ages are there what they are on a server that was never replaced.
func TestPromotionKeepsDecisions(t *testing.T) {
	const stepUs = 100_000
	asks := [][]any{
		{"RL.ALLOW", "log", 10, "5s"},
		{"RL.ALLOW", "two", 10, "5s", 25, "17s"},
		{"RL.ALLOW", "fixed", 10, "5s", "ALGO", "FIXED"},
		{"RL.ALLOW", "gcra", 10, "5s", "ALGO", "GCRA", 3},
		{"RL.ALLOW", "buckets", 10, "5s", "ALGO", "BUCKETS", 7},
		{"RL.ALLOW", "counter", 10, "5s", "ALGO", "COUNTER"},
		{"CL.THROTTLE", "cell", 4, 10, 5},
	}
	for _, aheadMs := range []int64{-2000, 0, 2000} {
		t.Run(fmt.Sprintf("%+d ms", aheadMs), func(t *testing.T) {
			t.Parallel()
			var nowUs atomic.Int64
			nowUs.Store(3_600_000_000)
			master, control := startMachine(t, &nowUs, 0), startMachine(t, &nowUs, 0)
			replica := startMachine(t, &nowUs, aheadMs*1000)
			replica.do("REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port()))
			inStep := func() bool { return replica.inStep(master, &nowUs) }
			require.Eventually(t, inStep, time.Minute, time.Millisecond)

			master.do("CONFIG", "SET", "repl-ping-replica-period", 1)
			serving, denied, granted := master, 0, 0
			both := func(step int, args ...any) (reply any) {
				t.Helper()
				serving.Engine().Clock().Sync()
				control.Engine().Clock().Sync()
				reply = first(serving.do(args...))
				require.Equal(t, first(control.do(args...)), reply, "%v in step %d", args, step)
				return reply
			}
			for step := range 220 {
				if step == 33 {
					// The last ping takes no time on its way: what one takes makes windows longer by that.
					nowUs.Add(1_000_000)
					master.Engine().Tick()
					follows := func() bool { return replica.follows(master) }
					require.Eventually(t, follows, time.Minute, time.Millisecond)
					replica.do("REPLICAOF", "NO", "ONE")
					serving = replica
				}
				nowUs.Add(stepUs)
				for _, ask := range asks {
					if both(step, ask...) == int64(1) {
						granted++
					} else {
						denied++
					}
				}
				id := strconv.Itoa(step)
				both(step, "RL.RESERVE", "tokens", 200, "5s", 30, "HOLD", "3s", "ID", id)
				// Too late or not: holds of the old master, of the new one, and across the two.
				for _, age := range []int{10, 28, 32} {
					if step >= age {
						both(step, "RL.SETTLE", "tokens", strconv.Itoa(step-age), 7)
					}
				}
				both(step, "RL.ACQUIRE", "jobs", 12, "LEASE", "3s", "ID", id)
				both(step, "RL.RENEW", "jobs", strconv.Itoa(step-25), "LEASE", "4s")
				both(step, "EXISTS", "log", "jobs", "tokens", "tokens:hold:"+strconv.Itoa(step-28),
					"tokens:hold:"+strconv.Itoa(step-32))
			}
			require.Greater(t, granted, 100)
			require.Greater(t, denied, 100)
		})
	}
}

// first returns the decision of a reply: its first integer, of CL.THROTTLE in the sense of RL.ALLOW.
func first(reply any) any {
	list, ok := reply.([]any)
	if !ok {
		return reply
	}
	return list[0]
}

// documentsScript is the sliding window of the documents: the client brings the time.
const documentsScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`

// TestPromotionFromRedis: redis-server says no time, so its replica's own clock counts after a promotion.
// The documents' script brings its client's time, but the key's deadline is the old master's: by a clock
// that is ahead it is gone before its window ends, once, as on a replica that is a redis-server. Otherwise
// no window has more than the limit.
func TestPromotionFromRedis(t *testing.T) {
	t.Parallel()
	const limit, windowMs, stepMs = 10, 5_000, 100
	for _, c := range []struct{ aheadMs, pauseMs int64 }{
		{-2000, 0}, {0, 0}, {2000, 0}, // asked all the time
		{-2000, 4700}, {0, 4700}, {2000, 4700}, // asked again just before the window ends
	} {
		t.Run(fmt.Sprintf("%+d ms, silent for %d ms", c.aheadMs, c.pauseMs), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			f.held = true
			master := f.node(redis)
			var nowUs atomic.Int64
			nowUs.Store(3_600_000_000)
			replica := startMachine(t, &nowUs, c.aheadMs*1000)
			pass := func(ms int64) {
				nowUs.Add(ms * 1000)
				require.NoError(t, master.redis.SetClock(startNowMs+nowUs.Load()/1000))
				replica.Engine().Clock().Sync()
			}
			pass(0)
			host, port := master.hostPort()
			replica.do("REPLICAOF", host, port)
			follows := func() bool {
				replica.Engine().Tick()
				role := replica.do("ROLE").([]any)
				return role[3] == "connected" && role[4] == master.offset(t)
			}
			online := func() bool {
				pass(20) // there is a confirmation each second
				return follows() && strings.Contains(master.field(t, "slave0"), "state=online")
			}
			require.Eventually(t, online, time.Minute, time.Millisecond)
			master.fill(t, "SET begun v") // the stream begins after another confirmation
			require.Eventually(t, online, time.Minute, time.Millisecond)

			var admitted []int64
			script := func(id int) []any {
				nowMs := startNowMs + nowUs.Load()/1000
				return []any{"EVAL", documentsScript, "1", "k", nowMs, windowMs, limit, id}
			}
			note := func(reply any) {
				if reply == int64(1) || reply == ":1" {
					admitted = append(admitted, nowUs.Load()/1000)
				}
			}
			for i := range limit + 3 {
				var words []string
				for _, word := range script(i) {
					words = append(words, fmt.Sprint(word))
				}
				note(master.call(t, words...))
				pass(1)
			}
			require.Len(t, admitted, limit)
			require.Eventually(t, follows, time.Minute, time.Millisecond)
			replica.do("REPLICAOF", "NO", "ONE")
			pass(c.pauseMs)
			for i := range 80 {
				pass(stepMs)
				note(replica.do(script(1000 + i)...))
			}
			most := mostWithin(windowMs, admitted)
			require.Equal(t, c.aheadMs <= 0, most <= limit, "%d in a window", most)
			require.LessOrEqual(t, most, 2*limit)
			require.Greater(t, len(admitted), 3*limit/2)
		})
	}
}
