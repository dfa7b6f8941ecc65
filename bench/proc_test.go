package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// statLine returns a line of /proc/PID/stat with the fields that matter.
func statLine(name, utime, stime, rss string) string {
	fields := strings.Fields("S 1 1 1 0 -1 4194304 99 0 0 0 U S 0 0 20 0 4 0 290608 3133440 R " +
		"18446744073709551615 0 0")
	for i, field := range fields {
		switch field {
		case "U":
			fields[i] = utime
		case "R":
			fields[i] = rss
		}
	}
	fields[12] = stime // the other S is the state
	return "4711 (" + name + ") " + strings.Join(fields, " ") + "\n"
}

func TestParseProcessStat(t *testing.T) {
	for _, name := range []string{"redis-server", "a b", "S) 1 (x", ")"} {
		got, err := parseProcessStat([]byte(statLine(name, "150", "25", "383")), 4096)
		require.NoError(t, err, name)
		require.Equal(t, processUse{cpu: 1750 * time.Millisecond, rss: 383 * 4096}, got, name)
	}
	for _, text := range []string{
		"", "4711 redis-server S 1", "4711 (redis-server) S 1 1",
		statLine("x", "-", "25", "383"), statLine("x", "150", "2.5", "383"),
		statLine("x", "150", "25", "99999999999999999999"),
	} {
		_, err := parseProcessStat([]byte(text), 4096)
		require.ErrorIs(t, err, errProcStat, text)
	}
}

func TestParseCoreStat(t *testing.T) {
	const text = "cpu  100 20 30 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 8 9 10\ncpu10 50 1 1 0 0 0 0 0 0 0\n" +
		"intr 1 2 3\ncpu2 x 1 1\ncpu3 1\n"
	for core, want := range map[int]coreUse{
		1:        {60 * time.Millisecond, 80 * time.Millisecond},
		10:       {520 * time.Millisecond, 0},
		allCores: {1500 * time.Millisecond, 80 * time.Millisecond},
	} {
		got, err := parseCoreStat([]byte(text), core)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, core := range []int{0, 2, 3} {
		_, err := parseCoreStat([]byte(text), core)
		require.ErrorIs(t, err, errProcStat)
	}
}

func TestParseCores(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-1\n": {0, 1}, "3,8-10": {3, 8, 9, 10}} {
		got, err := parseCores(list)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, list := range []string{"", "a", "1-", "0,,2"} {
		_, err := parseCores(list)
		require.Error(t, err, list)
	}
}

func TestPlace(t *testing.T) {
	p := place([]int{4, 6, 7}, "/usr/bin/taskset")
	require.Equal(t, placement{taskset: "/usr/bin/taskset", server: 4, client: 6}, p)
	require.Equal(t, []string{"/usr/bin/taskset", "-c", "4", "redis-server", "--port", "1"},
		p.command("redis-server", "--port", "1").Args)

	one := place([]int{0}, "/usr/bin/taskset")
	require.False(t, one.pinned())
	require.Contains(t, one.String(), "one core")
	require.NoError(t, one.pinSelf())
	require.Equal(t, []string{"redis-server"}, one.command("redis-server").Args)

	without := place([]int{0, 1}, "")
	require.False(t, without.pinned())
	require.Contains(t, without.String(), "taskset")
}

// TestReadProcess checks the parser against this machine's kernel.
func TestReadProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc: bench itself runs on Linux only")
	}
	use, err := readProcess(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, use.rss)
}
