package engine_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// TestInfoNeedsNoShard checks that sections without figures of the keyspace are answered
// while every shard is locked.
func TestInfoNeedsNoShard(t *testing.T) {
	e, _, s := newServer(t)
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

// TestRatesAreMeans checks the mean of sixteen samples, a tenth of a second apart.
func TestRatesAreMeans(t *testing.T) {
	e, h, s := newServer(t)
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
	ops := func() string { return infoOf(s, "instantaneous_ops_per_sec") }
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
