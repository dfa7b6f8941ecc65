package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// slack is by how many bytes used memory may exceed a limit: each shard may have 512 that
// are not yet counted.
const slack = 40_000

// bound sets maxmemory to the memory in use plus some bytes.
func bound(t *testing.T, e *engine.Engine, s *engine.Session, more int64) (limit int64) {
	t.Helper()
	limit = e.MemoryUse().Used() + more
	require.Equal(t, "OK", do(s, fmt.Sprintf("CONFIG SET maxmemory %d", limit)))
	return limit
}

func exists(s *engine.Session, key string) bool { return do(s, "EXISTS "+key) == "1" }

// TestPolicies checks which keys each policy keeps when the keys written take one and a
// half times the limit.
func TestPolicies(t *testing.T) {
	race.OneGoroutine(t)
	const keys = 3000
	for policy, kept := range map[string]func(i int) bool{
		// Of the first keys, every tenth is used all the time, and every fourth has no deadline.
		"allkeys-lru":  func(i int) bool { return i%10 == 0 },
		"allkeys-lfu":  func(i int) bool { return i%10 == 0 },
		"volatile-lru": func(i int) bool { return i%10 == 0 || i%4 == 0 },
		"volatile-lfu": func(i int) bool { return i%10 == 0 || i%4 == 0 },
		"volatile-ttl": func(i int) bool { return i%4 == 0 || i > keys*9/10 },
		// The random policies keep nothing in particular, but keys without a deadline.
		"volatile-random": func(i int) bool { return i%4 == 0 },
		"allkeys-random":  func(int) bool { return false },
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			e, h, s := newServer(t, "--maxmemory-policy", policy, "--maxmemory-samples", "10")
			key := func(i int) string { return fmt.Sprintf("key:%04d", i) }
			for i := range keys {
				set := "SET " + key(i) + " value"
				if i%4 != 0 {
					set += fmt.Sprintf(" EX %d", 100_000+i*10)
				}
				require.Equal(t, "OK", do(s, set))
			}
			h.pass(3_600_000)
			for range 20 {
				h.pass(10_000)
				for i := 0; i < keys; i += 10 {
					do(s, "GET "+key(i))
				}
			}
			limit := bound(t, e, s, 0)
			for i := range keys / 2 {
				require.Equal(t, "OK", do(s, fmt.Sprintf("SET new:%04d value EX 200000", i)))
				require.Less(t, e.MemoryUse().Used(), limit+slack)
				if i%100 == 0 {
					h.pass(1000)
					for i := 0; i < keys; i += 10 {
						do(s, "GET "+key(i))
					}
				}
			}
			lost, want := 0, 0
			for i := range keys {
				if kept(i) {
					want++
					if !exists(s, key(i)) {
						lost++
					}
				}
			}
			t.Logf("of %d keys that are to be kept %d are lost", want, lost)
			require.LessOrEqual(t, lost, want/10)
			require.NotEqual(t, "0", infoOf(s, "evicted_keys"))
		})
	}
}

// TestEvictionUnderConcurrency checks that sessions that write at once stay within the
// limit, with policies and limits that change meanwhile.
func TestEvictionUnderConcurrency(t *testing.T) {
	e, _, admin := newServer(t, "--maxmemory-policy", "allkeys-lru")
	limit := bound(t, e, admin, 1<<20)
	var writers sync.WaitGroup
	for w := range 4 {
		s := newSession(t, e)
		writers.Go(func() {
			for i := range 6_000 {
				line := fmt.Sprintf("RL.ALLOW w%d:%d 10 1h", w, i)
				if i%3 == 0 {
					line = fmt.Sprintf("SET s%d:%d %s EX 100", w, i, strings.Repeat("x", 1+rand.IntN(200)))
				}
				if reply := do(s, line); strings.HasPrefix(reply, "ERR") {
					t.Error(reply)
				}
			}
		})
	}
	policies := []string{
		"allkeys-lfu", "limiter-aware", "volatile-ttl", "allkeys-random", "volatile-lru", "allkeys-lru",
	}
	for i := range 300 {
		do(admin, "CONFIG SET maxmemory-policy "+policies[i%len(policies)])
		e.Tick()
	}
	writers.Wait()
	do(admin, "CONFIG SET maxmemory-policy allkeys-lru")
	do(admin, "PING")
	require.Less(t, e.MemoryUse().Used(), limit+300_000)
	counted, found := e.CountedMemory()
	require.Equal(t, found, counted)
}

// TestRoundsOfFillAndExpire checks that filling to the limit and expiring leaks nothing.
func TestRoundsOfFillAndExpire(t *testing.T) {
	race.OneGoroutine(t)
	e, h := newEngine(t, "--maxmemory-policy", "limiter-aware",
		"--rl-top", "no") // its counts outlive keys: TestUsedMemoryOfTop
	s := newSession(t, e)
	limit := bound(t, e, s, 2<<20)
	var first int64
	for round := range 10 {
		for i := range 30_000 {
			reply := s.Do(args(fmt.Sprintf("RL.ALLOW r%d:%d 10 1m", round, i)))
			if reply.IsError() {
				t.Fatal(show(reply))
			}
		}
		require.Less(t, e.MemoryUse().Used(), limit+slack)
		h.pass(61_000)
		e.Reclaim()
		used := e.MemoryUse().Used()
		if round == 0 {
			first = used
		}
		require.InDelta(t, first, used, float64(first)/10, "round %d", round)
		require.Equal(t, "0", do(s, "DBSIZE"))
	}
}
