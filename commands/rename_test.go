package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
)

func TestRename(t *testing.T) {
	for _, row := range []struct {
		name    string
		renames []string // FROM>TO
		calls   string   // NAME=own name of the command, or - if there is none
		err     error    // of the last rename
	}{
		{"another name", []string{"GET>fetch"}, "get=- FETCH=get fetch=get set=set", nil},
		{"no name", []string{"get>"}, "get=- set=set", nil},
		{"its own name", []string{"get>GET"}, "get=get", nil},
		{"twice", []string{"get>a", "a>b"}, "get=- a=- b=get", nil},
		{"by its old name", []string{"get>a", "get>b"}, "a=get b=-", commands.ErrNoSuchRename},
		{"removed before", []string{"get>", "get>b"}, "get=- b=-", commands.ErrNoSuchRename},
		{"a swap", []string{"get>a", "set>get", "a>set"}, "get=set set=get a=-", nil},
		{"unknown", []string{"nosuch>a"}, "a=-", commands.ErrNoSuchRename},
		{"empty", []string{">a"}, "a=-", commands.ErrNoSuchRename},
		{"removed, and empty", []string{"get>", ">a"}, "a=-", commands.ErrNoSuchRename},
		{"in use", []string{"get>set"}, "get=get set=set", commands.ErrRenameTarget},
		{"a subcommand", []string{"object|help>a"}, "a=-", commands.ErrNoSuchRename},
		{
			"many",
			[]string{"get>a", "set>b", "del>c", "rl.allow>"},
			"a=get b=set c=del rl.allow=- object=object",
			nil,
		},
		{"any bytes", []string{"get>a \x00b"}, "get=-", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			table := commands.NewTable(commands.Strings, commands.Keys, rl.Commands)
			all := len(table.All())
			var err error
			for _, r := range row.renames {
				from, to, _ := strings.Cut(r, ">")
				err = table.Rename(from, to)
			}
			require.ErrorIs(t, err, row.err)
			for call := range strings.FieldsSeq(row.calls) {
				name, own, _ := strings.Cut(call, "=")
				c := table.Lookup([]byte(name))
				if own == "-" {
					require.Nil(t, c, name)
					continue
				}
				require.NotNil(t, c, name)
				require.Equal(t, own, c.FullName())
			}
			// By their own names all are there.
			for _, name := range []string{"get", "SET", "del", "rl.allow"} {
				c, refusal := table.ResolveOwn([][]byte{[]byte(name), {}, {}, {}, {}, {}, {}})
				if c == nil {
					require.Contains(t, refusal.Str(), "wrong number")
				}
				require.Equal(t, strings.ToLower(name), table.Own([]byte(name)).FullName())
			}
			require.Nil(t, table.Own([]byte("fetch")))
			require.LessOrEqual(t, len(table.All()), all)
		})
	}
}
