package scripting

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

var rewrite = flag.Bool("rewrite", false, "renew the list in docs/scripts.md")

// A libraryShape is a script with the constructs of some library's scripts.
type libraryShape struct {
	library, file string
	keys, args    []string
}

var shapes = []libraryShape{
	{
		"the documents' sliding window", "../docs/sliding-window.lua",
		[]string{"w"},
		[]string{"1795184400000", "60000", "3"},
	},
	{"rate-limiter-flexible", "", []string{"a"}, []string{"1", "60"}},
	{"redis_rate", "", []string{"a"}, []string{"100", "10", "60", "1"}},
	{"throttled", "", []string{"n"}, []string{"10", "10", "60"}},
	{"ulule-limiter", "", []string{"a"}, []string{"1", "60000"}},
	{"express-rate-limit-redis", "", []string{"a"}, []string{"0", "60000"}},
	{"fastify-rate-limit", "", []string{"a"}, []string{"60000", "3", "false", "false"}},
	{"limits-fixed-window", "", []string{"a"}, []string{"60", "1"}},
	{"limits-moving-window", "", []string{"b"}, []string{"1795184400", "3", "60", "1"}},
	{"limits-sliding-window-counter", "", []string{"a", "d"}, []string{"1000000000", "60", "1"}},
	{"bucket4j", "", []string{"n"}, []string{"10", "10", "60000"}},
	{"spring-cloud-gateway", "", []string{"a", "d"}, []string{"10", "20", "1795184400", "1"}},
	{"token-bucket-hash", "", []string{"h"}, []string{"1795184400000", "10", "20"}},
	{"redisson", "", []string{"h", "z"}, []string{"1", "1795184400000", "id"}},
	{"bottleneck", "", []string{"h"}, []string{"1795184400000"}},
}

func (s libraryShape) flow(t testing.TB) flow {
	if s.file == "" {
		s.file = filepath.Join("testdata/shapes", s.library+".lua")
	}
	source, err := os.ReadFile(s.file)
	require.NoError(t, err)
	return flow{string(source), s.keys, s.args}
}

// allocations returns the allocations of one run.
func (s side) allocations(f flow) float64 {
	for _, c := range before {
		s.send(splitFields(c))
	}
	args := f.command()
	cmd := s.engine.table.Lookup(args[0])
	s.ctx.Args = args
	run := func() {
		s.ctx.Reset()
		reply := cmd.Handler(s.ctx)
		_ = reply
	}
	run()
	return testing.AllocsPerRun(50, run)
}

// TestShapes runs each shape, and writes or compares the table of docs/scripts.md.
func TestShapes(t *testing.T) {
	server := newSide(t)
	var b strings.Builder
	b.WriteString("Its own shards only, with allocations:")
	for _, s := range shapes {
		f := s.flow(t)
		for _, c := range before {
			server.send(splitFields(c))
		}
		if s.library != "redisson" { // needs struct
			require.NotContains(t, server.send(f.command()), "user_script", s.library)
		}
		script, err := server.engine.scripts.load([]byte(f.source))
		require.NoError(t, err)
		allocations := ""
		if !race.Enabled {
			// The rest are the commands' allocations.
			n := server.allocations(f)
			allocations = fmt.Sprint(n)
			require.LessOrEqual(t, n, 10.0, s.library)
		}
		require.True(t, script.proof.Proven(), "%s: %s", s.library, script.proof.Reason)
		fmt.Fprintf(&b, "\n%s (%s),", s.library, allocations)
	}
	list := strings.TrimSuffix(b.String(), ",") + ".\n"
	if race.Enabled {
		return // the race detector allocates
	}
	const path, open, end = "../docs/scripts.md", "<!-- shapes -->\n", "<!-- /shapes -->\n"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(data), open)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := head + open + list + end + tail
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	// The figures may change with Go's version; the bound is checked above.
	figures := regexp.MustCompile(`\(\d*\)`)
	require.Equal(t, figures.ReplaceAllString(want, ""), figures.ReplaceAllString(string(data), ""),
		"go test ./scripting -run Shapes -rewrite")
}
