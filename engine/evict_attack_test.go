package engine_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

var rewriteAttack = flag.Bool("rewrite-attack", false, "write the table of docs/eviction.md anew")

const attackPage = "../docs/eviction.md"

// noeviction is the policy of an attack on a server without a limit of memory.
const noeviction = "noeviction"

// An attack is a client over its limit that floods fresh keys until memory is full, to make
// the server forget it.
type attack struct {
	policy string
	// readmitted says how often the client is admitted again within its window, after each
	// of ten floods; forgotten how many of a hundred others that are over their limits are
	// admitted again at the end.
	readmitted, forgotten int
}

// run runs the attack with an algorithm of RL.ALLOW.
func (a *attack) run(t *testing.T, algo string) {
	e, h, s := newServer(t, "--maxmemory-policy", a.policy)
	call := args("RL.ALLOW 1h ALGO " + algo)
	allow := func(key string, limit int) bool {
		arguments := append(call[:1:1], []byte(key), []byte(strconv.Itoa(limit)))
		reply := s.Do(append(arguments, call[1:]...))
		if reply.Kind() != resp.KindArray {
			require.Fail(t, "not decided", show(reply))
		}
		return reply.Elems()[0].Int() == 1
	}
	victims := func() (admitted int) {
		for i := range 100 {
			if allow(fmt.Sprintf("victim:%d", i), 5) {
				admitted++
			}
		}
		return admitted
	}
	for range 5 {
		require.Equal(t, 100, victims())
	}
	require.Zero(t, victims(), "all are over their limits")
	for range 20 {
		allow("attacker", 10)
	}
	require.False(t, allow("attacker", 10))
	if a.policy != noeviction {
		bound(t, e, s, 1<<18)
	}
	for flood := range 10 {
		for i := range 3_000 {
			if a.policy != noeviction { // without evictions a key means nothing to the others
				allow("flood:"+strconv.Itoa(flood)+":"+strconv.Itoa(i), 10)
			}
			if i%15 == 0 {
				h.pass(300)
			}
		}
		if allow("attacker", 10) {
			a.readmitted++
		}
	}
	a.forgotten = victims()
}

// TestAttackerIsNotForgotten checks that no flood makes the policy limiter-aware forget who
// is over a limit, and that other policies do forget, as the page about eviction says.
func TestAttackerIsNotForgotten(t *testing.T) {
	if race.Enabled {
		t.Skip("one client calls at a time, so there is nothing to race; make test runs it")
	}
	table := "| maxmemory-policy | " +
		"attacker admitted again, of 10 floods | others admitted again, of 100 |\n" +
		"|---|---|---|\n"
	for _, policy := range []string{
		"volatile-lru", "allkeys-lru", "volatile-lfu", "allkeys-lfu", "volatile-ttl", "allkeys-random",
		"limiter-aware",
	} {
		a := attack{policy: policy}
		a.run(t, "LOG")
		switch policy {
		case "limiter-aware":
			require.Zero(t, a.readmitted)
			require.Zero(t, a.forgotten)
			for _, algo := range []string{"FIXED", "GCRA 5", "COUNTER", "BUCKETS 10"} {
				evicting, unbounded := attack{policy: policy}, attack{policy: noeviction}
				evicting.run(t, algo)
				unbounded.run(t, algo)
				evicting.policy = noeviction
				require.Equal(t, unbounded, evicting, algo)
			}
		case "volatile-lru", "allkeys-random":
			require.NotZero(t, a.readmitted, policy)
			require.NotZero(t, a.forgotten, policy)
		}
		table += fmt.Sprintf("| `%s` | %d | %d |\n", policy, a.readmitted, a.forgotten)
	}
	t.Log("\n" + table)
	page, err := os.ReadFile(attackPage)
	require.NoError(t, err)
	if *rewriteAttack {
		before, rest, found := strings.Cut(string(page), "| maxmemory-policy |")
		require.True(t, found)
		_, after, found := strings.Cut(rest, "\n\n")
		require.True(t, found)
		require.NoError(t, os.WriteFile(attackPage, []byte(before+table+"\n"+after), 0o644))
		return
	}
	require.Contains(t, string(page), "| `limiter-aware` | 0 | 0 |\n")
}

// TestKeysThatNoCommandDecided checks the order in which limiter-aware evicts the keys of
// limiters made of other commands: the lowest counts go first.
func TestKeysThatNoCommandDecided(t *testing.T) {
	e, _, s := newServer(t, "--maxmemory-policy", "limiter-aware")
	for i := range 50 {
		do(s, fmt.Sprintf("ZADD big %d %d", i, i))
		do(s, "INCR counter")
	}
	for range 3 {
		do(s, "RL.ALLOW denying 1 1h")
	}
	bound(t, e, s, 100_000)
	for i := range 3000 {
		require.Equal(t, "1", do(s, fmt.Sprintf("ZADD small:%d 1 1", i)))
	}
	require.NotEqual(t, "0", infoOf(s, "evicted_keys"))
	for _, key := range []string{"big", "counter", "denying"} {
		require.True(t, exists(s, key), key)
	}
}

// TestFullBurstIsFull checks that a key of GCRA without burst left is kept as full, however high its
// limit is.
func TestFullBurstIsFull(t *testing.T) {
	e, _, s := newServer(t, "--maxmemory-policy", "limiter-aware")
	victims := func() (admitted int) {
		for i := range 100 {
			if strings.HasPrefix(do(s, fmt.Sprintf("RL.ALLOW victim:%d 100 1h ALGO GCRA 1", i)), "[1 ") {
				admitted++
			}
		}
		return admitted
	}
	require.Equal(t, 100, victims())
	bound(t, e, s, 1<<18)
	for i := range 5_000 {
		do(s, fmt.Sprintf("RL.ALLOW flood:%d 10 1h COST 5", i))
	}
	require.Zero(t, victims())
}
