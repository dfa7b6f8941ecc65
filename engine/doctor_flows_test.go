package engine_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// The documents' limiters under RL.DOCTOR: what it says of each, and that it says nothing
// of the same limiter once that is written right.

// hitTogether lets clients send one hit each, all at the same instant: a command of each in
// turns. A client stops after so many commands if dies is not 0.
func (w *scene) hitTogether(names []string, dies int, hit func(c *flowClient, nowMs int64) rune) {
	var nexts []func() (struct{}, bool)
	for i, name := range names {
		s := w.client(name)
		sent := 0
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			defer func() { _ = recover() }() // of a client that dies
			hit(&flowClient{serial: len(names)*int(w.hands.us.Load()) + i, do: func(words ...string) string {
				if sent++; sent > dies && dies != 0 || !yield(struct{}{}) {
					panic("the client has died")
				}
				return doWords(s, words...)
			}}, w.nowMs())
		})
		defer stop()
		nexts = append(nexts, next)
	}
	for running := true; running; {
		running = false
		for _, next := range nexts {
			_, ok := next()
			running = running || ok
		}
	}
}

// problems returns the findings without counts.
func (w *scene) problems() (out []string) {
	for _, f := range w.found() {
		words := strings.Fields(f)
		out = append(out, strings.Join(slices.Delete(words, 1, 2), " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestDoctorOnTheDocuments: two clients send the hits of each limiter at the same instants.
func TestDoctorOnTheDocuments(t *testing.T) {
	race.OneGoroutine(t)
	byName := make(map[string]flow)
	for _, f := range documentFlows {
		byName[f.name] = f
	}
	merged := func(command string, clients ...string) (out []string) {
		for _, c := range clients {
			out = append(out, "merged-hits limiter "+command+" "+c)
		}
		return out
	}
	race, denied := "check-then-add limiter zadd b", "counts-denied-calls limiter zcard a"
	for _, c := range []struct {
		flow string
		want []string
	}{
		{"1 whole seconds, by commands", append(merged("zadd", "a", "b"), race)},
		{"2 milliseconds, unique members", []string{race}},
		{"2 milliseconds, one member for all", []string{race, "constant-member limiter zadd b"}},
		{"3 milliseconds, by script, strings as replies", merged("zadd (script)", "b")},
		{"4 two requests in 30 s", append(merged("zadd", "b"), race)},
		{"5 a counter with MULTI on one connection", []string{race}},
		{"5 a counter with MULTI on another connection", []string{race}},
		{"6 the hit first, in MULTI", append(merged("zadd", "b"), denied)},
		{"6 the hit first, by script", append(merged("zadd (script)", "b"),
			"counts-denied-calls limiter zcard (script) a")},
		{"7 whole seconds, by script", merged("zadd (script)", "a", "b")},
		{"7 ten in a slice of 5 s", nil},
		{"8 a hash tag in the key", []string{
			"merged-hits rate_limit:{user_*}:/api/login zadd (script) a",
			"merged-hits rate_limit:{user_*}:/api/login zadd (script) b",
		}},
	} {
		t.Run(c.flow, func(t *testing.T) {
			w := newScene(t)
			w.manyHits(byName[c.flow].hit, 0)
			slices.Sort(c.want)
			require.Equal(t, c.want, w.problems())
		})
	}
	t.Run("7 a client that dies between INCR and EXPIRE", func(t *testing.T) {
		w := newScene(t)
		w.manyHits(slice, 1)
		require.Equal(t, []string{
			"counter-without-expiry limiter:* incrby a",
		}, w.problems())
	})
	t.Run("3 by EVAL each time", func(t *testing.T) {
		w := newScene(t)
		w.manyHits(func(c *flowClient, nowMs int64) rune {
			return decision(c.do("EVAL", millisScript, "1", flowKey, ms(nowMs), "60000", "3") == "1")
		}, 0)
		require.Equal(t, []string{
			"eval-each-time limiter eval a", "eval-each-time limiter eval b",
			"merged-hits limiter zadd (script) b",
		}, w.problems())
	})
	t.Run("6 a client whose clock is ten seconds slow", func(t *testing.T) {
		w := newScene(t)
		w.manyHits(func(c *flowClient, nowMs int64) rune { return hitFirst(c, nowMs-10_000) }, 0)
		require.Equal(t, []string{
			"clock-skew limiter zremrangebyscore a", "clock-skew limiter zremrangebyscore b",
			denied, "merged-hits limiter zadd b",
		}, w.problems())
	})
	t.Run("6 unique members, without MULTI", func(t *testing.T) {
		w := newScene(t)
		w.manyHits(func(c *flowClient, nowMs int64) rune {
			c.do("ZADD", flowKey, ms(nowMs), fmt.Sprint(nowMs, "-", c.serial))
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
			c.do("ZCARD", flowKey)
			c.do("EXPIRE", flowKey, "60")
			return '+'
		}, 0)
		require.Equal(t, []string{"counts-denied-calls limiter zcard b"}, w.problems())
	})
	t.Run("5 without the removal", func(t *testing.T) {
		w := newScene(t)
		w.manyHits(func(c *flowClient, nowMs int64) rune {
			c.do("MULTI")
			c.do("ZADD", flowKey, ms(nowMs), fmt.Sprint(nowMs, "_", c.serial))
			c.do("ZCOUNT", flowKey, ms(nowMs-5000), "+inf")
			c.do("EXPIRE", flowKey, "60")
			return decision(strings.HasSuffix(c.do("EXEC"), "1]"))
		}, 0)
		require.Equal(t, []string{"untrimmed-window limiter zadd b"}, w.problems())
	})
}

// manyHits sends hits of two clients for 200 s, at the edges of seconds and of slices too.
func (w *scene) manyHits(hit func(c *flowClient, nowMs int64) rune, dies int) {
	for i := range 200 {
		w.hitTogether([]string{"a", "b"}, dies, hit)
		w.hands.pass([]int64{500, 1, 499, 3000}[i%4])
		w.e.Tick()
	}
	w.hands.pass(2000)
	w.sweep()
}

// Limiters as they should be. The libraries' are what they send.
const (
	rightScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5] or ARGV[2])
return 1`

	serverTimeScript = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[3])
redis.call('EXPIRE', KEYS[1], 60)
return 1`

	countScript = `
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n`
)

// TestDoctorOnRightLimiters: the documents' limiters, written right, and those of libraries
// have no problem.
func TestDoctorOnRightLimiters(t *testing.T) {
	race.OneGoroutine(t)
	unique := func(c *flowClient, nowMs int64) string { return fmt.Sprint(nowMs, "-", c.serial) }
	for _, f := range []struct {
		name string
		hit  func(c *flowClient, nowMs int64) rune
	}{
		{"1 seconds, by script, unique members", func(c *flowClient, nowMs int64) rune {
			reply := c.script(rightScript, flowKey, ms(nowMs/1000), "60", "100", unique(c, nowMs), "60000")
			return decision(reply == "1")
		}},
		{"2 with WATCH", func(c *flowClient, nowMs int64) rune {
			c.do("WATCH", flowKey)
			if c.integer("ZCOUNT", flowKey, ms(nowMs-59_999), "+inf") >= 100 {
				c.do("UNWATCH")
				return '-'
			}
			c.do("MULTI")
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
			c.do("ZADD", flowKey, ms(nowMs), unique(c, nowMs))
			c.do("PEXPIRE", flowKey, "60000")
			c.do("EXEC")
			return '+'
		}},
		{"3 by script, unique members", func(c *flowClient, nowMs int64) rune {
			return decision(c.script(rightScript, flowKey, ms(nowMs), "60000", "3", unique(c, nowMs)) == "1")
		}},
		{"5 the count in MULTI", func(c *flowClient, nowMs int64) rune {
			c.do("MULTI")
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
			c.do("ZCARD", flowKey)
			c.do("ZADD", flowKey, ms(nowMs), unique(c, nowMs))
			c.do("PEXPIRE", flowKey, "60000")
			c.do("EXEC")
			return '+'
		}},
		{"6 the hit first, that of a denied call taken back", func(c *flowClient, nowMs int64) rune {
			c.do("MULTI")
			c.do("ZADD", flowKey, ms(nowMs), unique(c, nowMs))
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
			c.do("ZCARD", flowKey)
			c.do("EXPIRE", flowKey, "60")
			replies, err := numbers(c.do("EXEC"))
			if err == nil && replies[2] > 5 {
				c.do("ZREM", flowKey, unique(c, nowMs))
			}
			return '+'
		}},
		{"6 the hit first, without MULTI, taken back", func(c *flowClient, nowMs int64) rune {
			c.do("ZADD", flowKey, ms(nowMs), unique(c, nowMs))
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
			if c.integer("ZCARD", flowKey) > 5 {
				c.do("ZREM", flowKey, unique(c, nowMs))
			}
			c.do("EXPIRE", flowKey, "60")
			return '+'
		}},
		{"7 the slice, by script", func(c *flowClient, nowMs int64) rune {
			return decision(c.script(countScript, fmt.Sprint(flowKey, ":", nowMs/5000), "6000") != "")
		}},
		{"7 the slice, as written", slice},
		{"the server's time", func(c *flowClient, _ int64) rune {
			return decision(c.script(serverTimeScript, flowKey, "60000000", "5", fmt.Sprint(c.serial)) == "1")
		}},
		{"RL.ALLOW", func(c *flowClient, _ int64) rune {
			return decision(strings.HasPrefix(c.do("RL.ALLOW", flowKey, "100", "1m"), "[1"))
		}},
		{"a counter whose deadline comes first", func(c *flowClient, _ int64) rune {
			c.do("MULTI")
			c.do("SET", "rlflx:1", "0", "EX", "4", "NX")
			c.do("INCRBY", "rlflx:1", "1")
			c.do("PTTL", "rlflx:1")
			c.do("EXEC")
			return '+'
		}},
		{"a look before each hit", func(c *flowClient, nowMs int64) rune {
			c.do("GET", flowKey)
			c.do("PTTL", flowKey)
			return decision(c.script(countScript, flowKey, "6000") != "")
		}},
		{"leases", func(c *flowClient, nowMs int64) rune {
			reply := c.script(rightScript, flowKey, ms(nowMs+30_000), "30000", "9", unique(c, nowMs))
			return decision(reply == "1")
		}},
		{"packed members", func(c *flowClient, nowMs int64) rune {
			c.do("MULTI")
			c.do("ZREMRANGEBYSCORE", "{limiter}:permits", "0", ms(nowMs-60_000))
			c.do("ZADD", "{limiter}:permits", ms(nowMs), fmt.Sprint("\x10", c.serial, "\x01\x00\x00\x00"))
			c.do("DECRBY", "{limiter}:value", "1")
			c.do("EXEC")
			return '+'
		}},
		{"a list of instants", func(c *flowClient, nowMs int64) rune {
			c.do("LPUSH", flowKey, fmt.Sprint(nowMs/1000))
			c.do("LTRIM", flowKey, "0", "99")
			c.do("EXPIRE", flowKey, "60")
			return '+'
		}},
		{"tokens in a hash", func(c *flowClient, nowMs int64) rune {
			c.do("HMGET", flowKey, "tokens", "at")
			c.do("HSET", flowKey, "tokens", "5", "at", ms(nowMs))
			c.do("PEXPIRE", flowKey, "60000")
			return '+'
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := newScene(t)
			w.manyHits(f.hit, 0)
			require.Empty(t, w.problems())
		})
	}
}
