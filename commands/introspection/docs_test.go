package introspection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// tree writes arguments in a line: name:kind, =TOKEN before a token, ? where
// optional, * where multiple, ** where its token repeats too, members in
// parentheses.
func tree(arguments []argument) string {
	var out []string
	for _, a := range arguments {
		text := a.name + ":" + a.kind
		if a.token != "" {
			text += "=" + a.token
		}
		if a.optional {
			text += "?"
		}
		if a.multiple {
			text += "*"
		}
		if a.multipleToken {
			text += "*"
		}
		if len(a.members) > 0 {
			text += "(" + tree(a.members) + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestArguments(t *testing.T) {
	for syntax, want := range map[string]string{
		"":                    "",
		"value":               "value:string",
		"key count":           "key:key count:integer",
		"[key]":               "key:key?",
		"key [key ...]":       "key:key*",
		"[key [key ...]]":     "key:key?*",
		"a b [a b ...]":       "a_b:block*(a:string b:string)",
		"x a b [a b ...]":     "x:string a_b:block*(a:string b:string)",
		"[MATCH pattern]":     "pattern:pattern=MATCH?",
		"[LIMIT a b]":         "a_b:block=LIMIT?(a:string b:string)",
		"[NX | XX]":           "condition:oneof?(nx:pure-token=NX xx:pure-token=XX)",
		"NX|XX":               "condition:oneof(nx:pure-token=NX xx:pure-token=XX)",
		"[A seconds | B]":     "seconds_b:oneof?(seconds:integer=A b:pure-token=B)",
		"[CH] [INCR] score":   "change:pure-token=CH? increment:pure-token=INCR? score:double",
		"[GET a [GET a ...]]": "a:string=GET?**",
		"[ID a [a ...]]":      "a:string=ID?*",
		"TYPE <A | B> x":      "a_b_x:block=TYPE(a_b:oneof(a:pure-token=A b:pure-token=B) x:string)",
		"<a | b> c":           "a_b:oneof(a:string b:string) c:string",
		"<[A] | [B c]> [...]": "a_c:oneof*(a:pure-token=A? c:string=B?)",
		"[a [B c] [D]]":       "a_c_d:block?(a:string c:string=B? d:pure-token=D?)",
		"[ALGO <A | B n>]":    "algorithm:oneof=ALGO?(a:pure-token=A n:integer=B)",
		"[SET a [WITH]]":      "a_with:block?(a:string=SET with:pure-token=WITH?)",
	} {
		t.Run(syntax, func(t *testing.T) {
			c := commands.Command{Syntax: syntax, Keys: []commands.KeySpec{key(1, "")}}
			require.Equal(t, want, tree(argumentsOf(&c)))
		})
	}
}

// Keys are assigned to the specifications in their order.
func TestKeySpecIndex(t *testing.T) {
	c := commands.Command{Syntax: "key newkey", Keys: []commands.KeySpec{key(1, ""), key(2, "")}}
	arguments := argumentsOf(&c)
	require.Equal(t, 0, arguments[0].keySpec)
	require.Equal(t, 1, arguments[1].keySpec)

	c.Keys = c.Keys[:1]
	require.Zero(t, argumentsOf(&c)[1].keySpec, "there is no second one")
	c.Keys = nil
	require.Equal(t, "key:string newkey:string", tree(argumentsOf(&c)))
}

// Redis 7.0 has no command to compare INCREX with.
func TestDocsOfOurOwn(t *testing.T) {
	docs := ask(testTable(), resp.RESP3, "command", "docs", "INCREX").Elems()
	require.Equal(t, "increx", docs[0].Str())
	row := testTable().Lookup([]byte("increx"))
	require.Equal(t, []string{
		"summary", row.Summary, "since", row.Since, "group", row.Group, "complexity",
		row.Complexity, "arguments", "",
	},
		textsOf(docs[1].Elems()))
}

// The documentation of a name is built once.
func TestRepeatedNames(t *testing.T) {
	const times = 10_000
	table := testTable()
	for _, sub := range []string{"info", "docs"} {
		args := words("command", sub)
		for range times {
			args = append(args, []byte("zadd"))
		}
		// The reply itself grows, in a few steps; an entry is dozens.
		require.Less(t, testing.AllocsPerRun(1, func() { table.Call(&commands.Ctx{}, args) }), 2.0*times)
	}
}

func textsOf(values []resp.Value) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.Str())
	}
	return out
}

func BenchmarkCommand(b *testing.B) {
	table := testTable()
	for _, call := range [][]string{
		{"command"},
		{"command", "info", "zadd"},
		{"command", "docs"},
		{"command", "docs", "zadd"},
	} {
		b.Run(strings.Join(call, " "), func(b *testing.B) {
			b.ReportAllocs()
			args := words(call...)
			for b.Loop() {
				table.Call(&commands.Ctx{}, args)
			}
		})
	}
}
