package introspection

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// An absence says why commands of Redis are not in the table. The first one that
// matches a command counts.
type absence struct {
	names string // of commands, with * for any part, or "@" and a group of Redis'
	title string
	why   string
}

// absences are the reasons in docs/absent.md. A test fails if one matches no command.
var absences = []absence{
	{
		"@stream", "Streams",
		"Not planned: zlimit keeps what limiters need; a log of events is another kind of store.",
	},
	{"@geo", "Geo", "Not planned."},
	{
		"@hyperloglog", "HyperLogLog",
		"Not planned: a limiter counts exactly. PFDEBUG and PFSELFTEST go with it.",
	},
	{"module*", "Modules", "Not planned: nothing is loaded into the process."},
	{
		"migrate",
		"Not yet", "DUMP here and RESTORE there do the same in two steps.",
	},
}

// A RedisCommand is a command that Redis has: "client|list", of group connection.
type RedisCommand struct{ Name, Group string }

func (a *absence) covers(c RedisCommand) bool {
	if group, ok := strings.CutPrefix(a.names, "@"); ok {
		return group == c.Group
	}
	return slices.ContainsFunc(strings.Fields(a.names), func(pattern string) bool {
		ok, _ := path.Match(pattern, c.Name)
		return ok
	})
}

// AbsentMarkdown returns the page of the commands that Redis has and the table lacks.
// unused are the titles of absences that match none of them.
func AbsentMarkdown(t *commands.Table, redis []RedisCommand) (page string, unused []string) {
	rows := append(slices.Clone(absences), absence{"*", "Unexplained", "Say in absent.go why."})
	names := make([][]string, len(rows))
	for _, c := range redis {
		if t.Find([]byte(c.Name)) != nil {
			continue
		}
		i := slices.IndexFunc(rows, func(a absence) bool { return a.covers(c) })
		names[i] = append(names[i], c.Name)
	}
	var b strings.Builder
	b.WriteString("| | Commands | |\n|---|---|---|\n")
	for i, a := range rows {
		if len(names[i]) == 0 && i == len(absences) {
			continue
		}
		if len(names[i]) == 0 {
			unused = append(unused, a.title)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.title, shortly(names[i]), a.why)
	}
	return b.String(), unused
}

// shortly lists commands as manuals write them. Subcommands are listed only if their
// command is in the table.
func shortly(names []string) string {
	slices.Sort(names)
	var out []string
	for _, name := range names {
		parent, _, isSub := strings.Cut(name, "|")
		if isSub && slices.Contains(names, parent) {
			continue
		}
		out = append(out, "`"+strings.ToUpper(strings.ReplaceAll(name, "|", " "))+"`")
	}
	return strings.Join(out, ", ")
}
