package scripting

import (
	"flag"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// live is the number of generated flows to compare with a redis-server, instead
// of with the recorded replies.
var live = flag.Int("live", 0, "how many generated flows to compare with the -record server")

const flowRecordings = "testdata/flows/generated.txt"

// recordedFlows is the number of flows in testdata, from seed 1.
const recordedFlows = 400

// otherPairs matches calls of pairs whose order differs from that of Redis.
var otherPairs = regexp.MustCompile(`in pairs\(([{v].*|i)\)`)

// redisFlow returns a generated flow without the name server, which Redis 7
// does not have, and independent of the order of keys.
func redisFlow(seed uint64) flow {
	f := newFlowGenerator(seed).next()
	f.source = strings.ReplaceAll(f.source, "server.", "redis.")
	f.source = strings.ReplaceAll(f.source, "error()", "error(1)") // crashes Redis 7.0.15
	f.source = otherPairs.ReplaceAllString(f.source, "in pairs(ARGV)")
	return f
}

// negativeZero reports whether a reply has a negative zero, whose sign is a
// known deviation (docs/commands.md, EVAL).
func negativeZero(reply string) bool {
	return strings.Contains(reply, "\r\n-0\r\n") || strings.Contains(reply, "-0.") || strings.Contains(reply,
		"x-0")
}

// TestFlowsAsRedis compares generated flows with recorded replies of
// redis-server 7.0, and the keys after them.
func TestFlowsAsRedis(t *testing.T) {
	server := newSide(t)
	if *record != "" && *live > 0 {
		client := dialRedis(t, *record)
		send := func(args [][]byte) string { return client.call(t, args) }
		bad, misnamed := 0, 0
		for i := range *live {
			f := redisFlow(*seed + uint64(i))
			want, got := f.compared(send), f.compared(server.send)
			switch {
			case got == want || negativeZero(want):
			case anonymous(got) == anonymous(want):
				misnamed++
			default:
				bad++
				t.Errorf("seed %d\n%s\nkeys %q args %q\n got %q\nwant %q", *seed+uint64(i), f.source, f.keys,
					f.args, got, want)
			}
			if bad == 10 {
				t.FailNow()
			}
		}
		t.Logf("%d of %d name another variable in an error", misnamed, *live)
		return
	}
	if *record != "" {
		client := dialRedis(t, *record)
		var lines []string
		for i := range recordedFlows {
			f := redisFlow(uint64(i) + 1)
			lines = append(lines,
				strconv.Quote(f.compared(func(args [][]byte) string { return client.call(t, args) })))
		}
		require.NoError(t, os.WriteFile(flowRecordings, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
		return
	}
	data, err := os.ReadFile(flowRecordings)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	require.Len(t, lines, recordedFlows)
	misnamed := 0
	for i, line := range lines {
		f := redisFlow(uint64(i) + 1)
		want, err := strconv.Unquote(line)
		require.NoError(t, err)
		got := f.compared(server.send)
		switch {
		case got == want || negativeZero(want):
		case anonymous(got) == anonymous(want):
			misnamed++
		default:
			t.Errorf("seed %d\n%s\nkeys %q args %q\n got %q\nwant %q", i+1, f.source, f.keys, f.args, got,
				want)
		}
	}
	require.Less(t, misnamed, recordedFlows/20)
}

func TestFlowsAsRedisSeesADifference(t *testing.T) {
	server := newSide(t)
	data, err := os.ReadFile(flowRecordings)
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(data), "\n")
	want, err := strconv.Unquote(first)
	require.NoError(t, err)
	f := redisFlow(1)
	require.Equal(t, want, f.compared(server.send))
	f.source = "redis.call('SET', 'n', 11) " + f.source
	require.NotEqual(t, anonymous(want), anonymous(f.compared(server.send)))
}

// FuzzFlows runs sources that terminate.
func FuzzFlows(f *testing.F) {
	for i := range 40 {
		flow := newFlowGenerator(uint64(i) + 1).next()
		f.Add(flow.source, "k", "5")
	}
	f.Add(slidingWindow, "z", "1795184400123")
	server := newSide(f)
	f.Fuzz(func(t *testing.T, source, key, arg string) {
		for _, word := range []string{
			"while", "for", "repeat", "rep", "function", "load", "coroutine", "random", "time", "TIME",
			"table:", "{",
		} {
			if strings.Contains(source, word) {
				t.Skip("may not end, or not the same twice")
			}
		}
		flow := flow{source: source, keys: []string{key}, args: []string{arg}}
		require.NotContains(t, flow.compared(server.send), internalError)
		server.flushScripts()
	})
}
