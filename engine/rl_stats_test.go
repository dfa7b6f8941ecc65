package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// statsModel recounts decisions; it finds the prefix of a key by trying all.
type statsModel struct {
	prefixes []string
	counts   map[string][5]int64 // allowed, denied, peeked, units, shadow
	fullness map[string][10]int64
	fault    string
}

// tenths returns in which bucket a decision is, by the definition of an upper bound.
func (m *statsModel) tenths(remaining, limit int64) (i int) {
	used := limit - remaining
	for used*10 > int64(i+1)*limit || m.fault == "open bound" && i < 9 && used*10 == int64(i+1)*limit {
		i++
	}
	return i
}

func (m *statsModel) count(key string, allowed, denied, peeked, units, shadow int64, tenths int) {
	longest, found := "", false
	for _, p := range m.prefixes {
		if strings.HasPrefix(key, p) && (len(p) >= len(longest)) == (m.fault != "shortest prefix" || !found) {
			longest, found = p, true
		}
	}
	switch m.fault {
	case "no units":
		units = 0
	case "a shadow is a denial":
		denied, shadow = denied+shadow, 0
	}
	for _, name := range []string{"total", longest} {
		if name == "total" || found {
			c := m.counts[name]
			m.counts[name] = [5]int64{
				c[0] + allowed, c[1] + denied, c[2] + peeked, c[3] + units, c[4] + shadow,
			}
			f := m.fullness[name]
			f[tenths] += allowed + denied
			m.fullness[name] = f
		}
	}
}

// runStats runs random decisions on every path, by several sessions, and returns the first
// difference from the model.
func runStats(t *testing.T, seed uint64, fault string) error {
	r := rand.New(rand.NewPCG(seed, 3))
	m := &statsModel{
		prefixes: []string{"a", "ab", "abc", "b:", "\xff"}, counts: map[string][5]int64{},
		fullness: map[string][10]int64{}, fault: fault,
	}
	e, _ := newEngine(t, "--rl-stats-prefix", `a ab abc b: "\xff"`)
	var sessions []*engine.Session
	for range 3 {
		sessions = append(sessions, newSession(t, e))
	}
	for range 300 {
		s := sessions[r.IntN(len(sessions))]
		key := []string{"a", "ab", "abx", "abcd", "b", "b:1", "\xff\xff", "", "zz"}[r.IntN(9)]
		algo := []string{"LOG", "FIXED", "GCRA 10", "BUCKETS 3", "COUNTER"}[r.IntN(5)]
		cost, peek, shadow := 1+r.Int64N(3), r.IntN(4) == 0, r.IntN(3) == 0
		name, _, _ := strings.Cut(algo, " ")
		line := args(fmt.Sprintf("RL.ALLOW %s-%s 10 1m COST %d ALGO %s", key, name, cost, algo))
		if peek {
			line = append(line, []byte("PEEK"))
		}
		if shadow {
			line = append(line, []byte("SHADOW"))
		}
		var reply []resp.Value
		switch r.IntN(3) {
		case 0:
			reply = s.Do(line).Elems()
		case 1:
			do(s, "MULTI")
			s.Do(line)
			reply = s.Do([][]byte{[]byte("EXEC")}).Elems()[0].Elems()
		default:
			text := []byte("return redis.call(unpack(ARGV))")
			script := [][]byte{[]byte("EVAL"), text, []byte("1"), line[1]}
			reply = s.Do(append(script, line...)).Elems()
		}
		allowed, tenths := reply[0].Int(), m.tenths(reply[2].Int(), reply[1].Int())
		switch {
		case peek:
			m.count(key, 0, 0, 1, 0, 0, tenths)
		case shadow && reply[3].Int() != 0:
			m.count(key, 0, 0, 0, 0, 1, tenths)
		case allowed > 0:
			m.count(key, 1, 0, 0, allowed, 0, tenths)
		default:
			m.count(key, 0, 1, 0, 0, 0, tenths)
		}
		if r.IntN(5) == 0 {
			s.Publish(engine.Buffers{})
		}
	}
	for _, s := range sessions {
		s.Publish(engine.Buffers{})
	}
	got := do(sessions[0], "RL.STATS")
	c := m.counts["total"]
	want := fmt.Sprintf("[allowed %d denied %d peeked %d units %d shadow %d ", c[0], c[1], c[2], c[3], c[4])
	if !strings.HasPrefix(got, want) {
		return fmt.Errorf("seed %d: %s, want %s", seed, got, want)
	}
	info := do(sessions[0], "INFO limiter")
	for i, name := range []string{"allowed", "denied", "peeked", "units", "shadow"} {
		if line := fmt.Sprintf("limiter_%s:%d\r\n", name, c[i]); !strings.Contains(info, line) {
			return fmt.Errorf("seed %d: INFO has no %q", seed, line)
		}
	}
	for _, algo := range []string{"log", "fixed", "gcra", "buckets", "counter"} {
		_, of, _ := strings.Cut(got, " "+strings.ToUpper(algo)+" [")
		if algo == "log" {
			_, of, _ = strings.Cut(got, "[LOG [")
		}
		of, _, _ = strings.Cut(of, "]")
		line := "algorithm_" + algo + ":" + strings.NewReplacer(
			"allowed ", "allowed=", " denied ", ",denied=", " peeked ", ",peeked=", " units ",
			",units=", " shadow ", ",shadow=").Replace(of)
		if !strings.Contains(info, line+"\r\n") {
			return fmt.Errorf("seed %d: INFO has no %q", seed, line)
		}
	}
	for _, p := range m.prefixes {
		c := m.counts[p]
		want := fmt.Sprintf("%s [allowed %d denied %d peeked %d units %d shadow %d ",
			p, c[0], c[1], c[2], c[3], c[4])
		if !strings.Contains(got, want) {
			return fmt.Errorf("seed %d: %s, want %s", seed, got, want)
		}
	}
	prefixes, _, all := e.Facts().Stats.DecisionsByPrefix()
	histograms := map[string][]rl.Decisions{"total": all}
	for _, p := range prefixes {
		histograms[p.Prefix] = p.By
	}
	for name, by := range histograms {
		var sum rl.Decisions
		for i := range by {
			sum.Add(&by[i])
		}
		want := m.fullness[name]
		if got := sum.Fullness.Buckets; got != want {
			return fmt.Errorf("seed %d: fullness of %q: %v, want %v", seed, name, got, want)
		}
	}
	return nil
}

func TestRLStatsModel(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(8) {
		require.NoError(t, runStats(t, seed, ""))
	}
	require.Error(t, runStats(t, 1, "shortest prefix"))
	require.Error(t, runStats(t, 1, "no units"))
	require.Error(t, runStats(t, 1, "open bound"))
	require.Error(t, runStats(t, 1, "a shadow is a denial"))
}
