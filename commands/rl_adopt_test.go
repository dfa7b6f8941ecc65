package commands_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// adoptUnits are the times in which limiters' scripts count, by microseconds.
var adoptUnits = map[string]struct{ perMs, ofMs int64 }{
	"s": {1, 1000}, "ms": {1, 1}, "us": {1000, 1}, "ns": {1_000_000, 1},
}

// An adoptedKey is a key that a limiter's script and RL.ALLOW use in turn.
type adoptedKey struct {
	*bench
	unit            string
	expires, native bool
	random          *rand.Rand
	limit, windowMs int64
	scripted, rl    []int64 // instants of what each has admitted, in unix milliseconds; see counted
	hits            int     // of the script
}

// stamp returns an instant within a millisecond as the script writes it, rounded down.
func (k *adoptedKey) stamp(ms int64) int64 {
	u := adoptUnits[k.unit]
	return (ms*u.perMs + k.random.Int64N(u.perMs)) / u.ofMs
}

// script is the limiter of the documents, step by step. It reports whether it admits.
func (k *adoptedKey) script() bool {
	u, now := adoptUnits[k.unit], k.stamp(k.ctx.NowMs)
	from := now - k.windowMs*u.perMs/u.ofMs
	k.call("ZREMRANGEBYSCORE", "k", "0", fmt.Sprint(from))
	k.scripted = slices.DeleteFunc(k.scripted, func(ms int64) bool { return ms*u.perMs/u.ofMs <= from })
	card := k.call("ZCARD", "k")
	admits := card.Int() < k.limit
	if admits {
		k.hits++
		k.call("ZADD", "k", fmt.Sprint(now), fmt.Sprint(now, "-", k.hits))
	}
	if k.expires {
		k.call("PEXPIRE", "k", fmt.Sprint(k.windowMs))
	}
	return admits
}

// counted returns how many admissions the present instant's window holds, except those that
// the script has forgotten, which counts in its unit.
func (k *adoptedKey) counted() (n int64) {
	for _, ms := range slices.Concat(k.rl, k.scripted) {
		if ms > k.ctx.NowMs-k.windowMs {
			n++
		}
	}
	return n
}

// runAdopted runs a history in which RL.ALLOW has a limit that is higher by excess. It returns
// the first window that holds more than the limit.
func runAdopted(unit string, seed uint64, expires bool, excess int64) (switches, denials int, err error) {
	r := rand.New(rand.NewPCG(seed, 3))
	k := &adoptedKey{
		bench: newBench(), unit: unit, expires: expires, random: r, limit: 1 + r.Int64N(6),
		windowMs: []int64{1000, 3000, 10_000}[r.IntN(3)],
	}
	k.ctx.NowMs += r.Int64N(1000)
	for step := range 200 {
		steps := []int64{0, 0, 1, 99, 500, 999, 1000, k.windowMs - 1, k.windowMs}
		k.ctx.NowMs += steps[r.IntN(len(steps))] / (1 + r.Int64N(3))
		k.ctx.NowUs = k.ctx.NowMs * 1000
		k.ctx.Reset()
		if r.IntN(8) == 0 {
			k.native = !k.native
			line := "RL.ADOPT k"
			if !k.native {
				line += " BACK " + unit
			}
			card := k.call("ZCARD", "k")
			done := k.call(split(line)...)
			if done.IsError() || done.Int() != card.Int() {
				return 0, 0, fmt.Errorf("%s: %s, of %d members", line, done.Str(), card.Int())
			}
			switches += int(done.Int())
			if !k.native && !k.expires {
				k.call("PERSIST", "k") // as docs/migration.md says
			}
			again := k.call(split(line)...)
			if again.IsError() || again.Int() != 0 {
				return 0, 0, fmt.Errorf("%s again: %s %d", line, again.Str(), again.Int())
			}
		}
		admits := false
		if k.native {
			reply := k.call("RL.ALLOW", "k", fmt.Sprint(k.limit+excess), fmt.Sprint(k.windowMs))
			if reply.IsError() {
				return 0, 0, fmt.Errorf("step %d: %s", step, reply.Str())
			}
			if admits = reply.Elems()[0].Int() == 1; admits {
				k.rl = append(k.rl, k.ctx.NowMs)
			}
		} else if admits = k.script(); admits {
			k.scripted = append(k.scripted, k.ctx.NowMs)
		}
		if !admits {
			denials++
		} else if n := k.counted(); n > k.limit {
			return 0, 0, fmt.Errorf("unit %s, seed %d, step %d: %d in a window of %d",
				unit, seed, step, n, k.limit)
		}
	}
	return switches, denials, nil
}

// TestAdoptNeverOverAdmits lets a limiter's script and RL.ALLOW use one key in turn.
func TestAdoptNeverOverAdmits(t *testing.T) {
	for unit := range adoptUnits {
		for _, expires := range []bool{true, false} {
			converted, denied, found := 0, 0, false
			for seed := range uint64(200) {
				c, d, err := runAdopted(unit, seed, expires, 0)
				require.NoError(t, err)
				converted, denied = converted+c, denied+d
				_, _, err = runAdopted(unit, seed, expires, 1)
				found = found || err != nil
			}
			require.Greater(t, converted, 500, unit)
			require.Greater(t, denied, 500, unit)
			require.True(t, found, "a limit that is higher by one is not noticed")
		}
	}
}

// TestAdopt converts sets by hand.
func TestAdopt(t *testing.T) {
	const s = "1700000000"
	many := func(n int) (line string) {
		for i := range n {
			line += " " + s + " m" + strconv.Itoa(i)
		}
		return line
	}
	for name, c := range map[string]struct {
		lines []string
		adopt string
		want  string
		set   string // ZRANGE k 0 -1 WITHSCORES, or of many the last one
	}{
		"no key":      {nil, "RL.ADOPT k", "0", "[]"},
		"no key back": {nil, "RL.ADOPT k BACK s", "0", "[]"},
		"seconds": {
			[]string{"ZADD k " + s + " a " + s + " b 1700000001.5 c"},
			"RL.ADOPT k", "3",
			"[1700000000999000 1700000000999000 1700000000999001 1700000000999001 1700000001500000 " +
				"1700000001500000]",
		},
		"milliseconds": {
			[]string{"ZADD k " + s + "123 a " + s + "123.25 b"},
			"RL.ADOPT k", "2",
			"[1700000000123000 1700000000123000 1700000000124000 1700000000124000]",
		},
		"numbers as members": {
			[]string{"ZADD k " + s + "123 " + s + "123"},
			"RL.ADOPT k", "1",
			"[1700000000123000 1700000000123000]",
		},
		"microseconds": {
			[]string{"ZADD k " + s + "123001 a " + s + "123000 b"},
			"RL.ADOPT k", "2",
			"[1700000000123000 1700000000123000 1700000000124000 1700000000124000]",
		},
		"more than a millisecond holds": {
			[]string{"ZADD k" + many(1001)}, "RL.ADOPT k", "1001", "[1700000001000000 1700000001000000]",
		},
		"a log": {[]string{"RL.ALLOW k 5 1m"}, "RL.ADOPT k", "0", "[1700000000000000 1700000000000000]"},
		"a log back in seconds": {
			[]string{"ZADD k 1700000000000000 1700000000000000 1700000000001000 1700000000001000"},
			"RL.ADOPT k BACK S", "2",
			"[zlimit:1700000000000000 1700000000 zlimit:1700000000001000 1700000001]",
		},
		"a log back in milliseconds": {
			[]string{"RL.ALLOW k 5 1m COST 2"},
			"rl.adopt k back ms", "2",
			"[zlimit:1700000000000000 1700000000000 zlimit:1700000000000001 1700000000000]",
		},
		"a log back in microseconds": {
			[]string{"RL.ALLOW k 5 1m COST 2"},
			"RL.ADOPT k BACK us", "2",
			"[zlimit:1700000000000000 1700000000000000 zlimit:1700000000000001 1700000000000000]",
		},
		"a log back in nanoseconds": {
			[]string{"RL.ALLOW k 5 1m"},
			"RL.ADOPT k BACK ns", "1",
			"[zlimit:1700000000000000 1.7000000000000003e+18]",
		},
		"back already": {[]string{"ZADD k " + s + " a"}, "RL.ADOPT k BACK s", "0", "[a 1700000000]"},
		"of another unit": {
			[]string{"ZADD k " + s + " a"},
			"RL.ADOPT k BACK ms",
			"ERR key holds a sorted set that RL.ALLOW did not write", "[a 1700000000]",
		},
		"no times": {
			[]string{"ZADD k 1 a " + s + " b"},
			"RL.ADOPT k",
			"ERR key holds a sorted set whose scores are not all unix times of 1973 to 2255 in s, ms, us " +
				"or ns",
			"[a 1 b 1700000000]",
		},
		"leases": {
			[]string{"RL.ACQUIRE k 1 LEASE 1s ID a"},
			"RL.ADOPT k", "ERR key holds LEASES state, not LOG",
			"[a 1700000001000]",
		},
		"leases back": {
			[]string{"RL.ACQUIRE k 1 LEASE 1s ID a"},
			"RL.ADOPT k BACK ms",
			"ERR key holds LEASES state, not LOG",
			"[a 1700000001000]",
		},
		"another word": {nil, "RL.ADOPT k s", "ERR syntax error, 's' is not BACK", "[]"},
		"no unit":      {nil, "RL.ADOPT k BACK", "ERR syntax error, BACK needs s, ms, us or ns", "[]"},
		"a wrong unit": {nil, "RL.ADOPT k BACK m", "ERR syntax error, BACK needs s, ms, us or ns", "[]"},
		"too many":     {nil, "RL.ADOPT k BACK ms x", "ERR syntax error, BACK needs s, ms, us or ns", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			for _, line := range c.lines {
				reply := b.call(split(line)...)
				require.False(t, reply.IsError(), line)
			}
			b.ctx.Reset()
			reply := b.call(split(c.adopt)...)
			require.Equal(t, c.want, format(reply))
			from := "0"
			if strings.Count(c.set, " ") == 1 {
				from = "-1"
			}
			b.ctx.Reset()
			var set []string
			for line := range strings.SplitSeq(b.wire("ZRANGE", "k", from, "-1", "WITHSCORES"), "\r\n") {
				if line != "" && line[0] != '*' && line[0] != '$' {
					set = append(set, line)
				}
			}
			require.Equal(t, c.set, fmt.Sprint(set))
		})
	}
	for line, want := range map[string]string{
		"SET k x": "ERR key holds a string that RL.ALLOW did not write", "SADD k x": "WRONGTYPE",
		"RL.ALLOW k 1 1s ALGO FIXED": "ERR key holds FIXED state, not LOG",
	} {
		b := newBench()
		b.call(split(line)...)
		for _, adopt := range []string{"RL.ADOPT k", "RL.ADOPT k BACK s"} {
			reply := b.call(split(adopt)...)
			require.Equal(t, resp.KindError, reply.Kind())
			require.Contains(t, []string{want, "WRONGTYPE"}, strings.SplitN(reply.Str(), " Op", 2)[0], line)
		}
	}
}

// TestAdoptKeepsDeadline: the key lives as long as before.
func TestAdoptKeepsDeadline(t *testing.T) {
	b := newBench()
	b.call(split("ZADD k 1700000000 a")...)
	b.call(split("PEXPIREAT k 1700000009000")...)
	require.Equal(t, "1", format(b.call("RL.ADOPT", "k")))
	require.Equal(t, "1700000009000", format(b.call("PEXPIRETIME", "k")))
	require.Equal(t, "1", format(b.call("RL.ADOPT", "k", "BACK", "ms")))
	require.Equal(t, "1700000009000", format(b.call("PEXPIRETIME", "k")))
}
