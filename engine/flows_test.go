package engine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// The documents' limiters, as the commands that their clients send. Each runs
// twice: with the clock held, where the decisions are those that redis-server
// gave the same clients at the same instants (compat/ records them), and with
// the clock moved to every instant, where keys expire on the way and a model
// with maps (flows_model_test.go) says what must come out.

// A flow is one limiter.
type flow struct {
	name     string
	instants []int64 // milliseconds from startNowMs, in the order of the hits
	// redis is what redis-server let through, by compat's runner: + allowed,
	// - denied, ! failed; digits repeat what is behind them.
	redis string
	keys  []string // that the flow uses, for the comparison of what they hold
	hit   func(c *flowClient, nowMs int64) rune
}

// A flowClient is what a client library is to a flow.
type flowClient struct {
	do     func(words ...string) string
	serial int
}

const flowKey = "limiter"

func decision(allowed bool) rune {
	if allowed {
		return '+'
	}
	return '-'
}

// integer is do for a command that answers an integer.
func (c *flowClient) integer(words ...string) int64 {
	reply := c.do(words...)
	n, err := strconv.ParseInt(reply, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%q answered %q", words, reply))
	}
	return n
}

// script runs a script as client libraries do: by its digest, and by its text
// where the server does not know it.
func (c *flowClient) script(source string, args ...string) string {
	digest := sha1Hex(source)
	reply := c.do(append([]string{"EVALSHA", digest, "1", args[0]}, args[1:]...)...)
	if strings.HasPrefix(reply, "NOSCRIPT ") {
		reply = c.do(append([]string{"EVAL", source, "1", args[0]}, args[1:]...)...)
	}
	return reply
}

func ms(n int64) string { return strconv.FormatInt(n, 10) }

// wholeSeconds reaches a limit of 100 by stepping back: forwards, whole seconds
// give a window of w seconds w members at most.
func wholeSeconds(window int64) []int64 {
	var out []int64
	for i := range int64(105) {
		out = append(out, i*500)
	}
	out = append(out, 59_999, 60_000, 60_000, 60_001, 120_000)
	for i := range int64(103) {
		out = append(out, -1000*(i+1))
	}
	edge := window*1000 - 99_000
	return append(out, edge-1, edge, edge, edge+1000, 110_999, 111_000, 112_001, 300_000)
}

var (
	hitFirstInstants = []int64{
		0, 1, 2, 3, 4, 5, 6, 59_999, 60_000, 60_001, 60_004, 60_004, 60_005,
		200_000, 200_001, 200_002, 200_003, 200_004, 259_999,
		400_000, 400_001, 400_002, 400_003, 400_004, 460_000, 460_001, 460_001,
		399_999, 460_000, 700_000,
	}
	templateInstants = []int64{0, 0, 1, 2, 59_999, 60_000, 60_001, 60_002, 60_002, 30_000, 200_000}
	counterInstants  = []int64{0, 1, 60_000, 60_001, 60_001, 60_002, 120_000, 200_000, 30_000}
)

var documentFlows = []flow{
	{
		"1 whole seconds, by commands", wholeSeconds(60), "209+5-7+",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			now := nowMs / 1000
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(now-60))
			if c.integer("ZCARD", flowKey) >= 100 {
				return '-'
			}
			c.do("ZADD", flowKey, ms(now), ms(now))
			c.do("EXPIRE", flowKey, "60")
			return '+'
		},
	},
	{
		"2 milliseconds, unique members", templateInstants, "+++--+++--+",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			c.serial++
			return templateHit(c, nowMs, fmt.Sprint(nowMs, "-", c.serial))
		},
	},
	{
		"2 milliseconds, one member for all", templateInstants, "11+",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune { return templateHit(c, nowMs, "请求标识") },
	},
	{
		"3 milliseconds, by script, strings as replies",
		[]int64{
			0, 0, 1, 2, 3, 59_999, 60_000, 60_000, 60_001, 60_002, 60_002, 1000, 200_000,
			// Sixteen digits, past what Lua's tostring keeps, and the first instant of all.
			startNowMs*999 + 123, startNowMs*999 + 124, startNowMs*999 + 60_123, -startNowMs,
		},
		"++++--+-++--+++++",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			reply := c.script(millisScript, flowKey, ms(nowMs), "60000", "3")
			if onlyOneOrZero(reply) != nil {
				return '!'
			}
			return decision(reply == "1")
		},
	},
	{
		"4 two requests in 30 s",
		[]int64{0, 1, 2, 29_999, 30_000, 30_000, 30_001, 90_000, 90_000, 90_000, 90_001, 90_002, 60_000},
		"++--+-+++++--",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-30_000))
			if c.integer("ZCARD", flowKey) >= 2 {
				return '-'
			}
			c.do("ZADD", flowKey, ms(nowMs), ms(nowMs))
			c.do("PEXPIRE", flowKey, "30000")
			return '+'
		},
	},
	{
		"5 a counter with MULTI on one connection", counterInstants, "5+4-",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			if c.integer("ZCARD", flowKey) >= 3 {
				return '-'
			}
			c.do("MULTI")
			counterHit(c, nowMs)
			if reply := c.do("EXEC"); !strings.HasSuffix(reply, " 1 1]") {
				return '!'
			}
			return '+'
		},
	},
	{
		// MULTI goes to a connection of its own, which is given back; the steps take effect one by one, and
		// EXEC and
		// DISCARD find no transaction.
		"5 a counter with MULTI on another connection", counterInstants, "5!4-",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			if c.integer("ZCARD", flowKey) >= 3 {
				return '-'
			}
			counterHit(c, nowMs)
			if c.do("EXEC") == "ERR EXEC without MULTI" && c.do("DISCARD") == "ERR DISCARD without MULTI" {
				return '!'
			}
			return '+'
		},
	},
	{
		"6 the hit first, in MULTI", hitFirstInstants, "5+8-5+-8+-2+",
		[]string{flowKey},
		hitFirst,
	},
	{
		"6 the hit first, many in one millisecond",
		[]int64{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 60_000, 60_000, 60_001, 60_002, 60_005},
		"15+6-+",
		[]string{flowKey},
		hitFirst,
	},
	{
		"6 the hit first, two in each millisecond",
		[]int64{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 60_003, 60_003, 60_004, 60_006},
		"10+5-4+",
		[]string{flowKey},
		hitFirst,
	},
	{
		"6 the hit first, by script", hitFirstInstants, "5+8-5+-8+-2+",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			return decision(c.script(hitFirstScript, flowKey, ms(nowMs), "60", "5") == "1")
		},
	},
	{
		"7 whole seconds, by script", wholeSeconds(10), "209+5-7+",
		[]string{flowKey},
		func(c *flowClient, nowMs int64) rune {
			return decision(c.script(secondsScript, flowKey, "10", ms(nowMs/1000), "100") == "1")
		},
	},
	{
		"7 ten in a slice of 5 s",
		[]int64{0, 0, 0, 0, 1, 2, 2500, 4000, 4998, 4999, 4999, 4999, 5000, 5001, 4999, -1, 9999, 10_000},
		"10+2-2+-3+", sliceKeys(-1, 0, 1, 2), slice,
	},
	{
		"7 twice the limit around the edge of a slice",
		[]int64{
			0, 1, 1, 1, 1_000, 2_000, 3_000, 4_000, 4_900, 4_998, 4_999, 4_999,
			5_000, 5_000, 5_001, 5_100, 5_100, 5_100, 5_100, 5_100, 5_100, 5_100, 5_100, 2_500, 60_000,
		},
		"10+2-10+2-+", sliceKeys(0, 1, 12), slice,
	},
	{
		"8 a hash tag in the key",
		[]int64{
			0, 0, 999, 1000, 2000, 3000, 4000, 5000, 9999, 10_000, 10_001, 11_000, 11_000, 12_000, -1,
			60_000,
		},
		"7+2-+-+-+-+",
		[]string{taggedKey},
		func(c *flowClient, nowMs int64) rune {
			if c.integer("CLUSTER", "KEYSLOT", taggedKey) != 6090 {
				return '!'
			}
			return decision(c.script(secondsScript, taggedKey, "10", ms(nowMs/1000), "5") == "1")
		},
	},
}

// spellOut turns "3+-" into "+++-".
func spellOut(runs string) string {
	var b strings.Builder
	n := 0
	for _, ch := range runs {
		if '0' <= ch && ch <= '9' {
			n = 10*n + int(ch-'0')
			continue
		}
		b.WriteString(strings.Repeat(string(ch), max(n, 1)))
		n = 0
	}
	return b.String()
}

func engineClient(t *testing.T) (*flowClient, *engine.Engine) {
	e, _, s := newServer(t)
	return &flowClient{do: func(words ...string) string { return doWords(s, words...) }}, e
}

func TestDocumentFlowsAsRedisDecides(t *testing.T) {
	for _, f := range documentFlows {
		t.Run(f.name, func(t *testing.T) {
			want := spellOut(f.redis)
			require.Len(t, want, len(f.instants))
			c, _ := engineClient(t)
			require.Equal(t, want, decisions(f, c), "our engine")
			require.Equal(t, want, decisions(f, newFlowModel().client()), "the model")
		})
	}
}

func decisions(f flow, c *flowClient) string {
	var b strings.Builder
	for _, at := range f.instants {
		b.WriteRune(f.hit(c, startNowMs+at))
	}
	return b.String()
}

func TestDocumentFlowsWithTheClockMoving(t *testing.T) {
	for _, f := range documentFlows {
		t.Run(f.name, func(t *testing.T) {
			c, e := engineClient(t)
			model := newFlowModel()
			m := model.client()
			for i, at := range clockInstants(f) {
				nowMs := startNowMs + at
				e.Clock().Set(nowMs)
				model.nowMs = nowMs
				where := fmt.Sprintf("hit %d at %+d", i, at)
				require.Equal(t, string(f.hit(m, nowMs)), string(f.hit(c, nowMs)), where)
				for _, key := range f.keys {
					require.Equal(t, m.do("PTTL", key), c.do("PTTL", key), where)
					if !strings.Contains(key, flowKey+":") {
						require.Equal(t, m.do("ZCARD", key), c.do("ZCARD", key), where)
					}
				}
			}
		})
	}
}

// clockInstants are a flow's instants at which a clock can stand, and behind
// them a few that are later than every expiry.
func clockInstants(f flow) []int64 {
	out := slices.DeleteFunc(slices.Clone(f.instants), func(at int64) bool { return at < -1e9 || at > 1e9 })
	return append(out, 2_000_000, 2_000_001, 2_030_000, 2_060_001, 2_060_002, 2_125_000)
}
