package rdb_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/persist/rdb"
)

// newerPayloads are what DUMP of redis-server 8.2.3 and of valkey-server 9.1.2 has answered, in base64.
var newerPayloads = []struct{ key, contents, redis8, valkey9 string }{
	{"text", `string embstr -1 "value"`, "AAV2YWx1ZQwASoD1+DuABSc=", "AAV2YWx1ZVAATtwIqV/4/Jo="},
	{"number", `string int -1 "42"`, "AMAqDABKjWg6fEnRGQ==", "AMAqUABO0ZVrGDEopA=="},
	{
		"list", `list quicklist -1 ["a" "b" "c"]`,
		"EgECEBAAAAADAIFhAoFiAoFjAv8MAANujcxvGczX", "EgECEBAAAAADAIFhAoFiAoFjAv9QAAcycJ0LYTVq",
	},
	{
		"set", `set hashtable -1 ["a" "b" "c"]`,
		"FBAQAAAAAwCBYQKBYgKBYwL/DADPnN3UzL3u9w==", "FBAQAAAAAwCBYQKBYgKBYwL/UADLwCCFqMUXSg==",
	},
	{
		"integers", `set intset -1 ["-7" "3" "5"]`,
		"Cw4CAAAAAwAAAPn/AwAFAAwAZvlxDo5fBuE=", "Cw4CAAAAAwAAAPn/AwAFAFAAYqWMX+on/1w=",
	},
	{
		"hash", `hash listpack -1 ["field" "value" "n" "7"]`,
		"EBoaAAAABACFZmllbGQGhXZhbHVlBoFuAgcB/wwAU8Yj2v/qljw=",
		"EBoaAAAABACFZmllbGQGhXZhbHVlBoFuAgcB/1AAV5rei5uSb4E=",
	},
	{
		"window", `zset listpack -1 ["unit:1" "1700000000001" "unit:2" "1700000000002"]`,
		"EcMlKxcrAAAABACGdW5pdDoxB/QBaOXPiwEAAAmAEQMyB/QCoBEBCf8MAIGMQ4wd8dZF",
		"EcMlKxcrAAAABACGdW5pdDoxB/QBaOXPiwEAAAmAEQMyB/QCoBEBCf9QAIXQvt15iS/4",
	},
	{
		"large", `zset skiplist -1 ["` + strings.Repeat("u", 100) + `" "1.5"]`,
		"BQHDCUBkAXV14FcAAXV1AAAAAAAA+D8MALGegMPgW76X", "BQHDCUBkAXV14FcAAXV1AAAAAAAA+D9QALXCfZKEI0cq",
	},
}

// fieldsWithDeadlines are hashes of both with a deadline of a field, for which there are new types.
var fieldsWithDeadlines = []string{
	"GXlgcxOiAQAAHR0AAAAGAIFhAgEB9HlgcxOiAQAACYFiAgIBAAH/DADwVjSsZumxfQ==",
	"FgIBYcABSWZzE6IBAAABYsAC//////////9QAFE6q7Z62n7U",
}

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return b
}

// TestConvert: what Redis 8 and Valkey 9 have dumped is restored here and by Redis 7.0 when it is converted.
func TestConvert(t *testing.T) {
	var keys, want []string
	for _, p := range newerPayloads {
		keys, want = append(keys, p.key), append(want, p.contents)
	}
	check := func(t *testing.T, s server) {
		for _, of := range []func(i int) string{
			func(i int) string { return newerPayloads[i].redis8 },
			func(i int) string { return newerPayloads[i].valkey9 },
		} {
			for i, key := range keys {
				newer := decoded(t, of(i))
				_, err := rdb.Restore(newer, limits)
				require.ErrorIs(t, err, rdb.ErrFooter)
				converted, err := rdb.Convert(newer)
				require.NoError(t, err, key)
				restored := s.ask(t, []string{"RESTORE", key, "0", string(converted), "REPLACE"})
				require.EqualValues(t, "OK", restored[0])
			}
			requireSame(t, keys, want, contents(t, s, keys))
		}
	}
	t.Run("ours", func(t *testing.T) { check(t, newKeyspace()) })
	t.Run("redis-server 7.0", func(t *testing.T) { check(t, startRedis(t, t.TempDir())) })
}

func TestConvertRefuses(t *testing.T) {
	for _, text := range fieldsWithDeadlines {
		_, err := rdb.Convert(decoded(t, text))
		require.ErrorIs(t, err, rdb.ErrUnsupported)
	}
	broken := decoded(t, newerPayloads[0].valkey9)
	broken[2]++
	_, err := rdb.Convert(broken)
	require.ErrorIs(t, err, rdb.ErrFooter)
	_, err = rdb.Convert(nil)
	require.ErrorIs(t, err, rdb.ErrFooter)

	own := dump.AppendFooter([]byte{0, 1, 'x'})
	same, err := rdb.Convert(own)
	require.NoError(t, err)
	require.Equal(t, own, same)
}
