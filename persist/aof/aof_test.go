package aof_test

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/store/effects"
)

// group builds a group of effects from command lines.
func group(db int, commands ...string) *effects.Group {
	g := new(effects.Group)
	for _, c := range commands {
		var args [][]byte
		for _, word := range strings.Fields(c) {
			args = append(args, []byte(word))
		}
		g.Add(db, args...)
	}
	return g
}

// read loads a log and returns its commands.
func read(t *testing.T, o aof.Options) ([]string, *aof.Loaded) {
	t.Helper()
	var got []string
	found, err := aof.Load(o, true, aof.Handler{
		Apply: func(args [][]byte) error {
			words := make([]string, len(args))
			for i, a := range args {
				words[i] = string(a)
			}
			got = append(got, strings.Join(words, " "))
			return nil
		},
	})
	require.NoError(t, err)
	return got, found
}

func nothing(io.Writer) error { return nil }

func TestAppendAndLoad(t *testing.T) {
	for _, policy := range []aof.Policy{aof.EverySec, aof.Always, aof.No} {
		t.Run(strconv.Itoa(int(policy)), func(t *testing.T) {
			o := aof.Options{FS: disk.OS(t.TempDir()), Policy: func() aof.Policy { return policy }}
			got, found := read(t, o)
			require.Empty(t, got)
			require.False(t, found.Found)

			log, err := aof.Open(o, found, true, nothing)
			require.NoError(t, err)
			log.Append(group(0, "SET a 1"), 1000)
			end := log.Append(group(3, "SET b 2", "PEXPIREAT b 1795195614539"), 2000)
			if policy == aof.Always {
				require.NoError(t, log.Wait(end, nil))
				require.Equal(t, end, log.Synced())
			}
			require.NoError(t, log.Close())

			got, found = read(t, o)
			require.Equal(t,
				[]string{"SELECT 0", "SET a 1", "SELECT 3", "SET b 2", "PEXPIREAT b 1795195614539"}, got)
			require.EqualValues(t, 2000, found.InstantMs)
			require.Zero(t, found.CutBytes)

			log, err = aof.Open(o, found, true, nothing)
			require.NoError(t, err)
			log.Append(group(3, "DEL b"), 1500)
			require.NoError(t, log.Close())
			got, found = read(t, o)
			require.Len(t, got, 7)
			require.EqualValues(t, 2000, found.InstantMs, "the log's clock does not go back")
		})
	}
}
