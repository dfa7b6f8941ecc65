package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// eachRow runs f as a subtest for every command and subcommand.
func eachRow(t *testing.T, table *Table, f func(t *testing.T, c *Command)) {
	t.Helper()
	for _, c := range table.All() {
		t.Run(c.FullName(), func(t *testing.T) { f(t, c) })
		for i := range c.Subs {
			t.Run(c.Subs[i].FullName(), func(t *testing.T) { f(t, &c.Subs[i]) })
		}
	}
}

// TestTableIsValid tests the invariants of rows that other code relies on.
func TestTableIsValid(t *testing.T) { CheckRows(t, testTable()) }

// CheckRows runs a subtest for every row of a table, which fails if the row has faults.
func CheckRows(t *testing.T, table *Table) {
	eachRow(t, table, func(t *testing.T, c *Command) {
		require.Empty(t, faults(c))
	})
}

// faults lists what is wrong with a row.
func faults(c *Command) (wrong []string) {
	check := func(ok bool, what string) {
		if !ok {
			wrong = append(wrong, what)
		}
	}
	check(c.Name != "" && c.Name == strings.ToLower(c.Name), "name is not in lower case")
	check(!strings.ContainsAny(c.Name, "| \r\n"), "name holds a separator")
	check(c.Summary != "" && strings.HasSuffix(c.Summary, ".") && !strings.ContainsAny(c.Summary, "\r\n"),
		"summary is not a sentence")
	check(c.Since != "" && c.Group != "", "since or group is missing")
	unstated := []string{"lolwut", "psync", "sync"} // Redis states none for these
	check(c.Complexity != "" || slices.Contains(unstated, c.Name), "complexity is missing")
	check(c.Arity != 0 && c.Arity != -1 || c.Arity == -1 && c.parent == nil,
		"arity allows a call without the name")
	check(c.Handler != nil || len(c.Subs) > 0, "neither a handler nor subcommands")
	check(c.parent == nil || c.Subs == nil, "a subcommand has subcommands")
	check(c.parent == nil || c.Arity >= 2 || c.Arity <= -2, "arity leaves no room for the subcommand")
	check(!slices.Contains(c.Categories, "") && !strings.Contains(strings.Join(c.Categories, ""), "@"),
		"categories contain @ or an empty name")

	seen := map[string]bool{}
	for i := range c.Subs {
		check(!seen[c.Subs[i].Name], "two subcommands have the same name")
		seen[c.Subs[i].Name] = true
	}

	dataGroups := []string{"bitmap", "string", "sorted-set", "generic", "rate-limit", "set", "list"}
	without := []string{"help", "rl.help", "wait", "waitaof"} // keys
	data := slices.Contains(dataGroups, c.Group) && !c.Is(Admin)
	if data && c.Handler != nil && !slices.Contains(without, c.Name) {
		check(c.Is(Write) != c.Is(ReadOnly), "neither or both of write and readonly")
		check(len(c.Keys) > 0 || c.Is(AllShards), "neither keys nor all shards")
	}
	check(!c.Is(Write|ReadOnly), "both write and readonly")
	check(!c.Is(DenyOOM) || c.Is(Write), "denyoom without write")
	for i := range c.Keys {
		for _, w := range keySpecFaults(c, &c.Keys[i]) {
			check(false, w)
		}
	}
	return wrong
}

// keySpecFaults lists what is wrong with a key specification: keys beyond the
// arguments that the arity guarantees, or invalid flags.
func keySpecFaults(c *Command, k *KeySpec) (wrong []string) {
	if k.Flags == NotKey { // a shard channel, which locks nothing
		return nil
	}
	least := max(c.Arity, -c.Arity)
	if k.Find != nil { // its result is within the arguments, see TestSortShards
		k = &KeySpec{Flags: k.Flags, FlagsIn: k.FlagsIn, First: 1, Step: 1}
	}
	if k.First < 1 || k.First >= least || c.parent != nil && k.First < 2 {
		wrong = append(wrong, "the first key is not within the arity")
	}
	if k.Step < 1 {
		wrong = append(wrong, "the keys' step is not positive")
	}
	if k.Last > 0 && k.First+k.Last >= least {
		wrong = append(wrong, "the last key is not within the arity")
	}
	flags := strings.Fields(k.Flags)
	access := []string{"RO", "RW", "OW", "RM"}
	if len(flags) == 0 || !slices.Contains(access, flags[0]) {
		wrong = append(wrong, "the keys' flags do not begin with RO, RW, OW or RM")
	} else {
		// A writing command may only read some of its keys, but not all.
		notReadOnly := func(k KeySpec) bool { return !strings.HasPrefix(k.Flags, "RO") }
		writes := slices.ContainsFunc(c.Keys, notReadOnly)
		if writes != c.Is(Write) && !c.ACLCategories().Has(CategorySetOf("scripting")) {
			wrong = append(wrong, "the keys' flags and the command's disagree on writing")
		}
		for _, f := range flags[1:] {
			if !slices.Contains([]string{"access", "update", "insert", "delete", "variable_flags"}, f) {
				wrong = append(wrong, "unknown flag of keys: "+f)
			}
		}
	}
	if strings.HasSuffix(k.Flags, " variable_flags") != (k.FlagsIn != nil) {
		wrong = append(wrong, "the keys' flags have variable_flags, or FlagsIn is set, but not both")
	}
	return wrong
}

func TestFaultsAreFound(t *testing.T) {
	good := func() Command {
		return Command{
			Name: "x", Arity: 3, Flags: Write, Keys: []KeySpec{key(1, "RW update")},
			Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Does.",
			Handler: get,
		}
	}
	c := good()
	require.Empty(t, faults(&c))
	for what, spoil := range map[string]func(c *Command){
		"upper case":          func(c *Command) { c.Name = "X" },
		"separator":           func(c *Command) { c.Name = "x|y" },
		"no summary":          func(c *Command) { c.Summary = "" },
		"no since":            func(c *Command) { c.Since = "" },
		"no complexity":       func(c *Command) { c.Complexity = "" },
		"no arity":            func(c *Command) { c.Arity = 0 },
		"nothing to run":      func(c *Command) { c.Handler = nil },
		"both ways":           func(c *Command) { c.Flags |= ReadOnly },
		"neither way":         func(c *Command) { c.Flags = 0 },
		"denyoom":             func(c *Command) { c.Flags = ReadOnly | DenyOOM },
		"category":            func(c *Command) { c.Categories = []string{"@string"} },
		"no keys":             func(c *Command) { c.Keys = nil },
		"key is the name":     func(c *Command) { c.Keys[0].First = 0 },
		"key behind the end":  func(c *Command) { c.Keys[0].First = 3 },
		"keys behind the end": func(c *Command) { c.Keys[0].Last = 2 },
		"no step":             func(c *Command) { c.Keys[0].Step = 0 },
		"no key flags":        func(c *Command) { c.Keys[0].Flags = "" },
		"odd key flags":       func(c *Command) { c.Keys[0].Flags = "RW wipe" },
		"reading key":         func(c *Command) { c.Keys[0].Flags = "RO access" },
		"twins":               func(c *Command) { c.Subs = []Command{{Name: "a"}, {Name: "a"}} },
	} {
		t.Run(what, func(t *testing.T) {
			c := good()
			spoil(&c)
			require.NotEmpty(t, faults(&c))
		})
	}
	require.PanicsWithValue(t, "commands: two rows for append", func() { NewTable(Strings, Strings) })
}

func TestIDsHaveNoGaps(t *testing.T) {
	table := testTable()
	seen := make([]bool, table.Len())
	for _, c := range table.All() {
		for _, row := range append([]*Command{c}, pointers(c.Subs)...) {
			require.False(t, seen[row.ID()], row.FullName())
			seen[row.ID()] = true
		}
	}
	require.NotContains(t, seen, false)
}

func pointers(rows []Command) []*Command {
	var out []*Command
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

func TestLookupIgnoresCase(t *testing.T) {
	table := testTable()
	require.Equal(t, "zadd", table.Lookup([]byte("zAdD")).Name)
	require.Nil(t, table.Lookup([]byte("zadd ")))
	require.Nil(t, table.Lookup(nil))
	require.Nil(t, table.Lookup([]byte(strings.Repeat("z", 1<<20))))
	require.Nil(t, table.Lookup([]byte("@ET")), "only letters have a case")
}

func TestResolve(t *testing.T) {
	table := testTable()
	cmd, refusal := table.Resolve(words("OBJECT", "Encoding", "k"))
	require.Equal(t, resp.None, refusal)
	require.Equal(t, "object|encoding", cmd.FullName())
	cmd, refusal = table.Resolve(words("object", "encoding"))
	require.Nil(t, cmd)
	require.Equal(t, "ERR wrong number of arguments for 'object|encoding' command", refusal.Str())
}

// testTable is the table of this package's own groups; other packages add theirs.
func testTable() *Table {
	return NewTable(
		Strings, Keys, Dumps, Expiry, Modules, Databases(func() {}, func() int64 { return 0 }),
		SortedSets, Hashes, SortedSetCombinations, Sets, Lists,
		Bitmaps,
	)
}
