package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// These tests are most useful under the race detector. Their clock stands still, or DEBUG
// CLOCK moves it; it does not follow the wall clock.

// together runs n clients, each with its own session, and waits for them. An error of a
// client fails the test.
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

// seeded returns random sources with fixed seeds; only the order of the goroutines
// varies.
func seeded() func(i int) *rand.Rand {
	const seed = 1
	return func(i int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i))) }
}

// numbers parses a reply of integers as show formats it.
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

// TestManyClientsGetExactlyTheLimit lets 8 clients ask 50 times each for a limit of 200
// at one instant; 200 are admitted, and 200 again a window later.
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

// TestManyClientsWithCosts checks that the granted units never exceed the limit, and that
// a call is denied only if it did not fit.
func TestManyClientsWithCosts(t *testing.T) {
	const limit = 1000
	rnd := seeded()
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
	require.Equal(t, fmt.Sprintf("[1 %d %d 0 3600000]", limit+1, limit+1-sum.Load()),
		do(s, fmt.Sprintf("RL.ALLOW k %d 1h COST 0", limit+1)))
}

// TestWatchLosesNoUpdate lets clients count by WATCH, GET, MULTI, SET, EXEC, and try
// again when EXEC is aborted.
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
