package introspection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/cluster"
	"github.com/zlimit/zlimit/resp"
)

// testTable is the table of the groups of packages commands and introspection, and of more.
func testTable(more ...[]commands.Command) *commands.Table {
	var t *commands.Table
	t = commands.NewTable(append([][]commands.Command{
		commands.Strings, commands.Keys, commands.Dumps, commands.Expiry, commands.Modules,
		commands.Databases(func() {}, func() int64 { return 0 }),
		commands.SortedSets, commands.Hashes, commands.SortedSetCombinations, commands.Sets, commands.Lists,
		cluster.Commands(nil), commands.Bitmaps,
		Commands(func() *commands.Table { return t }),
	}, more...)...)
	return t
}

// ask runs a call without a keyspace, so only commands that use none can be called.
func ask(t *commands.Table, proto int, args ...string) resp.Value {
	return t.Call(newCtx(proto), words(args...))
}

func newCtx(proto int) *commands.Ctx {
	return &commands.Ctx{Scope: commands.Scope{Settings: new(commands.Settings)}, Proto: proto}
}

func (e *exchange) askOurs(t *commands.Table) resp.Value {
	return t.Call(newCtx(e.proto), e.args)
}

func TestRowsAgainstRedis(t *testing.T) {
	table := testTable()
	require.Greater(t, CompareInfo(t, table), 100)
	require.Greater(t, CompareDocs(t, table), 100)
	CompareNames(t, table)
}

func TestIntrospectionTranscript(t *testing.T) {
	// Stands in for the row of package scripting.
	eval := commands.Command{
		Name: "eval", Arity: -3, Flags: commands.NoMandatoryKeys,
		Keys: []commands.KeySpec{commands.CountedKeys(2, "RW access update")},
	}
	CompareTranscript(t, testTable([]commands.Command{eval}))
}

// TestClusterKeySlotAgainstRedis asks for the slots that a redis-server in a
// cluster answered.
func TestClusterKeySlotAgainstRedis(t *testing.T) {
	table := testTable()
	asked := 0
	for _, e := range recorded(t) {
		if e.server != "cluster" {
			continue
		}
		asked++
		t.Run(e.String(), func(t *testing.T) {
			require.Equal(t, wire(e.reply, e.proto), wire(e.askOurs(table), e.proto))
		})
	}
	require.Greater(t, asked, 20)
}

// TestComparatorFails checks that the comparisons find differences.
func TestComparatorFails(t *testing.T) {
	table := testTable()
	var get exchange
	for _, e := range recorded(t) {
		if e.isAbout("info") && string(e.args[2]) == "get" && e.proto == resp.RESP3 {
			get = e
		}
	}
	all := func(string) bool { return true }
	theirs, ours := bothInfos(t, table, &get, all)
	require.Equal(t, theirs, ours)
	for what, spoil := range map[string]func(*commands.Command){
		"arity":    func(c *commands.Command) { c.Arity = -2 },
		"flag":     func(c *commands.Command) { c.Flags |= commands.Stale },
		"category": func(c *commands.Command) { c.Categories = []string{"dangerous"} },
		"tip":      func(c *commands.Command) { c.Tips = []string{"nondeterministic_output"} },
		"key spec": func(c *commands.Command) { c.Keys = []commands.KeySpec{key(1, "RO")} },
		"notes": func(c *commands.Command) {
			c.Keys = []commands.KeySpec{{
				Flags: "RO access", First: 1, Step: 1,
				Notes: "x",
			}}
		},
		"subcommand": func(c *commands.Command) {
			c.Subs = []commands.Command{commands.Help("string", "1.0.0")}
		},
	} {
		t.Run(what, func(t *testing.T) {
			row := *table.Find([]byte("get"))
			spoil(&row)
			spoiled := commands.NewTable([]commands.Command{row},
				Commands(func() *commands.Table { return commands.NewTable([]commands.Command{row}) }))
			theirs, ours := bothInfos(t, spoiled, &get, all)
			require.NotEqual(t, theirs, ours)
		})
	}
	for what, spoil := range map[string]func(*commands.Command){
		"since":     func(c *commands.Command) { c.Since = "7.0.0" },
		"group":     func(c *commands.Command) { c.Group = "generic" },
		"argument":  func(c *commands.Command) { c.Syntax = "key value" },
		"name":      func(c *commands.Command) { c.Syntax = "k" },
		"type":      func(c *commands.Command) { c.Syntax = "count" },
		"optional":  func(c *commands.Command) { c.Syntax = "[key]" },
		"multiple":  func(c *commands.Command) { c.Syntax = "key [key ...]" },
		"token":     func(c *commands.Command) { c.Syntax = "KEY key" },
		"no syntax": func(c *commands.Command) { c.Syntax = "" },
	} {
		t.Run("docs: "+what, func(t *testing.T) {
			row := *table.Find([]byte("get"))
			docs := func() []string {
				return wire(maskDocs(resp.Map(resp.Bulk("get"), docsOf(&row))),
					resp.RESP3)
			}
			right := docs()
			spoil(&row)
			require.NotEqual(t, right, docs())
		})
	}
	t.Run("kind", func(t *testing.T) {
		require.NotEqual(t, wire(resp.Set(resp.Status("a")), 3), wire(resp.Array(resp.Status("a")), 3))
		require.NotEqual(t, wire(resp.Bulk("a"), 2), wire(resp.Status("a"), 2))
	})
}

func TestCommandOfAllRows(t *testing.T) {
	table := testTable()
	all := ask(table, resp.RESP3, "COMMAND")
	require.Len(t, all.Elems(), len(table.All()))
	info := ask(table, resp.RESP3, "command", "info")
	require.Equal(t, string(resp.Append(nil, &all, resp.RESP3)), string(resp.Append(nil, &info, resp.RESP3)))
	require.Equal(t, int64(len(table.All())), ask(table, resp.RESP2, "command", "count").Int())

	docs := ask(table, resp.RESP3, "command", "docs")
	require.Equal(t, resp.KindMap, docs.Kind())
	require.Len(t, docs.Elems(), 2*len(table.All()))

	names := ask(table, resp.RESP3, "command", "list")
	require.Equal(t, resp.KindArray, names.Kind())
	require.Len(t, names.Elems(), table.Len())
	for _, name := range names.Elems() {
		require.True(t, has(table, name.Str()), name.Str())
	}
}

func TestCommandListByCategory(t *testing.T) {
	table := testTable()
	list := func(filter, arg string) []string {
		var out []string
		for _, name := range ask(table, resp.RESP2, "command", "list", "FilterBy", filter, arg).Elems() {
			out = append(out, name.Str())
		}
		return out
	}
	require.Contains(t, list("aclcat", "SortedSet"), "zadd")
	require.NotContains(t, list("aclcat", "sortedset"), "get")
	require.Equal(t, []string{
		"object", "object|encoding", "object|freq", "object|help", "object|idletime",
		"object|refcount",
	}, list("pattern", "obj*"))
	for _, category := range commands.Categories {
		for _, name := range list("aclcat", category) {
			require.Contains(t, table.Find([]byte(name)).ACLCategories().Names(), category)
		}
	}
}

// A row with an invalid count of keys, which must have a key specification.
func TestGetKeysWithoutMandatoryKeys(t *testing.T) {
	row := commands.Command{
		Name: "counted", Arity: -2, Keys: []commands.KeySpec{commands.CountedKeys(1, "RO access")},
	}
	table := testTable([]commands.Command{row})
	require.Equal(t, "ERR Invalid arguments specified for command",
		ask(table, 2, "command", "getkeys", "counted", "2", "a").Str())
	require.Equal(t, "ERR Invalid arguments specified for command",
		ask(table, 2, "command", "getkeysandflags", "counted", "0").Str())

	row.Flags = commands.NoMandatoryKeys
	table = testTable([]commands.Command{row})
	require.Equal(t, []string{"*0", ""}, wire(ask(table, 2, "command", "getkeys", "counted", "2", "a"), 2))
}

// Clients that find keys by COMMAND INFO would look for a count among the arguments of RL.CHECK, which has
// none.
func TestInfoOfKeysByPolicy(t *testing.T) {
	row := commands.Command{
		Name: "counted", Arity: -2, Keys: []commands.KeySpec{commands.CountedKeys(1, "RO access")},
	}
	info := func() string {
		table := testTable([]commands.Command{row})
		return strings.Join(wire(ask(table, 2, "command", "info", "counted"), 2), " ")
	}
	require.Contains(t, info(), "keynum")
	row.Flags = commands.ByPolicy
	require.NotContains(t, info(), "keynum")
	require.Contains(t, info(), "unknown")
}

// Clients of a cluster refuse a call whose keys, as COMMAND GETKEYS has them, are in several slots.
func TestGetKeysInCluster(t *testing.T) {
	elsewhere := commands.KeySpec{
		Derive: func(args [][]byte) commands.NameParts {
			return commands.NameParts{args[1], []byte(":old")}
		},
		Unslotted: true,
	}
	row := commands.Command{Name: "derives", Arity: 2, Keys: []commands.KeySpec{key(1, "RW"), elsewhere}}
	table := testTable([]commands.Command{row})
	for _, sub := range []string{"getkeys", "getkeysandflags"} {
		c := newCtx(resp.RESP2)
		alone := table.Call(c, words("command", sub, "derives", "a"))
		require.Len(t, alone.Elems(), 2, sub)
		c.Settings.Cluster = true
		inCluster := table.Call(c, words("command", sub, "derives", "a"))
		require.Len(t, inCluster.Elems(), 1, sub)
	}
}

func TestLegacyKeys(t *testing.T) {
	for _, c := range []struct {
		name              string
		specs             []commands.KeySpec
		first, last, step int
		movable           bool
	}{
		{"none", nil, 0, 0, 0, false},
		{"one", []commands.KeySpec{key(1, "")}, 1, 1, 1, false},
		{"every second", []commands.KeySpec{{First: 1, Last: -1, Step: 2}}, 1, -1, 2, false},
		{"two side by side", []commands.KeySpec{key(1, ""), key(2, "")}, 1, 2, 1, false},
		{"two apart", []commands.KeySpec{key(1, ""), key(3, "")}, 1, 1, 1, true},
		{"counted", []commands.KeySpec{commands.CountedKeys(2, "")}, 0, 0, 0, true},
		{"one, then counted", []commands.KeySpec{key(1, ""), commands.CountedKeys(2, "")}, 1, 1, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, last, step, movable := legacyKeys(c.specs)
			require.Equal(t, []any{c.first, c.last, c.step, c.movable}, []any{first, last, step, movable})
		})
	}
}
