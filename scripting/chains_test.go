package scripting

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// A chain is a construct that repeats link n times between head and middle, and closing as often before tail.
// testdata/sources/chains.txt has those that C Lua reads in a loop, at any length, and those that nest, up to
// 200 levels.
type chain struct{ name, head, link, middle, closing, tail string }

func (c chain) source(n int) string {
	return c.head + strings.Repeat(c.link, n) + c.middle + strings.Repeat(c.closing, n) + c.tail
}

func readChains(t *testing.T) (all []chain) {
	for _, s := range sources(t, "chains") {
		f := append(strings.Split(s.text, "|"), "", "", "")
		all = append(all, chain{s.name, f[0], f[1], f[2], f[3], f[4]})
	}
	return all
}

// lengths are close to the limits, and beyond them.
var lengths = []int{
	0, 1, 2, 49, 50, 63, 64, 65, 98, 99, 128, 195, 196, 197, 198, 199, 200, 201, 246, 247,
	248, 250, 255, 256, 1000, 5000,
}

// shorterLimits are the lengths from which this engine may run out of registers
// before C Lua does.
var shorterLimits = map[string]int{
	"modulo": 196, "arguments": 196, "results": 198, "targets": 198,
	"targets in a function": 196, "locals": 199,
}

const chainsPath = "testdata/chains/redis.txt"

var recordChains = flag.String("recordchains", "",
	"record what a redis-server at this address answers to chains")

// TestChains compares with recorded replies of redis-server. The file has a
// line for each construct and length: name, length, reply.
func TestChains(t *testing.T) {
	race.OneGoroutine(t)
	if *recordChains != "" {
		recordAllChains(t)
	}
	text, err := os.ReadFile(chainsPath)
	require.NoError(t, err)
	recorded := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, reply, ok := strings.Cut(strings.TrimSpace(line), ": ")
		require.True(t, ok, line)
		recorded[name], err = strconv.Unquote(reply)
		require.NoError(t, err)
	}
	chains := readChains(t)
	require.Len(t, recorded, len(chains)*len(lengths))
	e, c := newTestEngine(t)
	for _, ch := range chains {
		for _, n := range lengths {
			name := fmt.Sprintf("%s %d", ch.name, n)
			want, known := recorded[name]
			require.True(t, known, name)
			got := evaluate(e, c, resp.RESP2, evalArgs(ch.source(n)))
			if limit, ok := shorterLimits[ch.name]; ok && n > limit && got != want {
				require.Contains(t, got, "function or expression too complex", name)
				continue
			}
			require.Equal(t, want, got, name)
		}
	}
}

func recordAllChains(t *testing.T) {
	client := dialRedis(t, *recordChains)
	var b strings.Builder
	for _, ch := range readChains(t) {
		for _, n := range lengths {
			fmt.Fprintf(&b, "%s %d: %q\n", ch.name, n, client.call(t, evalArgs(ch.source(n))))
		}
	}
	require.NoError(t, os.WriteFile(chainsPath, []byte(b.String()), 0o644))
}

// TestLongestChains covers the limit of chains, which are compiled by recursion: without it, 50,000 links
// would overflow an eighth of Go's stack.
func TestLongestChains(t *testing.T) {
	if race.Enabled {
		t.Skip("a single goroutine compiles them, for a minute under the race detector")
	}
	whole := debug.SetMaxStack(125_000_000)
	defer debug.SetMaxStack(whole)
	e, c := newTestEngine(t)
	for _, ch := range readChains(t) {
		for _, n := range []int{20000 + 2, 50_000} {
			reply := evaluate(e, c, resp.RESP2, evalArgs(ch.source(n)))
			require.NotEmpty(t, reply, ch.name)
			require.NotContains(t, reply, internalError, ch.name)
		}
	}
	require.Contains(t,
		evaluate(e, c, resp.RESP2, evalArgs("local x=1 return x"+strings.Repeat("+x", 20000))),
		":20001\r\n")
	require.Contains(t,
		evaluate(e, c, resp.RESP2, evalArgs("local x=1 return x"+strings.Repeat("+x", 20000+1))),
		"chunk has too many syntax levels")
}
