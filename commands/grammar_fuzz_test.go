package commands_test

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/grammar"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The fuzz targets call the commands with the richest grammars with any arguments:
// nothing panics, the reply is a value or an error that starts with a code word, and a
// refused or denied call changes nothing.

const fuzzNowMs = 1_700_000_000_000

// bench is a keyspace and its commands, without sessions and locks.
type bench struct {
	table *commands.Table
	ctx   commands.Ctx
}

// benchTable is of all benches: a call changes nothing of it.
var benchTable = commands.NewTable(
	commands.Strings, commands.Keys, commands.Dumps, commands.Expiry, commands.SortedSets, commands.Sets,
	commands.Hashes, rl.Commands)

func newBench() *bench {
	b := &bench{table: benchTable}
	b.ctx.Proto = resp.RESP2
	b.ctx.Scope = commands.Scope{
		Store: store.New(), NowMs: fuzzNowMs, NowUs: fuzzNowMs * 1000,
		Settings: &commands.Settings{
			ProtoMaxBulkLen: 512 << 20, ZSetMaxListpackCount: 128, ZSetMaxListpackValue: 64,
			RLLogMaxUnits:        5000,
			HashMaxListpackCount: 128, HashMaxListpackValue: 64, SetMaxIntsetCount: 512,
		},
	}
	b.ctx.Use(0)
	return b
}

func (b *bench) call(words ...string) resp.Value {
	return b.table.Call(&b.ctx, argsOf(words))
}

func argsOf(words []string) [][]byte {
	args := make([][]byte, len(words))
	for i := range words {
		args[i] = []byte(words[i])
	}
	return args
}

// wire returns the reply of a call as a client reads it.
func (b *bench) wire(words ...string) string {
	v := b.call(words...)
	return string(resp.Append(nil, &v, b.ctx.Proto))
}

// states are the possible values of key k before the call.
var states = [][][]string{
	nil,
	{{"SET", "k", "text"}},
	{{"SET", "k", "5", "PX", "100"}},
	{{"ZADD", "k", "1", "a", "2", "b", "-inf", "c"}},
	{{"ZADD", "k", "1", "1", "2", "2", "1700000000000", "1700000000000"}, {"PEXPIRE", "k", "50"}},
	{{"RL.ALLOW", "k", "4", "1m", "COST", "3"}},
	{{"ZADD", "k", "0", "a", "0", "b", "0", "c", "0", ""}},
	{{"RL.ALLOW", "k", "4", "1s", "ALGO", "FIXED", "COST", "3"}},
	{{"RL.ALLOW", "k", "5", "1s", "ALGO", "GCRA", "3", "COST", "2"}},
	{{"RL.ALLOW", "k", "5", "1s", "ALGO", "BUCKETS", "10", "COST", "3"}},
	{{"HSET", "k", "a", "1"}, {"RL.ALLOW", "l", "1", "1s"}},
	{
		{"RL.RESERVE", "h", "9", "1m", "3", "HOLD", "1s", "ID", "a"},
		{"RL.ACQUIRE", "s", "1", "LEASE", "1s", "ID", "a"},
	},
}

// dump returns every key as a user can see it.
func (b *bench) dump() string {
	var lines []string
	for n := range b.ctx.DB.All(b.ctx.NowMs) {
		key := n.Key()
		line := fmt.Sprintf("%q", key)
		for _, ask := range [][]string{
			{"TYPE", key},
			{"PEXPIRETIME", key},
			{"OBJECT", "ENCODING", key},
			{"GET", key},
			{"ZRANGE", key, "0", "-1", "WITHSCORES"},
			{"HGETALL", key},
		} {
			line += fmt.Sprintf(" %q", b.wire(ask...))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// codeWord is the first word of an error, which clients match.
var codeWord = regexp.MustCompile(`^[A-Z]+ .`)

// fuzzCall runs one call on a state and checks the properties of all calls.
func fuzzCall(
	t *testing.T, state uint8, proto bool, words []string,
) (b *bench, reply resp.Value, changed bool) {
	b = newBench()
	for _, setup := range states[int(state)%len(states)] {
		require.False(t, b.call(setup...).IsError(), setup)
	}
	if proto {
		b.ctx.Proto = resp.RESP3
	}
	before := b.dump()
	b.ctx.Reset()
	reply = b.call(words...)
	if reply.IsError() {
		require.Regexp(t, codeWord, reply.Str(), "%q", words)
	} else {
		require.NotEqual(t, resp.KindNone, reply.Kind(), "%q", words)
	}
	encoded := string(resp.Append(nil, &reply, b.ctx.Proto))
	require.True(t, strings.HasSuffix(encoded, "\r\n"), "%q", words)
	changed = b.dump() != before
	if cmd := b.table.Lookup([]byte(words[0])); cmd != nil && cmd.ArityOK(len(words)) &&
		!cmd.Writes(argsOf(words)) {
		require.False(t, changed, "%q only reads and changed something", words)
	}
	if reply.IsError() {
		require.False(t, changed, "%q was refused by %q and changed something", words, reply.Str())
	}
	return b, reply, changed
}

// split splits a fuzzed line into arguments at single spaces, so two spaces make an empty
// argument.
func split(line string) []string { return strings.Split(line, " ") }

// is compares a word with one in lower case; only ASCII is folded, as in commands.
func is(arg, word string) bool { return commands.EqualFold([]byte(arg), word) }

// fuzzGrammar has the forms of the commands that are fuzzed, on keys that states has.
var fuzzGrammar = func() *grammar.Grammar[*rand.Rand] {
	g, err := grammar.Load(grammar.Options[*rand.Rand]{
		Families: []string{"zset", "hash", "set", "string", "keys", "rl"},
		Funcs: map[string]grammar.Func[*rand.Rand]{
			"one": func(*rand.Rand, []string) string { return "k" },
		},
	})
	if err != nil {
		panic(err)
	}
	return g
}()

// seed adds every line with every state to the corpus.
func seed(f *testing.F, lines ...string) {
	for i, line := range lines {
		for state := range states {
			f.Add(uint8(state), (i+state)%2 == 0, line)
		}
	}
}

// seedForms adds the edge cases of a command, and some of its forms, without the command and its key.
func seedForms(f *testing.F, command string, edges ...string) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, name := range edges {
		for _, words := range fuzzGrammar.Each(r, name) {
			seed(f, strings.Join(words, " "))
		}
	}
	for _, words := range formsOf(r, command) {
		if words[1] == "k" {
			seed(f, strings.Join(words[2:], " "))
		}
	}
}

// formsOf returns some calls of a command. No argument has a blank, at which lines are split.
func formsOf(r *rand.Rand, command string) (calls [][]string) {
	const most = 12
	for range 20_000 {
		for _, family := range slices.Sorted(maps.Keys(fuzzGrammar.Families)) {
			words := fuzzGrammar.Command(r, family)
			if strings.EqualFold(words[0], command) && len(words) > 1 && len(calls) < most &&
				!strings.Contains(strings.Join(words, ""), " ") {
				calls = append(calls, words)
			}
		}
		if len(calls) == most {
			return calls
		}
	}
	panic("no forms of " + command)
}

func FuzzZAddGrammar(f *testing.F) {
	seedForms(f, "ZADD", "zaddEdges")
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		words := append([]string{"ZADD", "k"}, split(line)...)
		b, reply, changed := fuzzCall(t, state, proto, words)
		if reply.Kind() == resp.KindNull {
			require.False(t, changed, "%q answered null", words)
		}
		if !changed || reply.IsError() {
			return
		}
		before := newBench()
		for _, setup := range states[int(state)%len(states)] {
			before.call(setup...)
		}
		held, holds := before.call("ZCARD", "k"), b.call("ZCARD", "k")
		for _, option := range words[2:] {
			if is(option, "xx") {
				require.Equal(t, held.Int(), holds.Int(), "%q added", words)
			} else if is(option, "nx") {
				require.Greater(t, holds.Int(), held.Int(), "%q added nothing and changed something", words)
			} else if !slices.ContainsFunc([]string{"gt", "lt", "ch", "incr"},
				func(w string) bool { return is(option, w) }) {
				break // a score: the options are over
			}
		}
		require.Equal(t, "+zset\r\n", b.wire("TYPE", "k"))
		// The same again finds everything as it wants it, unless it counts upwards.
		if slices.ContainsFunc(words, func(w string) bool { return is(w, "incr") }) {
			return
		}
		once := b.dump()
		again := b.call(words...)
		require.False(t, again.IsError(), "%q", words)
		if len(words) <= 4 || !repeats(words) {
			require.Equal(t, once, b.dump(), "%q twice", words)
		}
	})
}

// repeats reports whether a word occurs twice: then a member may, with two scores.
func repeats(words []string) bool {
	sorted := slices.Sorted(slices.Values(words))
	return len(slices.Compact(sorted)) != len(words)
}

func FuzzZRangeGrammar(f *testing.F) {
	seedForms(f, "ZRANGE", "zrangeEdges", "zrangeByLexEdges")
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		rest := split(line)
		b, reply, changed := fuzzCall(t, state, proto, append([]string{"ZRANGE", "k"}, rest...))
		require.False(t, changed, "%q changed something", line)
		if reply.IsError() {
			return
		}
		require.Equal(t, resp.KindArray, reply.Kind())
		scores := slices.ContainsFunc(rest, func(w string) bool { return is(w, "withscores") })
		n := len(reply.Elems())
		if scores && !proto {
			require.Zero(t, n%2)
			n /= 2
		}
		card := b.call("ZCARD", "k")
		require.LessOrEqual(t, int64(n), card.Int())
	})
}

func FuzzSetGrammar(f *testing.F) {
	seedForms(f, "SET", "setEdges")
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		words := append([]string{"SET", "k"}, split(line)...)
		b, reply, _ := fuzzCall(t, state, proto, words)
		if reply.Kind() == resp.KindStatus {
			// Set: then it holds the value, unless its deadline has passed.
			if alive := b.call("EXISTS", "k"); alive.Int() == 1 {
				require.Equal(t, fmt.Sprintf("$%d\r\n%s\r\n", len(words[2]), words[2]), b.wire("GET", "k"),
					"%q", words)
			}
		}
	})
}

func FuzzExpireGrammar(f *testing.F) {
	seedForms(f, "EXPIRE", "expireEdges")
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		rest := split(line)
		for command, unitMs := range map[string]int64{
			"EXPIRE": 1000, "PEXPIRE": 1, "EXPIREAT": -1000,
			"PEXPIREAT": -1,
		} {
			words := append([]string{command, "k"}, rest...)
			b, reply, changed := fuzzCall(t, state, proto, words)
			if reply.IsError() {
				continue
			}
			require.Equal(t, resp.KindInteger, reply.Kind())
			if reply.Int() == 0 {
				require.False(t, changed, "%q answered 0", words)
				continue
			}
			// What it should have become, in numbers that cannot overflow.
			at, ok := new(big.Int).SetString(rest[0], 10)
			require.True(t, ok, "%q", words)
			if unitMs < 0 {
				at.Mul(at, big.NewInt(-unitMs))
			} else {
				at.Mul(at, big.NewInt(unitMs)).Add(at, big.NewInt(fuzzNowMs))
			}
			if at.Cmp(big.NewInt(fuzzNowMs)) <= 0 {
				require.Equal(t, ":0\r\n", b.wire("EXISTS", "k"), "%q", words)
			} else {
				require.Equal(t, ":"+at.String()+"\r\n", b.wire("PEXPIRETIME", "k"), "%q", words)
			}
		}
	})
}

// TestFuzzDumpSees checks that dump shows every kind of change that the checks rely on.
func TestFuzzDumpSees(t *testing.T) {
	for _, change := range [][]string{
		{"SET", "new", "v"},
		{"DEL", "k"},
		{"PEXPIRE", "k", "51"},
		{"PERSIST", "k"},
		{"ZADD", "k", "3", "1"},
		{"ZADD", "k", "1", "x"},
		{"RENAME", "k", "j"},
		{"SET", "k", "v"},
		{"ZADD", "k", "1", strings.Repeat("x", 65)},
	} {
		b := newBench()
		for _, setup := range states[4] {
			b.call(setup...)
		}
		before := b.dump()
		require.Equal(t, before, b.dump())
		require.False(t, b.call(change...).IsError(), change)
		require.NotEqual(t, before, b.dump(), "%q", change)
	}
}
