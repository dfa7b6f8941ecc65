package engine_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

var recordsAnew = flag.Bool("record", false, "write the files in testdata anew, with what redis-server does")

// A recorder makes a recording: it runs the old one's commands on a redis-server.
type recorder func(r *oracle.Redis, c *effectsClient, old string) string

// recording returns a file in which a redis-server was recorded, with -record after it was written anew.
func recording(t *testing.T, path string, flags []string, run recorder) string {
	t.Helper()
	read, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(read)
	if *recordsAnew {
		r, err := oracle.Start(oracle.Options{NowMs: startNowMs, Args: flags})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		c := dialEffects(t, r.Addr())
		defer func() { require.NoError(t, c.conn.Close()) }()
		text = run(r, c, text)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return text
}

// paragraphs returns the parts of a recording that an empty line separates: a head, and what was recorded.
func paragraphs(text string) (heads, bodies []string) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		head, body, _ := strings.Cut(part, "\n")
		heads, bodies = append(heads, head), append(bodies, body)
	}
	return heads, bodies
}

// joined is the opposite of paragraphs.
func joined(heads, bodies []string) string {
	parts := make([]string, len(heads))
	for i := range parts {
		parts[i] = heads[i] + "\n" + bodies[i]
	}
	return strings.Join(parts, "\n\n") + "\n"
}
