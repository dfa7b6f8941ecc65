package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// A connection is a session whose arguments stay, as a server's do.
func newConnection(t *testing.T, e *engine.Engine) *engine.Session {
	t.Helper()
	s := e.NewSession(engine.Peer{Addr: "127.0.0.1:7", LocalAddr: "127.0.0.1:6379", KeepsArgs: true})
	t.Cleanup(s.Close)
	return s
}

// slowlog returns what SLOWLOG has, as name:duration, the newest first.
func slowlog(s *engine.Session) string {
	var out []string
	for _, entry := range s.Do(args("slowlog get -1")).Elems() {
		e := entry.Elems()
		out = append(out, fmt.Sprintf("%s:%d", e[3].Elems()[0].Str(), e[2].Int()))
	}
	return strings.Join(out, " ")
}

// TestSlowCallIsBounded checks that a call is open until the next reading of the clock,
// and is logged by then.
func TestSlowCallIsBounded(t *testing.T) {
	e, h := newEngine(t, "--slowlog-log-slower-than", "5000")
	h.step.Store(1)
	s := newConnection(t, e)
	for range 100 { // so that each command has been timed once
		do(s, "set k v")
		do(s, "get k")
		do(s, "echo x")
		do(s, "slowlog len")
		do(s, "slowlog get")
		do(s, "multi")
		do(s, "discard")
	}
	require.Empty(t, slowlog(s))

	// The command that follows ends it.
	timed := 0
	for range 200 {
		do(s, "set k v")
		h.step.Store(6000)
		s.EndCall()
		h.step.Store(1)
		if got := slowlog(s); got == "" {
			timed++ // one call in sixteen has ended before
		} else {
			require.Equal(t, "set:6000", got)
		}
		do(s, "slowlog reset")
	}
	require.Less(t, timed, 40)

	// A command that is queued or refused ends it, too, and is not part of it.
	for _, next := range []string{"nosuch", "get", "multi", "get k"} {
		do(s, "discard")
		do(s, "slowlog reset")
		do(s, "echo x")
		do(s, next)
		if next == "multi" {
			do(s, "get k")
		}
		h.step.Store(6000)
		s.EndCall()
		h.step.Store(1)
		require.NotContains(t, slowlog(s), "echo", next)
	}
}

// TestShortThresholdsAreExact checks that below a millisecond the end of each call is
// read, and that later work does not count.
func TestShortThresholdsAreExact(t *testing.T) {
	e, h := newEngine(t, "--slowlog-log-slower-than", "999")
	h.step.Store(1)
	s := newConnection(t, e)
	do(s, "echo x")
	for range 100 {
		do(s, "echo x")
		h.step.Store(5000)
		s.EndCall()
		h.step.Store(1)
	}
	require.Empty(t, slowlog(s))
	before := h.readings.Load()
	do(s, "echo x")
	require.Equal(t, before+2, h.readings.Load())
	do(s, "config set slowlog-log-slower-than 1000")
	do(s, "slowlog len")
	ends := int64(0)
	for range 160 {
		before = h.readings.Load()
		do(s, "echo x")
		ends += h.readings.Load() - before - 1
	}
	require.Less(t, ends, int64(40), "only the calls of the sample are read twice")
	do(s, "config set slowlog-log-slower-than -1")
	s.EndCall()
	do(s, "echo x")
	before = h.readings.Load()
	s.EndCall()
	require.Equal(t, before, h.readings.Load(), "nothing is open while the log is off")
}

// TestCallsWithoutConnection: arguments that do not stay end the call at once; the program
// that runs the engine is measured where a call could be slow.
func TestCallsWithoutConnection(t *testing.T) {
	e, h := newEngine(t)
	h.step.Store(1)
	other, owner := newSession(t, e), e.NewSession(engine.Peer{Owner: true})
	defer owner.Close()
	count := func(s *engine.Session, line string) int64 {
		least := int64(1 << 60)
		for range 50 { // of which some are in the sample
			before := h.readings.Load()
			do(s, line)
			least = min(least, h.readings.Load()-before)
		}
		return least
	}
	require.EqualValues(t, 2, count(other, "echo x"))
	require.EqualValues(t, 1, count(owner, "echo x"), "it is fast")
	require.EqualValues(t, 2, count(owner, "set k v"))
	do(owner, "config set slowlog-log-slower-than 999")
	require.EqualValues(t, 2, count(owner, "echo x"))
	h.step.Store(5000)
	require.Equal(t, "OK", do(owner, "set k v"))
	h.step.Store(1)
	require.Equal(t, "set:5000", slowlog(owner))
	require.EqualValues(t, 1, e.Facts().SlowLog.Total())
}

// TestLockWaitsAreNotCounted checks that the wait for a lock that another session holds
// counts neither for the call before nor for the one that waits.
func TestLockWaitsAreNotCounted(t *testing.T) {
	var us atomic.Int64
	reading := make(chan struct{}, 1)
	c := clock.New(clock.Sources{
		Monotonic: func() int64 {
			now := us.Add(1) // before the test knows of it
			select {
			case reading <- struct{}{}:
			default:
			}
			return now
		},
		Wall: func() int64 { return startNowMs * 1000 },
	})
	e := engine.New(engine.Options{Config: config.New(), Clock: c})
	s := newConnection(t, e)
	for range 50 {
		do(s, "set k v") // it is open
		done := make(chan struct{})
		e.WithShards(func() {
			<-reading
			go func() {
				defer close(done)
				do(s, "get k")
			}()
			<-reading // the wait has begun
			us.Add(1_000_000)
		})
		<-done
		s.EndCall()
	}
	require.Empty(t, slowlog(s))
	do(s, "set k v")
	us.Add(1_000_000)
	s.EndCall()
	do(s, "set k v")
	us.Add(1_000_000)
	s.EndCall()
	require.NotEmpty(t, slowlog(s), "the comparison can fail")
}

// TestSlowLogMemory checks that an entry is small, whatever its call was.
func TestSlowLogMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes memory")
	}
	_, _, s := newServer(t, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000000")
	call := args("del")
	for range 100 {
		call = append(call, make([]byte, 10_000))
	}
	const entries = 1000
	before := heapNow()
	for range entries {
		s.Do(call)
	}
	require.Less(t, (heapNow()-before)/entries, int64(8<<10))
	require.Equal(t, fmt.Sprint(entries), do(s, "slowlog len"))
	require.Equal(t, "OK", do(s, "config set slowlog-max-len 1"))
	require.Less(t, heapNow()-before, int64(1<<20))
	require.Equal(t, "1", do(s, "slowlog len"))
}

// TestSlowLogConcurrently checks that entries have their own IDs, in order, while calls,
// readers and changes of directives run at once.
func TestSlowLogConcurrently(t *testing.T) {
	e, _ := newEngine(t, "--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "1")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := newSession(t, e)
			for n := range 200 {
				switch {
				case i == 0:
					const change = "config set slowlog-max-len %d latency-monitor-threshold %d"
					do(s, fmt.Sprintf(change, n%20, n%2))
				case i == 1:
					last := int64(1 << 60)
					for _, entry := range s.Do(args("slowlog get -1")).Elems() {
						require.Less(t, entry.Elems()[0].Int(), last)
						last = entry.Elems()[0].Int()
					}
					do(s, "latency latest")
					do(s, "latency histogram")
				case i == 2 && n%10 == 0:
					do(s, "slowlog reset")
					do(s, "latency reset")
				default:
					do(s, "multi")
					do(s, "client setname n")
					do(s, "incr k")
					do(s, "exec")
					do(s, "blpop l 0.001")
					if s.Blocked() != nil {
						s.Blocked().TimeOut()
						s.Resume()
					}
					do(s, "rpush l x")
				}
			}
		})
	}
	wg.Wait()
}
