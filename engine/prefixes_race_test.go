package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// TestPrefixLimitIsExact lets clients race for the last places: as many calls are admitted as there are, and
// none is refused before.
func TestPrefixLimitIsExact(t *testing.T) {
	const limit, clients, each = 150, 8, 40
	for _, create := range []string{
		"RL.ALLOW t:%d 9 1m", "CL.THROTTLE t:%d 5 1 60", "RL.ACQUIRE t:%d 9 LEASE 1m ID i",
		"RL.MALLOW 2 u:%d 9 1m t:%[1]d 9 1m", "EVAL return(redis.call('RL.ALLOW',KEYS[1],'9','1m')) 1 t:%d",
	} {
		e, _ := newEngine(t, "--rl-max-keys-per-prefix", fmt.Sprint("t: ", limit))
		var created, refused atomic.Int64
		together(t, e, clients, func(s *engine.Session, i int) error {
			for j := range each {
				switch reply := do(s, fmt.Sprintf(create, i*each+j)); {
				case strings.Contains(reply, prefixFull(limit)):
					refused.Add(1)
				case strings.HasPrefix(reply, "["):
					created.Add(1)
				default:
					return fmt.Errorf("%s: %s", create, reply)
				}
			}
			return nil
		})
		require.EqualValues(t, limit, created.Load(), create)
		require.EqualValues(t, clients*each-limit, refused.Load(), create)
		counted, found, _ := e.CountedKeys("t:")
		require.EqualValues(t, limit, counted, create)
		require.EqualValues(t, limit, found, create)
	}
}

// Commands for TestPrefixLimitIsNeverExceeded: K, L and M are keys.
var (
	prefixCreators = []string{
		"RL.ALLOW K 9 1s", "RL.ALLOW K 9 1m COST 2", "RL.ALLOW K 9 1s ALGO FIXED",
		"RL.ALLOW K 9 1s ALGO GCRA 3", "RL.ALLOW K 9 1s ALGO BUCKETS 4", "RL.ALLOW K 9 1s ALGO COUNTER",
		"CL.THROTTLE K 5 1 60", "RL.MALLOW 3 K 9 1s L 9 1s M 9 1s", "RL.ACQUIRE K 9 LEASE 1s ID i",
		"RL.RESERVE K 9 1s 1 HOLD 2s ID i", "EVAL return(redis.pcall('RL.ALLOW',KEYS[1],'9','1s')) 1 K",
		"EVAL redis.pcall('RL.ALLOW',ARGV[1],'9','1s') 0 K",
	}
	prefixRemovers = []string{
		"RL.RESET K", "DEL K L", "RL.REFUND K 1", "EXPIRE K 0", "PEXPIRE K 500", "TTL K", "RL.CANCEL K i",
		"UNLINK K", "RL.RELEASE K i",
	}
	prefixOthers = []string{
		"SET K v", "ZADD K 1 a", "RENAME K L", "COPY K L DB 1 REPLACE", "MOVE K 2", "SWAPDB 0 1", "FLUSHDB",
		"SELECT 0", "SELECT 1", "SELECT 2", "MSET K a L b", "RL.SETTLE K i 9", "GETDEL K",
		"SORT K BY x STORE M",
	}
)

const raceLimit, raceInnerLimit = 60, 15 // of t: and t:a

// TestPrefixLimitIsNeverExceeded runs random commands on many sessions, while the limits of other prefixes
// change, keys expire and Ticks reclaim them. If only RL commands create keys there are never more than the
// limit. Whoever creates them, the counts are those of the keyspace.
func TestPrefixLimitIsNeverExceeded(t *testing.T) {
	all := slices.Concat(prefixCreators, prefixRemovers, prefixOthers)
	for name, lines := range map[string][]string{
		"RL commands only": slices.Concat(prefixCreators, prefixRemovers),
		"all commands":     all,
		"eviction":         append(slices.Clone(all), "SETRANGE K 99999 x"),
	} {
		t.Run(name, func(t *testing.T) {
			const clients, each = 6, 800
			e, _ := newEngine(t, "--enable-debug-command", "yes", "--maxmemory-policy", "allkeys-random",
				"--rl-max-keys-per-prefix", fmt.Sprintf("t: %d t:a %d", raceLimit, raceInnerLimit))
			if name == "eviction" {
				bound(t, e, newSession(t, e), 64<<10) // more than the sessions take
			}
			source := seeded()
			var refused atomic.Int64
			together(t, e, clients+2, func(s *engine.Session, i int) error {
				rnd := source(i)
				switch i {
				case clients:
					return changeOtherPrefixes(e, s, rnd, each/20)
				case clients + 1:
					return checkPrefixes(e, s, each/10, name == "RL commands only")
				}
				for range each {
					if strings.HasPrefix(randomPrefixCommand(s, rnd, lines), "LIMITKEYS") {
						refused.Add(1)
					}
				}
				return nil
			})
			for range 100 {
				e.Tick()
			}
			for _, prefix := range []string{"t:", "t:a"} {
				counted, found, all := e.CountedKeys(prefix)
				require.True(t, all)
				require.Equal(t, found, counted, prefix)
			}
			if name != "eviction" { // which makes room
				require.Greater(t, refused.Load(), int64(20), "the test means something")
			}
			evicted := infoOf(newSession(t, e), "evicted_keys")
			require.Equal(t, name == "eviction", evicted != "0", evicted)
		})
	}
}

// changeOtherPrefixes begins a new count again and again, and leaves the limits of t: and t:a.
func changeOtherPrefixes(e *engine.Engine, s *engine.Session, rnd *rand.Rand, times int) error {
	for i := range times {
		limits := fmt.Sprintf("t:%c 5 t: %d t:a %d t:%d 9", "bcd"[rnd.IntN(3)], raceLimit, raceInnerLimit, i)
		if reply := doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", limits); reply != "OK" {
			return errors.New(reply)
		}
		e.Tick()
	}
	return nil
}

// checkPrefixes compares the counts with the keyspace while others run commands, and lets keys expire.
func checkPrefixes(e *engine.Engine, s *engine.Session, times int, bounded bool) error {
	for i := range times {
		if i%10 == 0 {
			if reply := do(s, "DEBUG CLOCK ADVANCE 300"); reply != "OK" {
				return errors.New(reply)
			}
		}
		for prefix, most := range map[string]int64{"t:": raceLimit, "t:a": raceInnerLimit} {
			counted, found, _ := e.CountedKeys(prefix)
			if counted != found || bounded && found > most {
				return fmt.Errorf("%s counts %d keys of %d, %d are allowed", prefix, counted, found, most)
			}
		}
	}
	return nil
}

// randomPrefixCommand runs one of lines, or some of them as a transaction.
func randomPrefixCommand(s *engine.Session, rnd *rand.Rand, lines []string) (reply string) {
	line := func() string {
		words := strings.Fields(lines[rnd.IntN(len(lines))])
		for i, word := range words {
			if word == "K" || word == "L" || word == "M" {
				words[i] = fmt.Sprintf("t:%c%d", "abcd"[rnd.IntN(4)], rnd.IntN(40))
			}
		}
		return strings.Join(words, " ")
	}
	if rnd.IntN(6) > 0 {
		return do(s, line())
	}
	do(s, "MULTI")
	for range rnd.IntN(4) {
		do(s, line())
	}
	return do(s, "EXEC")
}
