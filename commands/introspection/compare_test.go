package introspection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// has reports whether the table has the row. Rows of other packages are compared in
// server_test.go.
func has(t *commands.Table, fullName string) bool { return t.Find([]byte(fullName)) != nil }

// knownNames are the full names of all recorded commands.
func knownNames(exchanges []exchange) map[string]bool {
	known := make(map[string]bool)
	for _, e := range exchanges {
		if !e.isAbout("info") {
			continue
		}
		for _, entry := range e.reply.Elems() {
			if entry.Kind() != resp.KindArray {
				continue
			}
			known[entry.Elems()[0].Str()] = true
			for _, sub := range entry.Elems()[9].Elems() {
				known[sub.Elems()[0].Str()] = true
			}
		}
	}
	return known
}

// isCommand reports whether COMMAND INFO or DOCS was asked for a command of Redis, not for a subcommand.
func isCommand(e *exchange, known map[string]bool) bool {
	name := string(e.args[2])
	return known[name] && !strings.Contains(name, "|")
}

// eachRecorded calls f with every recorded COMMAND INFO or DOCS of a command that the
// table has, and with a filter for the subcommands that both have. It returns the number
// of calls.
func eachRecorded(
	t *testing.T, table *commands.Table, sub string,
	f func(t *testing.T, e *exchange, both func(string) bool),
) int {
	t.Helper()
	exchanges := recorded(t)
	known := knownNames(exchanges)
	both := func(fullName string) bool { return known[fullName] && has(table, fullName) }
	compared := 0
	for _, e := range exchanges {
		if !e.isAbout(sub) || !isCommand(&e, known) || !has(table, string(e.args[2])) {
			continue
		}
		compared++
		t.Run(e.String(), func(t *testing.T) { f(t, &e, both) })
	}
	return compared
}

// CompareInfo compares COMMAND INFO of every row of a table with Redis'. It returns the
// number of compared answers.
func CompareInfo(t *testing.T, table *commands.Table) (compared int) {
	t.Helper()
	return eachRecorded(t, table, "info", func(t *testing.T, e *exchange, both func(string) bool) {
		theirs, ours := bothInfos(t, table, e, both)
		require.Equal(t, theirs, ours)
	})
}

func bothInfos(
	t *testing.T, table *commands.Table, e *exchange, both func(string) bool,
) (theirs, ours []string) {
	t.Helper()
	shown := func(reply resp.Value) []string {
		return wire(mapElems(reply, func(entry resp.Value) resp.Value { return infoWithSubs(entry, both) }),
			e.proto)
	}
	return shown(e.reply), shown(mapElems(decoded(t, e.askOurs(table), e.proto), maskInfo))
}

// docsDeviations maps the full names of rows whose arguments differ from Redis' in
// COMMAND DOCS to the reason. All are parsed from the syntax, which has less detail.
var docsDeviations = map[string]string{
	"client|kill": "the notation cannot say that new-format is the name of the second form, " +
		"and what is optional inside it",
	"client|list":             "Redis makes the ids behind ID a block of one",
	"command|getkeys":         "Redis 7.0 does not describe the arguments",
	"command|getkeysandflags": "Redis 7.0 does not describe the arguments",
	"config|get":              "Redis makes the parameters a block of one",
	"failover":                "Redis calls the block of TO \"target\", with FORCE in it",
	"hello":                   "Redis calls the block of everything \"arguments\", we by what is in it",
	"hrandfield": "Redis calls the block of count and WITHVALUES \"options\", we by what is " +
		"in it",
	"psync":      "Redis 7.0 does not describe FAILOVER",
	"replconf":   "Redis 7.0 does not describe the arguments",
	"psubscribe": "Redis makes the patterns a block of one",
	"replicaof":  "Redis names the blocks differently",
	"slaveof":    "Redis names the blocks differently",
	"zrandmember": "Redis calls the block of count and WITHSCORES \"options\", we by what is " +
		"in it",
}

// CompareDocs compares COMMAND DOCS of every row of a table with Redis', without
// sentences. It returns the number of compared answers.
func CompareDocs(t *testing.T, table *commands.Table) (compared int) {
	t.Helper()
	return eachRecorded(t, table, "docs", func(t *testing.T, e *exchange, both func(string) bool) {
		theirs := docsWithSubs(e.reply, both)
		ours := docsWithSubs(maskDocs(decoded(t, e.askOurs(table), e.proto)), both)
		for deviating := range docsDeviations {
			if name := string(e.args[2]); deviating == name || strings.HasPrefix(deviating, name+"|") {
				require.NotEqual(t, wire(theirs, e.proto), wire(ours, e.proto), "%s deviates no more",
					deviating)
			}
			theirs, ours = dropArguments(theirs, deviating), dropArguments(ours, deviating)
		}
		require.Equal(t, wire(theirs, e.proto), wire(ours, e.proto))
	})
}

// CompareNames checks that rows which Redis 7.0 does not have say so.
func CompareNames(t *testing.T, table *commands.Table) {
	t.Helper()
	known := knownNames(recorded(t))
	stated := func(c, container *commands.Command) {
		require.True(t, known[c.FullName()] || c.Deviation != "" || container.Deviation != "",
			"%s is not in Redis 7.0, and has no deviation", c.FullName())
	}
	for _, c := range table.All() {
		stated(c, c)
		for i := range c.Subs {
			stated(&c.Subs[i], c)
		}
	}
}

// CompareTranscript replays the recorded commands that are not compared row by row.
func CompareTranscript(t *testing.T, table *commands.Table) {
	t.Helper()
	exchanges := recorded(t)
	known := knownNames(exchanges)
	for _, e := range exchanges {
		if (e.isAbout("info") || e.isAbout("docs")) && isCommand(&e, known) {
			continue
		}
		t.Run(e.String(), func(t *testing.T) {
			ours := exchange{args: e.args, reply: decoded(t, e.askOurs(table), e.proto)}
			require.Equal(t, wire(e.reply, e.proto), wire(masked(&ours), e.proto))
		})
	}
}
