package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// TestReadProcess checks the readings against this machine's kernel.
func TestReadProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("bench itself runs on Linux only")
	}
	use, err := readProcess(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, use.rss)
	require.Positive(t, use.cpu)
	_, err = readProcess(1 << 30)
	require.Error(t, err)
}
