package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// A topAnswer is the reply of RL.TOP.
type topAnswer struct {
	window, sampling, total, skipped, others int64
	names                                    []string
	count, off                               map[string]int64
}

func askTop(t *testing.T, s *engine.Session, line string) topAnswer {
	t.Helper()
	reply := s.Do(args(line))
	f := reply.Elems()
	size := 14
	if len(f[13].Elems()) == 0 && f[1].Str() != "bytes" {
		size = 16 // with a note
	}
	require.Len(t, f, size, "%s: %s", line, show(reply))
	a := topAnswer{
		window: f[3].Int(), sampling: f[5].Int(), total: f[7].Int(), skipped: f[9].Int(), others: f[11].Int(),
		count: map[string]int64{}, off: map[string]int64{},
	}
	for _, k := range f[13].Elems() {
		name := strings.Clone(k.Elems()[0].Str())
		a.names = append(a.names, name)
		a.count[name], a.off[name] = k.Elems()[1].Int(), k.Elems()[2].Int()
	}
	return a
}

// fault returns how an answer contradicts the exact counts, or "": two-sided if it is of a
// sample.
func (a *topAnswer) fault(exact map[string]int64) string {
	for i, name := range a.names {
		n, high := exact[name], a.count[name]
		if a.sampling > 1 {
			high += a.off[name]
		}
		if n > high || n < a.count[name]-a.off[name] {
			return fmt.Sprintf("%s: %d, not %d within %d", name, n, a.count[name], a.off[name])
		}
		if i > 0 && a.count[name] > a.count[a.names[i-1]] {
			return name + " is listed too late"
		}
	}
	for name, n := range exact {
		if !slices.Contains(a.names, name) && n > a.others {
			return fmt.Sprintf("%s is not listed: %d, others have %d at most", name, n, a.others)
		}
	}
	return ""
}

// TestTopCounts compares RL.TOP with counts of what was answered.
func TestTopCounts(t *testing.T) {
	race.OneGoroutine(t)
	for _, sampling := range []int{1, 7, 32} {
		r := rand.New(rand.NewPCG(uint64(sampling), 1))
		e, clock := newEngine(t, "--rl-top-sampling", fmt.Sprint(sampling))
		s, asker := newSession(t, e), newSession(t, e)
		denied, decided := map[string]int64{}, map[string]int64{}
		z := rand.NewZipf(r, 1.2, 2, 20_000)
		faults, asked := 0, 0
		for step := range 24_000 {
			clock.us.Add(r.Int64N(2000))
			key := fmt.Sprint("user:", z.Uint64())
			line := "RL.ALLOW " + key + " 3 1s"
			if r.IntN(10) == 0 {
				line += " PEEK"
			}
			if r.IntN(10) == 0 {
				line = "CL.THROTTLE gcra:" + key + " 2 3 1"
				key = "gcra:" + key
			}
			reply := s.Do(args(line))
			require.False(t, reply.IsError(), show(reply))
			decided[key]++
			refused := reply.Elems()[0].Int() == 0
			if strings.HasPrefix(line, "CL") {
				refused = !refused
			}
			if refused && !strings.HasSuffix(line, "PEEK") {
				denied[key]++
			}
			if step%2_000 != 1_999 {
				continue
			}
			for by, exact := range map[string]map[string]int64{"DENIED": denied, "HOT": decided} {
				a := askTop(t, asker, fmt.Sprintf("RL.TOP %s %d", by, 1+r.IntN(1000)))
				require.EqualValues(t, sampling, a.sampling)
				if text := a.fault(exact); sampling == 1 {
					require.Empty(t, text, "%s at step %d", by, step)
					require.Equal(t, sum(exact), a.total)
				} else if asked++; text != "" { // of 1,000 keys some are off by three standard deviations
					faults++
				}
				require.NotEmpty(t, a.names)
			}
		}
		require.LessOrEqual(t, faults, asked/4, "sampling %d", sampling)
	}
}

func sum(counts map[string]int64) (n int64) {
	for _, one := range counts {
		n += one
	}
	return n
}

// TestTopFaultFinds: the comparison above can fail.
func TestTopFaultFinds(t *testing.T) {
	a := topAnswer{
		sampling: 1, others: 2, names: []string{"a", "b"}, count: map[string]int64{"a": 9, "b": 5},
		off: map[string]int64{"a": 1},
	}
	require.Empty(t, a.fault(map[string]int64{"a": 8, "b": 5, "c": 2}))
	require.NotEmpty(t, a.fault(map[string]int64{"a": 7, "b": 5}))
	require.NotEmpty(t, a.fault(map[string]int64{"a": 10, "b": 5}))
	require.NotEmpty(t, a.fault(map[string]int64{"a": 9, "b": 5, "c": 3}))
	slices.Reverse(a.names)
	require.NotEmpty(t, a.fault(map[string]int64{"a": 9, "b": 5}))
}

// TestTopBytes compares RL.TOP BYTES with MEMORY USAGE's figures of every key.
func TestTopBytes(t *testing.T) {
	_, _, s := newServer(t)
	r := rand.New(rand.NewPCG(1, 1))
	exact := map[string]int64{}
	for i := range 3_000 {
		key := fmt.Sprint("key:", i)
		do(s, fmt.Sprintf("SET %s %s", key, strings.Repeat("x", 1+int(r.ExpFloat64()*300))))
	}
	all := askTop(t, s, "RL.TOP BYTES 1000")
	for _, n := range []int{1, 10, 999, 1000} {
		a := askTop(t, s, fmt.Sprintf("RL.TOP BYTES %d", n))
		require.Equal(t, all.names[:n], a.names)
		require.GreaterOrEqual(t, a.count[a.names[n-1]], a.others)
		require.Equal(t, all.total, a.total)
	}
	var rest int64
	for i := range 30 { // every key is in one of these
		a := askTop(t, s, fmt.Sprintf("RL.TOP BYTES 1000 MATCH key:*%d%d", i/10, i%10))
		maps.Copy(exact, a.count)
	}
	for i := 3; i < 10; i++ {
		maps.Copy(exact, askTop(t, s, fmt.Sprintf("RL.TOP BYTES 1000 MATCH key:*%d?", i)).count)
	}
	maps.Copy(exact, askTop(t, s, "RL.TOP BYTES 1000 MATCH key:?").count)
	require.Equal(t, 3_000, len(exact)) //nolint:testifylint // a failure would print them all
	for name, n := range exact {
		rest += n
		require.Equal(t, all.count[name] != 0, slices.Contains(all.names, name))
	}
	require.Equal(t, all.total, rest)
	require.Empty(t, all.fault(exact))
	require.Equal(t, "[]", show(s.Do(args("RL.TOP BYTES 3 MATCH nothing")).Elems()[13]))
}

// TestTopOffHoldsNothing: without rl-top no memory is held.
func TestTopOffHoldsNothing(t *testing.T) {
	e, _, s := newServer(t, "--rl-top-sampling", "1")
	do(s, "RL.ALLOW k 1 1s")
	do(s, "CONFIG SET rl-top no")
	report, sampling := e.Top(rl.TopQuery{N: 1})
	require.Zero(t, report.Total)
	require.Zero(t, sampling)
}

// TestTopIsExactWhileCallsAreFew: each is counted until a slot of time has had many, and again in the next.
func TestTopIsExactWhileCallsAreFew(t *testing.T) {
	race.OneGoroutine(t)
	_, clock, s := newServer(t)
	require.Contains(t, do(s, "RL.TOP DENIED 1"), "keys [] note "+rl.CountedDecisions)
	for range 50 {
		do(s, "RL.ALLOW k 33 1m")
	}
	for by, want := range map[string]string{"HOT": "[k 50 0 33 60000]", "DENIED": "[k 17 0 33 60000]"} {
		require.Contains(t, do(s, "RL.TOP "+by+" 1"), "keys ["+want+"]]")
		require.Contains(t, do(s, "RL.TOP "+by+" 1"), "sampling 1 ")
	}
	for range 10_000 {
		do(s, "RL.ALLOW many 33 1m")
	}
	a := askTop(t, s, "RL.TOP HOT 2")
	require.EqualValues(t, 32, a.sampling)
	require.Positive(t, a.off["many"])
	require.Empty(t, a.fault(map[string]int64{"many": 10_000, "k": 50}))
	for range 60 { // one in 32 notices that the slot has ended
		clock.pass(10_000)
		for range 200 {
			do(s, "RL.ALLOW few 33 1m")
		}
	}
	a = askTop(t, s, "RL.TOP HOT 1 WITHIN 1m")
	require.EqualValues(t, 1, a.sampling)
	require.Zero(t, a.off["few"])
}

// TestTopSampleOfShortSessions: clients that make one call each are sampled like others.
func TestTopSampleOfShortSessions(t *testing.T) {
	race.OneGoroutine(t)
	e, _, asker := newServer(t, "--rl-top-sampling", "32")
	for range 6_400 {
		s := e.NewSession(engine.Peer{})
		do(s, "RL.ALLOW k 1 1s")
		s.Close()
	}
	a := askTop(t, asker, "RL.TOP HOT 1")
	require.InDelta(t, 6_400, a.total, 1_400)
	require.Empty(t, a.fault(map[string]int64{"k": 6_400}))
}

// TestTopSampleOfRhythms: the sample has its share of each key of a pipeline that repeats.
func TestTopSampleOfRhythms(t *testing.T) {
	race.OneGoroutine(t)
	for _, keys := range []int{2, 16, 32, 33} {
		_, _, s := newServer(t)
		for i := range 3_200 * keys {
			do(s, fmt.Sprintf("RL.ALLOW k%d 1 1s", i%keys))
		}
		a := askTop(t, s, "RL.TOP HOT 100")
		require.Len(t, a.names, keys)
		for _, name := range a.names {
			require.InDelta(t, 3_200, a.count[name], float64(a.off[name]), "%d keys: %s", keys, name)
		}
	}
}

// TestTopConcurrently: sessions count while others ask, reset and switch.
func TestTopConcurrently(t *testing.T) {
	e, _ := newEngine(t, "--rl-top-sampling", "2")
	var group sync.WaitGroup
	for g := range 8 {
		s := newSession(t, e)
		group.Go(func() {
			for i := range 2_000 {
				switch {
				case g < 6:
					do(s, fmt.Sprintf("RL.ALLOW k%d 1 1s", i%(g*100+1)))
				case g == 6:
					do(s, []string{"RL.TOP HOT 10", "RL.TOP DENIED 10 WITHIN 1m", "RL.TOP BYTES 3"}[i%3])
				case i%20 == 0:
					do(s, []string{
						"CONFIG RESETSTAT", "CONFIG SET rl-top no",
						"CONFIG SET rl-top yes",
					}[i/20%3])
				}
			}
		})
	}
	group.Wait()
}
