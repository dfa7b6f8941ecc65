package rdb_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/race"
)

// howMany is how many keys go both ways if redis-server is installed: few by default,
// since ten thousand take a minute.
var howMany = flag.Int("keys", 500, "keys that TestInterchange takes to Redis and back")

// TestInterchange moves random keys of every type and encoding from Redis to this server
// and back: one by one by DUMP and RESTORE, and all of them in a file.
func TestInterchange(t *testing.T) {
	theirs, ours := startRedis(t, t.TempDir()), newKeyspace()
	many := race.Fewer(*howMany)
	m := newMaker(t, uint64(many))
	var keys []string
	var calls [][]string
	for i := range many {
		k := fmt.Sprintf("key:%d", i)
		keys = append(keys, k)
		calls = append(calls, m.key(k)...)
	}
	for i, reply := range theirs.ask(t, calls...) {
		require.NotImplements(t, (*error)(nil), reply, "%.200q", calls[i])
	}
	ours.ask(t, calls...)
	want := contents(t, theirs, keys)
	requireSame(t, keys, want, contents(t, ours, keys))

	t.Run("DUMP", func(t *testing.T) {
		dumps := func(s server) (payloads []string) {
			calls := make([][]string, len(keys))
			for i, k := range keys {
				calls[i] = []string{"DUMP", k}
			}
			for _, reply := range s.ask(t, calls...) {
				payloads = append(payloads, reply.(string))
			}
			return payloads
		}
		restored := func(s server, payloads []string) []string {
			calls := make([][]string, len(keys)+1)
			calls[0] = []string{"SELECT", "1"}
			for i, k := range keys {
				calls[i+1] = []string{"RESTORE", k, "0", payloads[i], "REPLACE"}
			}
			for i, reply := range s.ask(t, calls...) {
				require.Equal(t, "OK", reply, "%.200q", calls[i])
			}
			got := contents(t, s, keys)
			s.ask(t, []string{"SELECT", "0"})
			return got
		}
		fromTheirs, fromOurs := dumps(theirs), dumps(ours)
		// The reference is Redis' own round trip: encodings may change on the way.
		want := restored(theirs, fromTheirs)
		requireSame(t, keys, want, restored(ours, fromTheirs))
		requireSame(t, keys, want, restored(theirs, fromOurs))
		requireSame(t, keys, want, restored(ours, fromOurs))
		equal, size, theirSize := 0, 0, 0
		for i := range keys {
			if fromTheirs[i] == fromOurs[i] {
				equal++
			}
			size, theirSize = size+len(fromOurs[i]), theirSize+len(fromTheirs[i])
		}
		t.Logf("%d of %d payloads are equal; ours have %d bytes, theirs %d", equal, len(keys), size,
			theirSize)
	})

	t.Run("files", func(t *testing.T) {
		const code = "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
		calls := [][]string{
			{"FUNCTION", "LOAD", code},
			{"SELECT", "1"},
			{"FLUSHDB"},
			{"SELECT", "9"},
			{"SET", "other", "db"},
			{"SELECT", "0"},
			{"SAVE"},
		}
		theirs.ask(t, calls...)
		file, err := os.ReadFile(filepath.Join(theirs.dir, "dump.rdb"))
		require.NoError(t, err)
		again := newKeyspace()
		sum, err := again.read(file, rdb.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, len(keys)+1, sum.Keys)
		require.Equal(t, int64(len(file)), sum.End)

		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), file, 0o600))
		reloaded := startRedis(t, dir)
		want := contents(t, reloaded, keys)
		requireSame(t, keys, want, contents(t, again, keys))
		again.ask(t, []string{"SELECT", "9"})
		require.Equal(t, []any{"db"}, again.ask(t, []string{"GET", "other"}))
		again.ask(t, []string{"SELECT", "0"})

		for _, o := range []rdb.WriterOptions{
			{},
			{
				Compress: true, Checksum: true,
				Fields: []rdb.Field{
					{Name: rdb.FieldVersion, Value: "7.0.15"},
					{Name: rdb.FieldNowMs, Value: "1700000000000"},
				},
			},
		} {
			var written bytes.Buffer
			again.write(t, &written, o, code)
			t.Logf("%+v: %d bytes, theirs has %d", o, written.Len(), len(file))
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), written.Bytes(), 0o600))
			loaded := startRedis(t, dir)
			requireSame(t, keys, want, contents(t, loaded, keys))
			require.Contains(t, fmt.Sprint(loaded.ask(t, []string{"FUNCTION", "LIST"})), "lib")
			loaded.ask(t, []string{"SELECT", "9"})
			require.Equal(t, []any{"db"}, loaded.ask(t, []string{"GET", "other"}))

			third := newKeyspace()
			_, err := third.read(written.Bytes(), rdb.ReadOptions{})
			require.NoError(t, err)
			requireSame(t, keys, want, contents(t, third, keys))
		}
	})
}
