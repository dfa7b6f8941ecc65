package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// TestInfoNeedsNoShard checks that sections without figures of the keyspace are answered
// while every shard is locked.
func TestInfoNeedsNoShard(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	do(s, "SET k v")
	e.WithShards(func() {
		for _, section := range []string{
			"server", "clients", "memory", "persistence", "replication", "cpu", "modules", "commandstats",
			"errorstats", "latencystats", "cluster", "limiter",
		} {
			require.Contains(t, strings.ToLower(do(s, "INFO "+section)), "# "+section)
		}
	})
}

func TestAverageTTL(t *testing.T) {
	e, h := newEngine(t)
	s := newSession(t, e)
	average := func(want string) {
		t.Helper()
		require.Contains(t, do(s, "INFO keyspace"), want)
	}
	do(s, "SET a v PX 1000")
	do(s, "SET b v PX 3000")
	average("db0:keys=2,expires=2,avg_ttl=2000")
	h.pass(500)
	average("db0:keys=2,expires=2,avg_ttl=1500")
	do(s, "PEXPIRE a 5500")
	average("avg_ttl=4000")
	do(s, "PERSIST a")
	average("db0:keys=2,expires=1,avg_ttl=2500")
	do(s, "RENAME b c")
	average("db0:keys=2,expires=1,avg_ttl=2500")
	do(s, "MOVE c 7")
	average("db0:keys=1,expires=0,avg_ttl=0\r\ndb7:keys=1,expires=1,avg_ttl=2500")
	h.pass(10_000) // due, and not reclaimed
	average("db7:keys=1,expires=1,avg_ttl=0")
	e.Reclaim()
	do(s, "SET far v PXAT 9223372036854775807")
	do(s, "SET past v")
	do(s, "DEL far")
	average("db0:keys=2,expires=0,avg_ttl=0")
	do(s, "SET far v PXAT 9223372036854775807")
	do(s, "FLUSHALL")
	do(s, "SET a v PX 1000")
	average("db0:keys=1,expires=1,avg_ttl=1000")
}

// TestRatesAreMeans checks the mean of sixteen samples, a tenth of a second apart.
func TestRatesAreMeans(t *testing.T) {
	e, h := newEngine(t)
	s := newSession(t, e)
	second := func(commands int) {
		for range 10 {
			h.pass(100)
			for range commands / 10 {
				do(s, "PING")
			}
			s.Count()
			e.Tick()
		}
	}
	ops := func() string { return field(t, s, "stats", "instantaneous_ops_per_sec") }
	require.Equal(t, "0", ops())
	e.Tick()
	second(1000)
	second(1000)
	require.Equal(t, "1000", ops())
	for range 3 {
		second(0)
	}
	require.Equal(t, "0", ops())
	second(1000)
	do(s, "CONFIG RESETSTAT")
	require.Equal(t, "0", ops())
}

// TestCountsOfWaits checks that waits with a timeout are counted separately.
func TestCountsOfWaits(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	for i, line := range []string{"BLPOP none 0", "BLPOP none 10", "BLPOP none 0.001"} {
		waiting := newSession(t, e)
		do(waiting, line)
		require.Equal(t, fmt.Sprint(i+1), field(t, s, "clients", "blocked_clients"))
		require.Equal(t, fmt.Sprint(i), field(t, s, "clients", "clients_in_timeout_table"))
	}
	do(s, "RPUSH none 1 2 3")
	require.Equal(t, "0", field(t, s, "clients", "clients_in_timeout_table"))
	closed := e.NewSession(engine.Peer{})
	do(closed, "BLPOP none 10")
	require.Equal(t, "1", field(t, s, "clients", "clients_in_timeout_table"))
	closed.Close()
	require.Equal(t, "0", field(t, s, "clients", "clients_in_timeout_table"))
}

// TestMessagesAreMemory checks that messages count as memory until a subscriber has them.
func TestMessagesAreMemory(t *testing.T) {
	e, _ := newEngine(t)
	s, listener := newSession(t, e), e.NewSession(engine.Peer{})
	do(listener, "SUBSCRIBE c")
	_, _ = listener.Deliver(nil)
	before := usedMemory(t, s)
	for range 100 {
		doWords(s, "PUBLISH", "c", strings.Repeat("m", 10_000))
	}
	require.InDelta(t, before+1_000_000, usedMemory(t, s), 500_000)
	_, _ = listener.Deliver(nil)
	require.InDelta(t, before, usedMemory(t, s), 70_000)
	for range 100 {
		doWords(s, "PUBLISH", "c", strings.Repeat("m", 10_000))
	}
	listener.Close()
	require.Less(t, usedMemory(t, s), before)
}

// TestInfoBesideEverything checks that INFO deadlocks with no other command.
func TestInfoBesideEverything(t *testing.T) {
	e, _ := newEngine(t)
	var all sync.WaitGroup
	for i, line := range []string{
		"INFO everything", "INFO", "INFO keyspace stats",
		"EVAL redis.call('PUBLISH','c','m')return(redis.call('SET',KEYS[1],'v')) 1 k", "SWAPDB 0 1",
		"FLUSHALL",
		"RPUSH l x", "SUBSCRIBE c", "PUBLISH c m",
	} {
		s := newSession(t, e)
		if i == 0 {
			do(s, "HELLO 3")
		}
		all.Go(func() {
			for range 300 {
				do(s, line)
			}
		})
	}
	all.Wait()
}

// TestInfoOfKeysThatClientsAwait: keys count once, however many clients watch them or
// wait for them.
func TestInfoOfKeysThatClientsAwait(t *testing.T) {
	e, _ := newEngine(t)
	s, a, b, c := newSession(t, e), newSession(t, e), newSession(t, e), newSession(t, e)
	requireCounts := func(watching, watched, blocking int) {
		t.Helper()
		info := do(s, "INFO clients")
		require.Contains(t, info, fmt.Sprintf("watching_clients:%d\r\n", watching))
		require.Contains(t, info, fmt.Sprintf("total_watched_keys:%d\r\n", watched))
		require.Contains(t, info, fmt.Sprintf("total_blocking_keys:%d\r\n", blocking))
	}
	requireCounts(0, 0, 0)
	do(a, "WATCH x y x")
	do(b, "WATCH y")
	requireCounts(2, 2, 0)
	do(b, "SELECT 1")
	do(b, "WATCH y")
	requireCounts(2, 3, 0)
	do(b, "UNWATCH")
	do(b, "UNWATCH")
	requireCounts(1, 2, 0)
	do(a, "MULTI")
	do(a, "EXEC")
	requireCounts(0, 0, 0)
	do(a, "WATCH x")
	do(a, "SELECT 0")
	do(b, "SELECT 0")
	require.Equal(t, "(nothing)", do(b, "BLPOP k l k 0"))
	require.Equal(t, "(nothing)", do(c, "BLPOP k 0"))
	requireCounts(1, 1, 2)
	a.Close()
	do(s, "RPUSH k v")
	require.Equal(t, "[k v]", show(b.Resume()))
	requireCounts(0, 0, 1)
	do(s, "RPUSH k v")
	require.Equal(t, "[k v]", show(c.Resume()))
	requireCounts(0, 0, 0)
}
