package commands

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

func words(args ...string) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = []byte(a)
	}
	return out
}

func texts(args [][]byte) []string {
	out := []string{}
	for _, a := range args {
		out = append(out, string(a))
	}
	return out
}

func TestAppendKeys(t *testing.T) {
	long := strings.Repeat("a", 2000) + " " + strings.Repeat("b", 512)
	for _, c := range []struct {
		name       string
		specs      []KeySpec
		call, want string
	}{
		{"no key", nil, "ping a", ""},
		{"one", []KeySpec{key(1, "")}, "get a", "a"},
		{"of a subcommand", []KeySpec{key(2, "")}, "object encoding a", "a"},
		{"two", []KeySpec{key(1, ""), key(2, "")}, "rename a b", "a b"},
		{"all", []KeySpec{keys(1, "")}, "del a b c", "a b c"},
		{"every second", []KeySpec{keys(2, "")}, "mset a 1 b 2", "a b"},
		{"every second, one short", []KeySpec{keys(2, "")}, "mset a 1 b", "a b"},
		{"all but the last", []KeySpec{{First: 1, Last: -2, Step: 1}}, "blpop a b 0", "a b"},
		{"a few", []KeySpec{{First: 1, Last: 1, Step: 1}}, "x a b c", "a b"},
		{"a few, not all there", []KeySpec{{First: 1, Last: 5, Step: 1}}, "x a b", "a b"},
		{"counted", []KeySpec{CountedKeys(2, "")}, "eval s 2 a b c", "a b"},
		{"counted in steps", []KeySpec{{First: 1, Step: 2, KeyNum: true}}, "x 2 a 1 b 2 c", "a b"},
		{"one that stands nowhere", derivedKeys(), "rl.settle a b 1", "a a:hold:b"},
		{
			"by a long id", derivedKeys(), "rl.settle " + long + " 1",
			long[:2000] + " " + strings.Replace(long, " ", ":hold:", 1),
		},
		{"by an id that is refused", derivedKeys(), "rl.settle a " + long[1488:2000] + "b 1", "a"},
		{"by no id", derivedKeys(), "rl.settle a  1", "a"},
		{"alone", derivedKeys()[1:], "rl.settle a b 1", "a:hold:b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := Command{Keys: c.specs}
			args := words(strings.Split(c.call, " ")...)
			require.Equal(t, strings.Fields(c.want), texts(row.AppendKeys(nil, args)))

			var want store.ShardSet
			for k := range strings.FieldsSeq(c.want) {
				want |= store.ShardOf([]byte(k))
			}
			require.Equal(t, want, row.Shards(args))
			row.Flags = AllShards
			require.Equal(t, store.AllShards, row.Shards(args))
		})
	}
}

var holdInfix = []byte(":hold:")

// derivedKeys returns the keys of a command whose second argument names a second key.
func derivedKeys() []KeySpec {
	return []KeySpec{key(1, ""), {First: 1, Step: 1, Derive: func(args [][]byte) (parts NameParts) {
		if id := args[2]; len(id) > 0 && len(id) <= 512 {
			parts = NameParts{args[1], holdInfix, id}
		}
		return parts
	}}}
}

// Clients may send any count: keys beyond the arguments are never read.
func TestCountedKeysHostile(t *testing.T) {
	row := Command{Keys: []KeySpec{CountedKeys(2, "")}}
	stepped := Command{Keys: []KeySpec{{First: 2, Step: 2, KeyNum: true}}}
	for _, count := range []string{
		"", " ", "-", "0", "-1", "-9223372036854775808", "3", "4", "2147483647", "2147483648", "4294967297",
		"4611686018427387904", "9223372036854775806", "9223372036854775807", "9223372036854775808",
		"18446744073709551617", "1e0", "0x1", "1.0", " 1", "+1", "01", "1\x00", "one",
	} {
		t.Run(strconv.Quote(count), func(t *testing.T) {
			args := words("eval", "s", count, "a", "b")
			for _, c := range []*Command{&row, &stepped} {
				require.Empty(t, c.AppendKeys(nil, args))
				require.Zero(t, c.Shards(args))
			}
		})
	}
	require.Empty(t, row.AppendKeys(nil, words("eval", "s")), "arity would not let this pass")
	require.Equal(t, []string{"a"}, texts(stepped.AppendKeys(nil, words("eval", "s", "1", "a", "b"))))
}

func FuzzKeyRange(f *testing.F) {
	f.Add(2, 0, 1, true, 5, []byte("2"))
	f.Add(1, -1, 2, false, 4, []byte("x"))
	f.Fuzz(func(t *testing.T, first, last, step int, counted bool, n int, count []byte) {
		if n < 1 || n > 100 || first < 1 || first >= n || step < 1 || step > 100 || last > 100 ||
			last < -100 {
			t.Skip("rows are not like this")
		}
		args := make([][]byte, n)
		for i := range args {
			args[i] = count
		}
		k := KeySpec{First: first, Last: last, Step: step, KeyNum: counted}
		from, end, by := k.keyRange(args)
		require.Positive(t, by)
		for at := from; at < end; at += by {
			require.Less(t, at, n)
			require.GreaterOrEqual(t, at, first)
		}
	})
}

func TestKeysDoNotAllocate(t *testing.T) {
	table := testTable()
	zadd, mset := table.Lookup([]byte("zadd")), table.Lookup([]byte("mset"))
	hold, settle := &Command{Keys: derivedKeys()}, words("rl.settle", "k", "request-1", "5")
	dst := make([][]byte, 0, 8)
	one, several := words("zadd", "k", "1", "m"), words("mset", "a", "1", "b", "2")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		dst = zadd.AppendKeys(dst[:0], one)
		dst = mset.AppendKeys(dst, several)
		if zadd.Shards(one)|mset.Shards(several)|hold.Shards(settle) == 0 {
			panic("no shards")
		}
	}))
}

func BenchmarkShards(b *testing.B) {
	table := testTable()
	for _, call := range [][]string{
		{"zadd", "rate_limit:{user_123}", "1", "m"},
		{"rename", "a", "b"},
		{"mset", "a", "1", "b", "2", "c", "3"},
		{"dbsize"},
	} {
		args := words(call...)
		cmd := table.Lookup(args[0])
		b.Run(call[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cmd.Shards(args)
			}
		})
	}
	b.Run("hash alone", func(b *testing.B) {
		k := []byte("rate_limit:{user_123}")
		for b.Loop() {
			store.ShardOf(k)
		}
	})
}
