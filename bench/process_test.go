package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadText(t *testing.T) {
	for in, want := range map[string]string{
		"+PONG\r\n": "PONG", ":12\r\n": "12", "$5\r\na\r\nbc\r\n": "a\r\nbc", "$0\r\n\r\n": "",
		"*2\r\n:1\r\n*2\r\n$1\r\nx\r\n+y\r\n": "1 x y", "*0\r\n": "",
	} {
		r := bufio.NewReader(strings.NewReader(in + "+next\r\n"))
		got, err := readText(r)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = readText(r)
		require.NoError(t, err)
		require.Equal(t, "next", got, "after %q", in)
	}
	for _, in := range []string{
		"", "+PONG", "\r\n", "-ERR no\r\n", "$-1\r\n", "$9999999999\r\n", "$5\r\nabc",
		"*1\r\n", "*2\r\n:1\r\n", "*-1\r\n", "$x\r\n", "_\r\n", "*1\r\n-ERR no\r\n",
	} {
		_, err := readText(bufio.NewReader(strings.NewReader(in)))
		require.Error(t, err, in)
	}
}

func TestVersion(t *testing.T) {
	require.Equal(t, "7.0.15", version("# Server\r\nredis_version:7.0.15\r\ngcc_version:12.2.0\r\n"))
	require.Equal(t, "0.1.0", version("redis_version:7.0.15\r\nzlimit_version:0.1.0\r\n"))
	require.Empty(t, version(""))
}

// TestStartServerFails starts this test program, which does not know --port.
// Its last output has to reach the user.
func TestStartServerFails(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = startServer(context.Background(), placement{}, "ours", self, t.TempDir())
	require.ErrorContains(t, err, "start ours")
	require.ErrorContains(t, err, "it ended: ")
	require.ErrorContains(t, err, "-test.", "the end of its usage text")
}

func TestRunRefuses(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"--row nothing", 2, `no row is named "nothing"`},
		{"--rounds 0", 2, "--rounds"},
		{"--seconds NaN", 2, "--seconds"},
		{"--seconds 0.01", 2, "--seconds"},
		{"more", 2, `unexpected argument "more"`},
		{"--nonsense", 2, "flag provided but not defined"},
		{
			"--redis no-such-server-anywhere", 2,
			"no-such-server-anywhere is needed to compare with and was not found",
		},
		{"--help", 0, "-quick"},
	} {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr strings.Builder
			require.Equal(t, test.code,
				run(context.Background(), strings.Fields(test.args), &stdout, &stderr))
			require.Contains(t, stderr.String(), test.says)
			require.Empty(t, stdout.String())
		})
	}
	var stdout, stderr strings.Builder
	require.Zero(t, run(context.Background(), []string{"--list", "--quick"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "allow-1 ")
}

func TestParseBenchmark(t *testing.T) {
	titles := `"test","rps","avg_latency_ms"` + "\n"
	got, err := parseBenchmark(titles + `"SET rl:__rand_int__ a","215053.77","3.489"` + "\n")
	require.NoError(t, err)
	require.InDelta(t, 215053.77, got, 1e-9)
	for _, wrong := range []string{
		"", titles, `"test","latency"` + "\n" + `"SET","1"` + "\n",
		titles + `"SET","many","1"` + "\n", titles + `"SET`,
	} {
		_, err := parseBenchmark(wrong)
		require.Error(t, err, wrong)
	}
}
