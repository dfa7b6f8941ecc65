package acl

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// Commands are the commands that rules can name: those of a command table and those
// that only Redis has. They are numbered. One more number stands for commands that do
// not exist yet: it tells +@all from a list of all commands.
type Commands struct {
	all    []*command // by number; subcommands follow their containers' present ones
	byName map[string]*command
	byID   []*command // those of the table, by commands.Command.ID
}

// A command is one that rules can name.
type command struct {
	name       string // lower case: "get", "config|get"
	number     int
	categories commands.CategorySet
	redis      bool // Redis 7.0 has it
	present    bool // the table has it
	container  *command
	subs       []*command
}

// debugCommand is a container in the table, but not in Redis. There its subcommands are
// words, which a rule names as first arguments.
const debugCommand = "debug"

// NewCommands returns the commands of a table and those that only Redis has. As in
// Redis, rules go by the commands' own names, and can name removed ones: see
// commands.Table.Rename.
func NewCommands(table *commands.Table) *Commands {
	cs := &Commands{byName: make(map[string]*command, 2*table.Len()), byID: make([]*command, table.Len())}
	for _, row := range table.Declared() {
		c := cs.addRow(row)
		for i := range row.Subs {
			if sub := &row.Subs[i]; row.Name == debugCommand {
				cs.byID[sub.ID()] = c
			} else {
				cs.addRow(sub)
			}
		}
	}
	for _, group := range absent {
		categories := commands.CategorySetOf(strings.Fields(group.categories)...)
		for name := range strings.FieldsSeq(group.names) {
			if container, _, _ := strings.Cut(name, "|"); container != name && cs.byName[container] == nil {
				continue
			}
			c := cs.add(name)
			c.redis, c.categories = true, categories
		}
	}
	return cs
}

func (cs *Commands) addRow(row *commands.Command) *command {
	c := cs.add(row.FullName())
	c.redis, c.present, c.categories = row.InRedis(), true, row.ACLCategories()
	cs.byID[row.ID()] = c
	return c
}

// add adds a command, whose container has been added before it.
func (cs *Commands) add(name string) *command {
	c := &command{name: name, number: len(cs.all)}
	if container, _, isSub := strings.Cut(name, "|"); isSub {
		c.container = cs.byName[container]
		c.container.subs = append(c.container.subs, c)
	}
	cs.all = append(cs.all, c)
	cs.byName[name] = c
	return c
}

// future is the number of the commands that do not exist yet.
func (cs *Commands) future() int { return len(cs.all) }

// newBits returns an empty set of commands.
func (cs *Commands) newBits() bits { return make(bits, cs.future()>>6+1) }

// lookup returns the command called name, ignoring case, or nil.
func (cs *Commands) lookup(name string) *command { return cs.byName[asciiLower(name)] }

// InCategory returns the names of the table's commands that are in a category, sorted.
func (cs *Commands) InCategory(category string) (names []string) {
	set := commands.CategorySetOf(category)
	for _, c := range cs.all {
		if c.present && c.categories.Has(set) {
			names = append(names, c.name)
		}
	}
	return names
}

// asciiLower returns s with the letters A to Z in lower case.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
