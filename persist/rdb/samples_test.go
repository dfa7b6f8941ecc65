package rdb_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var record = flag.Bool("record", false, "ask redis-server 7.0.15 anew what testdata/samples.txt says of it")

const samplesFile = "testdata/samples.txt"

// answers returns a server's answers to every sample.
func answers(t *testing.T, s server) (out []string) {
	for _, c := range samples() {
		reply := fmt.Sprint(s.ask(t, []string{"RESTORE", "k", "0", c.payload, "REPLACE"})[0])
		if reply == "OK" {
			reply = contents(t, s, []string{"k"})[0]
		}
		if len(reply) > 300 {
			reply = fmt.Sprintf("%.300s... %d", reply, len(reply))
		}
		out = append(out, c.name+": "+strconv.QuoteToASCII(reply))
		s.ask(t, []string{"DEL", "k"})
	}
	return out
}

// differs explains where answers differ from Redis'.
var differs = map[string]string{
	"version 11":                        "taken, as payloads of Redis 7.2 are",
	"sorted set, listpack out of order": "put in order, where Redis leaves it out of order",
	"bytes behind the value":            "refused, where Redis looks at no more than the value",
	"a string that ends early":          "refused, where Redis takes the footer for a part of it",
	"list, listpack of 70,000":          "all of them, where Redis counts a node's elements in 16 bits",
	"stream":                            "streams are not held here",
}

// TestSamples compares the results of payloads that no current Redis writes with what
// redis-server made of them.
func TestSamples(t *testing.T) {
	if *record {
		text := strings.Join(answers(t, startRedis(t, t.TempDir())), "\n") + "\n"
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(samplesFile, []byte(text), 0o644))
	}
	text, err := os.ReadFile(samplesFile)
	require.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	got := answers(t, newKeyspace())
	require.Len(t, got, len(want), "run go test ./persist/rdb -run Samples -record")
	for i := range want {
		name, _, _ := strings.Cut(want[i], ":")
		if differs[name] != "" {
			require.NotEqual(t, want[i], got[i])
			continue
		}
		if want[i] != got[i] {
			t.Errorf("%.400s\n%.400s", want[i], got[i])
		}
	}
}
