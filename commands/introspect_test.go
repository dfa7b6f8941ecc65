package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// testTable is the table of this package's own groups; other packages add theirs.
func testTable(more ...[]Command) *Table {
	var t *Table
	t = NewTable(append([][]Command{
		Strings, Keys, Dumps, Expiry, Modules, Databases(func() {}, func() int64 { return 0 }),
		SortedSets, Hashes, SortedSetCombinations, Sets, Lists,
		Cluster, Bitmaps,
		Introspection(func() *Table { return t }),
	}, more...)...)
	return t
}

// ask runs a call without a keyspace, so only commands that use none can be called.
func ask(t *Table, proto int, args ...string) resp.Value {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	return t.Call(&Ctx{Proto: proto}, words)
}

func (e *exchange) askOurs(t *Table) resp.Value { return t.Call(&Ctx{Proto: e.proto}, e.args) }

func TestRowsAgainstRedis(t *testing.T) {
	table := testTable()
	require.Greater(t, CompareInfo(t, table), 100)
	require.Greater(t, CompareDocs(t, table), 100)
	CompareNames(t, table)
}

func TestIntrospectionTranscript(t *testing.T) {
	// Stands in for the row of package scripting.
	eval := Command{
		Name: "eval", Arity: -3, Flags: NoMandatoryKeys, Keys: []KeySpec{CountedKeys(2, "RW access update")},
		Handler: refuseCluster,
	}
	CompareTranscript(t, testTable([]Command{eval}))
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
	for what, spoil := range map[string]func(*Command){
		"arity":    func(c *Command) { c.Arity = -2 },
		"flag":     func(c *Command) { c.Flags |= Stale },
		"category": func(c *Command) { c.Categories = []string{"dangerous"} },
		"tip":      func(c *Command) { c.Tips = []string{"nondeterministic_output"} },
		"key spec": func(c *Command) { c.Keys = []KeySpec{key(1, "RO")} },
		"notes": func(c *Command) {
			c.Keys = []KeySpec{{
				Flags: "RO access", First: 1, Step: 1,
				Notes: "x",
			}}
		},
		"subcommand": func(c *Command) { c.Subs = []Command{Help("string", "1.0.0")} },
	} {
		t.Run(what, func(t *testing.T) {
			row := *table.Find([]byte("get"))
			spoil(&row)
			spoiled := NewTable([]Command{row},
				Introspection(func() *Table { return NewTable([]Command{row}) }))
			theirs, ours := bothInfos(t, spoiled, &get, all)
			require.NotEqual(t, theirs, ours)
		})
	}
	for what, spoil := range map[string]func(*Command){
		"since":     func(c *Command) { c.Since = "7.0.0" },
		"group":     func(c *Command) { c.Group = "generic" },
		"argument":  func(c *Command) { c.Syntax = "key value" },
		"name":      func(c *Command) { c.Syntax = "k" },
		"type":      func(c *Command) { c.Syntax = "count" },
		"optional":  func(c *Command) { c.Syntax = "[key]" },
		"multiple":  func(c *Command) { c.Syntax = "key [key ...]" },
		"token":     func(c *Command) { c.Syntax = "KEY key" },
		"no syntax": func(c *Command) { c.Syntax = "" },
	} {
		t.Run("docs: "+what, func(t *testing.T) {
			row := *table.Find([]byte("get"))
			docs := func() []string {
				return wire(maskDocs(resp.Map(resp.Bulk("get"), row.docs())),
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
		require.True(t, table.has(name.Str()), name.Str())
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
	for _, category := range Categories {
		for _, name := range list("aclcat", category) {
			require.Contains(t, table.Find([]byte(name)).ACLCategories().Names(), category)
		}
	}
}

// A row with an invalid count of keys, which must have a key specification.
func TestGetKeysWithoutMandatoryKeys(t *testing.T) {
	row := Command{
		Name: "counted", Arity: -2, Keys: []KeySpec{CountedKeys(1, "RO access")},
		Handler: refuseCluster,
	}
	table := testTable([]Command{row})
	require.Equal(t, "ERR Invalid arguments specified for command",
		ask(table, 2, "command", "getkeys", "counted", "2", "a").Str())
	require.Equal(t, "ERR Invalid arguments specified for command",
		ask(table, 2, "command", "getkeysandflags", "counted", "0").Str())

	row.Flags = NoMandatoryKeys
	table = testTable([]Command{row})
	require.Equal(t, []string{"*0", ""}, wire(ask(table, 2, "command", "getkeys", "counted", "2", "a"), 2))
}

func TestLegacyKeys(t *testing.T) {
	for _, c := range []struct {
		name              string
		specs             []KeySpec
		first, last, step int
		movable           bool
	}{
		{"none", nil, 0, 0, 0, false},
		{"one", []KeySpec{key(1, "")}, 1, 1, 1, false},
		{"every second", []KeySpec{keys(2, "")}, 1, -1, 2, false},
		{"two side by side", []KeySpec{key(1, ""), key(2, "")}, 1, 2, 1, false},
		{"two apart", []KeySpec{key(1, ""), key(3, "")}, 1, 1, 1, true},
		{"counted", []KeySpec{CountedKeys(2, "")}, 0, 0, 0, true},
		{"one, then counted", []KeySpec{key(1, ""), CountedKeys(2, "")}, 1, 1, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, last, step, movable := legacyKeys(c.specs)
			require.Equal(t, []any{c.first, c.last, c.step, c.movable}, []any{first, last, step, movable})
		})
	}
}
