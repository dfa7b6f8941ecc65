package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// These tests are worth most under the race detector. Their clock stands
// still, or is moved by DEBUG CLOCK from within, never by the wall.

// together runs n clients, each with a session of its own, and waits for them.
// What a client returns as an error fails the test.
func together(t *testing.T, e *engine.Engine, n int, client func(s *engine.Session, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		s := newSession(t, e)
		wg.Go(func() {
			failed[i] = client(s, i)
			s.Publish(engine.Buffers{})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(failed...))
}

// seeded returns a random source and prints its seed.
func seeded(t *testing.T) func(i int) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return func(i int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i))) }
}

// numbers reads a reply of integers, as show spells it.
func numbers(reply string) (out []int64, err error) {
	for _, word := range strings.Fields(strings.Trim(reply, "[]")) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("not integers: %q", reply)
		}
		out = append(out, n)
	}
	return out, nil
}

// A way to ask for one unit of a limit of 200 a minute; id is different for
// every call.
var askers = []struct {
	name string
	ask  func(s *engine.Session, id string) (allowed bool, err error)
}{
	{"RL.ALLOW", func(s *engine.Session, _ string) (bool, error) {
		return granted(do(s, "RL.ALLOW k 200 1m"))
	}},
	{"RL.ALLOW in EVAL", func(s *engine.Session, _ string) (bool, error) {
		return granted(doWords(s, "EVAL", "return redis.call('RL.ALLOW', KEYS[1], '200', '1m')", "1", "k"))
	}},
	{"RL.ALLOW in MULTI", func(s *engine.Session, _ string) (bool, error) {
		do(s, "MULTI")
		do(s, "RL.ALLOW k 200 1m COST 0")
		do(s, "RL.ALLOW k 200 1m")
		all, err := numbers(strings.NewReplacer("[", "", "]", "").Replace(do(s, "EXEC")))
		if err != nil || len(all) != 10 {
			return false, fmt.Errorf("EXEC: %v, %w", all, err)
		}
		// Nothing came between the look and the call.
		if all[0] != all[5] {
			return false, fmt.Errorf("one EXEC saw two states: %v", all)
		}
		return all[5] == 1, nil
	}},
	{"the documents' script", func(s *engine.Session, id string) (bool, error) {
		reply := doWords(s, "EVAL", limiterScript, "1", "k", strconv.Itoa(startNowMs), "60000", "200", id)
		return reply == "1", onlyOneOrZero(reply)
	}},
	{"the documents' MULTI, the hit first", func(s *engine.Session, id string) (bool, error) {
		do(s, "MULTI")
		do(s, fmt.Sprintf("ZADD k %d %s", int64(startNowMs), id))
		do(s, fmt.Sprintf("ZREMRANGEBYSCORE k 0 %d", int64(startNowMs-60_000)))
		do(s, "ZCARD k")
		do(s, "EXPIRE k 60")
		all, err := numbers(do(s, "EXEC"))
		if err != nil || len(all) != 4 || all[0] != 1 || all[3] != 1 {
			return false, fmt.Errorf("EXEC: %v, %w", all, err)
		}
		return all[2] <= 200, nil
	}},
}

const limiterScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return '0' end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return '1'`

func granted(reply string) (bool, error) {
	all, err := numbers(reply)
	if err != nil || len(all) != 5 || all[0] < 0 || all[0] > 1 {
		return false, fmt.Errorf("RL.ALLOW: %q, %w", reply, err)
	}
	return all[0] == 1, nil
}

func onlyOneOrZero(reply string) error {
	if reply != "1" && reply != "0" {
		return fmt.Errorf("neither 1 nor 0: %q", reply)
	}
	return nil
}

// doWords is do for arguments with spaces in them.
func doWords(s *engine.Session, words ...string) string {
	in := make([][]byte, len(words))
	for i := range words {
		in[i] = []byte(words[i])
	}
	return show(s.Do(in))
}

// TestManyClientsGetExactlyTheLimit: 8 clients ask 50 times each for a limit of
// 200 at one instant; 200 are admitted, then, a window later, 200 again.
func TestManyClientsGetExactlyTheLimit(t *testing.T) {
	for _, asker := range askers {
		t.Run(asker.name, func(t *testing.T) {
			e, clock := newEngine(t)
			for round := range 2 {
				var admitted atomic.Int64
				together(t, e, 8, func(s *engine.Session, client int) error {
					for call := range 50 {
						ok, err := asker.ask(s, fmt.Sprintf("%d-%d-%d", round, client, call))
						if err != nil {
							return err
						}
						if ok {
							admitted.Add(1)
						}
					}
					return nil
				})
				require.EqualValues(t, 200, admitted.Load(), "round %d", round)
				clock.pass(60_000)
				do(newSession(t, e), "DEL k") // what the flows with a fixed ARGV left
			}
		})
	}
}

// TestManyClientsWithCosts: what is granted together never exceeds the limit,
// and a call is denied only where it did not fit.
func TestManyClientsWithCosts(t *testing.T) {
	const limit = 1000
	rnd := seeded(t)
	e, _ := newEngine(t)
	var sum atomic.Int64
	together(t, e, 8, func(s *engine.Session, client int) error {
		r := rnd(client)
		for range 100 {
			cost := r.Int64N(6)
			reply, err := numbers(do(s, fmt.Sprintf("RL.ALLOW k %d 1h COST %d", limit, cost)))
			if err != nil || len(reply) != 5 {
				return fmt.Errorf("%v %w", reply, err)
			}
			switch allowed, remaining := reply[0], reply[2]; {
			case cost == 0: // a look
			case allowed == 0 && remaining >= cost:
				return fmt.Errorf("denied %d of %d", cost, remaining)
			case allowed != 0 && allowed != cost:
				return fmt.Errorf("granted %d of %d", allowed, cost)
			default:
				sum.Add(allowed)
			}
		}
		return nil
	})
	s := newSession(t, e)
	require.LessOrEqual(t, sum.Load(), int64(limit))
	require.Equal(t, fmt.Sprint(sum.Load()), do(s, "ZCARD k"))
	require.Equal(t, fmt.Sprintf("[1 %d %d 0 3600000]", limit+1, limit+1-sum.Load()), do(s, fmt.Sprintf("RL.ALLOW k %d 1h COST 0", limit+1)))
}

// A call of RL.ALLOW as its client saw it: started and ended are readings of
// one counter, so that a call that ended before another started has a smaller
// number.
type call struct {
	started, ended int64
	allowed        bool
	remaining      int64
}

// linearizable tells whether calls of cost 1 on one key at one instant can have
// run one after the other, each at some moment between its start and its end.
// There the state is a number, so an admitted call's place is the remaining
// that it was told, and denied calls come behind all of them: it is enough that
// no call had ended before an earlier one started.
func linearizable(history []call, limit int64) error {
	var admitted, order []call
	for _, c := range history {
		if c.allowed {
			admitted = append(admitted, c)
		}
	}
	slices.SortFunc(admitted, func(a, b call) int { return cmp.Compare(b.remaining, a.remaining) })
	for i, c := range admitted {
		if c.remaining != limit-1-int64(i) {
			return fmt.Errorf("admission %d left %d of %d", i+1, c.remaining, limit)
		}
	}
	order = admitted
	for _, c := range history {
		if !c.allowed {
			if int64(len(admitted)) != limit || c.remaining != 0 {
				return fmt.Errorf("denied with %d admitted of %d and %d left", len(admitted), limit, c.remaining)
			}
			order = append(order, c)
		}
	}
	latestStart := int64(-1)
	for i, c := range order {
		if c.ended < latestStart {
			return fmt.Errorf("call %d %+v had ended before an earlier one started at %d", i, c, latestStart)
		}
		if c.allowed { // denied calls change nothing: their order is free
			latestStart = max(latestStart, c.started)
		}
	}
	return nil
}

func TestRLAllowIsLinearizable(t *testing.T) {
	const limit = 300
	e, _ := newEngine(t)
	var (
		now     atomic.Int64
		mu      sync.Mutex
		history []call
	)
	together(t, e, 8, func(s *engine.Session, _ int) error {
		var mine []call
		for range 60 {
			c := call{started: now.Add(1)}
			reply, err := numbers(do(s, fmt.Sprintf("RL.ALLOW k %d 1h", limit)))
			c.ended = now.Add(1)
			if err != nil || len(reply) != 5 {
				return fmt.Errorf("%v %w", reply, err)
			}
			c.allowed, c.remaining = reply[0] == 1, reply[2]
			mine = append(mine, c)
		}
		mu.Lock()
		defer mu.Unlock()
		history = append(history, mine...)
		return nil
	})
	require.Len(t, history, 480)
	require.NoError(t, linearizable(history, limit))
}

// TestLinearizableFinds: the checker refuses histories that cannot be.
func TestLinearizableFinds(t *testing.T) {
	good := []call{{1, 4, true, 1}, {2, 3, true, 0}, {5, 6, false, 0}}
	require.NoError(t, linearizable(good, 2))
	require.NoError(t, linearizable([]call{{1, 2, true, 1}}, 2))
	for name, bad := range map[string][]call{
		"one too many":                  {{1, 2, true, 1}, {3, 4, true, 0}, {5, 6, true, 0}},
		"one place taken twice":         {{1, 4, true, 1}, {2, 3, true, 1}},
		"a place left out":              {{1, 2, true, 0}},
		"denied with room":              {{1, 2, true, 1}, {3, 4, false, 0}},
		"denied before the last place":  {{1, 2, true, 1}, {3, 4, false, 0}, {5, 6, true, 0}},
		"against the order of the time": {{1, 2, true, 0}, {3, 4, true, 1}},
	} {
		require.Error(t, linearizable(bad, 2), name)
	}
}

// TestWatchLosesNoUpdate: everybody counts by WATCH, GET, MULTI, SET, EXEC, and
// tries again where somebody else was faster.
func TestWatchLosesNoUpdate(t *testing.T) {
	const clients, each = 6, 40
	e, _ := newEngine(t)
	together(t, e, clients, func(s *engine.Session, _ int) error {
		for done := 0; done < each; {
			do(s, "WATCH n")
			n, _ := strconv.Atoi(do(s, "GET n")) // (nil) is 0
			do(s, "MULTI")
			do(s, fmt.Sprint("SET n ", n+1))
			switch reply := do(s, "EXEC"); reply {
			case "[OK]":
				done++
			case "(nil)":
			default:
				return fmt.Errorf("EXEC: %s", reply)
			}
		}
		return nil
	})
	require.Equal(t, fmt.Sprint(clients*each), do(newSession(t, e), "GET n"))
}

// TestWatchedLimiterNeverOverAdmits is the same with the documents' flow.
func TestWatchedLimiterNeverOverAdmits(t *testing.T) {
	const limit = 100
	e, _ := newEngine(t)
	var admitted atomic.Int64
	together(t, e, 6, func(s *engine.Session, client int) error {
		for call := 0; call < 40; {
			do(s, "WATCH k")
			held, err := strconv.Atoi(do(s, "ZCARD k"))
			if err != nil {
				return err
			}
			if held >= limit {
				do(s, "UNWATCH")
				call++
				continue
			}
			do(s, "MULTI")
			do(s, fmt.Sprintf("ZADD k %d %d-%d", int64(startNowMs), client, call))
			do(s, "EXPIRE k 60")
			if do(s, "EXEC") == "[1 1]" {
				admitted.Add(1)
				call++
			}
		}
		return nil
	})
	require.EqualValues(t, limit, admitted.Load())
	require.Equal(t, fmt.Sprint(limit), do(newSession(t, e), "ZCARD k"))
}

// TestTransfersKeepTheSum: MULTI and EVAL over two shards are one step for
// MGET, for EVAL and for MULTI.
func TestTransfersKeepTheSum(t *testing.T) {
	rnd := seeded(t)
	e, _ := newEngine(t)
	do(newSession(t, e), "MSET a 500 b 500")
	sumIs1000 := func(reply string) error {
		all, err := numbers(reply)
		if err == nil && (len(all) != 2 || all[0]+all[1] != 1000) {
			err = errors.New("torn")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", reply, err)
		}
		return nil
	}
	together(t, e, 6, func(s *engine.Session, client int) error {
		r := rnd(client)
		for range 60 {
			amount := fmt.Sprint(r.IntN(20))
			var err error
			switch (client + r.IntN(2)) % 4 {
			case 0:
				do(s, "MULTI")
				do(s, "DECRBY a "+amount)
				do(s, "INCRBY b "+amount)
				err = sumIs1000(do(s, "EXEC"))
			case 1:
				err = sumIs1000(doWords(s, "EVAL", "return {redis.call('INCRBY',KEYS[1],ARGV[1]),redis.call('DECRBY',KEYS[2],ARGV[1])}",
					"2", "a", "b", amount))
			case 2:
				err = sumIs1000(do(s, "MGET a b"))
			case 3:
				do(s, "MULTI")
				do(s, "GET a")
				do(s, "GET b")
				err = sumIs1000(do(s, "EXEC"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// chaos are commands that must bear each other: those that walk or exchange the
// whole keyspace, those that look at other sessions, and ordinary ones.
var chaos = []string{
	"RL.ALLOW %s 5 1s", "RL.ALLOW %s 5 1m COST 3", "ZADD %s 1 a 2 b", "ZADD %s 1700000000000 1700000000000",
	"ZRANGE %s 0 -1 WITHSCORES", "SET %s v PX 5", "SET %s 7", "INCR %s", "GET %s", "DEL %s", "EXPIRE %s 1", "PEXPIRE %s 3",
	"WATCH %s", "UNWATCH", "MULTI", "MULTI", "EXEC", "EXEC", "EXEC", "DISCARD", "RENAME %s other", "TYPE %s", "OBJECT ENCODING %s",
	"SELECT 0", "SELECT 1", "SELECT 2", "SWAPDB 0 1", "SWAPDB 1 2", "FLUSHALL", "FLUSHDB ASYNC", "DBSIZE", "KEYS *",
	"SCAN 0 COUNT 100", "RANDOMKEY", "INFO", "INFO everything", "CLIENT LIST", "CLIENT INFO", "CLIENT SETNAME n", "CLIENT KILL ID 1000000",
	"CONFIG SET zset-max-listpack-entries 2", "CONFIG SET zset-max-listpack-entries 128", "CONFIG GET *", "CONFIG RESETSTAT",
	"DEBUG CLOCK FREEZE", "DEBUG CLOCK ADVANCE 3", "HELLO 3", "HELLO 2", "RESET", "SCRIPT FLUSH", "NOSUCH %s", "TIME",
}

func TestChaosDoesNotBreak(t *testing.T) {
	rnd := seeded(t)
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	together(t, e, 8, func(s *engine.Session, client int) error {
		r := rnd(client)
		for i := range 400 {
			line := chaos[r.IntN(len(chaos))]
			if strings.Contains(line, "%s") {
				line = fmt.Sprintf(line, "k"+strconv.Itoa(r.IntN(8)))
			}
			reply := do(s, line)
			if strings.HasPrefix(line, "RL.ALLOW") && strings.HasPrefix(reply, "[") {
				if all, err := numbers(reply); err != nil || all[0] > 5 || all[2] < 0 || all[2] > 5 {
					return fmt.Errorf("%s: %s %w", line, reply, err)
				}
			}
			if i%10 == 0 {
				s.Publish(engine.Buffers{})
				e.Reclaim()
			}
		}
		do(s, "DISCARD")
		return nil
	})

	s := newSession(t, e)
	require.Equal(t, "OK", do(s, "FLUSHALL"))
	for db := range 16 {
		require.Equal(t, "OK", do(s, fmt.Sprint("SELECT ", db)))
		require.Equal(t, "0", do(s, "DBSIZE"))
	}
	require.NotContains(t, do(s, "INFO keyspace"), "db")
	// Nobody watches any more, so nothing can abort.
	require.Equal(t, "OK", do(s, "WATCH k1"))
	require.Equal(t, "OK", do(s, "MULTI"))
	require.Equal(t, "QUEUED", do(s, "RL.ALLOW k1 1 1s"))
	require.Equal(t, "[[1 1 0 0 1000]]", do(s, "EXEC"))
}

// TestSwapsLoseNothing: keys are renamed and databases swapped, and in the end
// every key is somewhere, once.
func TestSwapsLoseNothing(t *testing.T) {
	const keys = 40
	rnd := seeded(t)
	e, _ := newEngine(t)
	first := newSession(t, e)
	for i := range keys {
		do(first, fmt.Sprintf("SET key:%d 0", i))
	}
	var increments atomic.Int64
	together(t, e, 6, func(s *engine.Session, client int) error {
		r := rnd(client)
		for range 100 {
			if client < 2 {
				if reply := do(s, fmt.Sprintf("SWAPDB %d %d", r.IntN(16), r.IntN(16))); reply != "OK" {
					return errors.New(reply)
				}
				continue
			}
			do(s, fmt.Sprint("SELECT ", r.IntN(16)))
			// Only where the keys are at this moment, whatever the number of it.
			reply := doWords(s, "EVAL", "if redis.call('EXISTS',KEYS[1])==1 then return redis.call('INCR',KEYS[1]) end return 0",
				"1", fmt.Sprint("key:", r.IntN(keys)))
			if n, err := strconv.Atoi(reply); err != nil {
				return errors.New(reply)
			} else if n > 0 {
				increments.Add(1)
			}
		}
		return nil
	})
	total, sum := 0, int64(0)
	for db := range 16 {
		do(first, fmt.Sprint("SELECT ", db))
		n, err := strconv.Atoi(do(first, "DBSIZE"))
		require.NoError(t, err)
		total += n
		for _, key := range strings.Fields(strings.Trim(do(first, "KEYS *"), "[]")) {
			v, err := strconv.ParseInt(do(first, "GET "+key), 10, 64)
			require.NoError(t, err)
			sum += v
		}
	}
	require.Equal(t, keys, total)
	require.Equal(t, increments.Load(), sum)
}
