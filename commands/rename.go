package commands

import (
	"errors"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// Redis' texts for rename-command.
//
//nolint:staticcheck // Redis' texts
var (
	ErrNoSuchRename = errors.New("No such command in rename-command")
	ErrRenameTarget = errors.New("Target command name already exists")
)

// Rename makes clients and scripts call a command by another name, or by none if to
// is empty. It must be called before the table is used. As in Redis, from is the
// name by which clients call the command now, all replies about it have its own
// name, and permissions and the log go by that, too. Subcommands cannot be renamed.
func (t *Table) Rename(from, to string) error {
	c := t.Lookup([]byte(from))
	if c == nil || from == "" {
		return ErrNoSuchRename
	}
	called := strings.ToLower(to)
	if other := t.Lookup([]byte(to)); other != nil && other != c {
		return ErrRenameTarget
	}
	t.renamed = true
	c.Called, c.renamed = called, called != c.Name
	for i := range c.Subs {
		c.Subs[i].renamed = c.renamed
	}
	if called == "" {
		t.sorted = slices.DeleteFunc(slices.Clone(t.sorted), func(row *Command) bool { return row == c })
	}
	clear(t.slots)
	for _, row := range t.sorted {
		t.insert(row)
	}
	return nil
}

// Own returns the command whose own name is called name, ignoring case, whatever
// clients call it, or nil. Permissions and the log go by own names.
func (t *Table) Own(name []byte) *Command {
	if !t.renamed {
		return t.Lookup(name)
	}
	own := strings.ToLower(string(name))
	i, ok := slices.BinarySearchFunc(t.declared, own, func(c *Command, own string) int {
		return strings.Compare(c.Name, own)
	})
	if !ok {
		return nil
	}
	return t.declared[i]
}

// ownCall returns a call of the command under its own name, for the log.
func (c *Command) ownCall(args [][]byte) [][]byte {
	if !c.renamed {
		return args
	}
	own, _, _ := strings.Cut(c.FullName(), "|")
	return append([][]byte{[]byte(own)}, args[1:]...)
}

// ResolveOwn is like Resolve for a command with its own name, such as one of a log.
func (t *Table) ResolveOwn(args [][]byte) (*Command, resp.Value) {
	return resolve(t.Own(args[0]), args)
}
