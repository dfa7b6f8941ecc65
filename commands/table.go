package commands

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// A Table maps names to commands. It is read-only once it is built and Rename was
// called as often as wanted.
type Table struct {
	slots    []*Command // hash table with linear probing, by nameHash
	sorted   []*Command // by name, without those that Rename has removed
	declared []*Command // by name, all
	renamed  bool       // some command
	count    int        // number of commands and subcommands
}

// NewTable returns a table of the groups' commands. It panics on duplicate names.
func NewTable(groups ...[]Command) *Table {
	rows := 0
	for _, group := range groups {
		rows += len(group)
	}
	t := &Table{slots: make([]*Command, 4<<bits.Len(uint(rows)))}
	for _, group := range groups {
		for i := range group {
			c := group[i] // a copy, so that the groups do not change
			c.Called = c.Name
			c.Subs = slices.Clone(c.Subs)
			t.assignID(&c)
			for j := range c.Subs {
				c.Subs[j].parent = &c
				if c.LooseSubs {
					c.Subs[j].id = c.id
					c.Subs[j].setEvent()
					c.Subs[j].derivePlace()
				} else {
					t.assignID(&c.Subs[j])
				}
			}
			t.insert(&c)
			t.sorted = append(t.sorted, &c)
		}
	}
	slices.SortFunc(t.sorted, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	t.declared = t.sorted
	return t
}

func (t *Table) assignID(c *Command) {
	c.id = t.count
	t.count++
	c.setEvent()
	c.derivePlace()
}

// Len returns the number of IDs of commands and subcommands.
func (t *Table) Len() int { return t.count }

// All returns the commands, sorted by name; subcommands are in their parents. The
// caller must not change the slice.
func (t *Table) All() []*Command { return t.sorted }

// Each calls fn with each command and subcommand that is counted.
func (t *Table) Each(fn func(c *Command)) {
	for _, c := range t.sorted {
		fn(c)
		for i := range c.Subs {
			if sub := &c.Subs[i]; sub.Own() == sub {
				fn(sub)
			}
		}
	}
}

// Declared returns the commands of All and those that Rename has removed, sorted by
// name. The caller must not change the slice.
func (t *Table) Declared() []*Command { return t.declared }

// nameHash returns a hash of a name that ignores case, because it sets bit 5, the
// difference between upper and lower case. Lookup compares the names.
func nameHash(name []byte) uint32 {
	h := uint32(len(name))
	for _, ch := range name {
		h = h*31 + uint32(ch|0x20)
	}
	return h
}

func (t *Table) insert(c *Command) {
	mask := uint32(len(t.slots) - 1)
	i := nameHash([]byte(c.Called)) & mask
	for ; t.slots[i] != nil; i = (i + 1) & mask {
		if t.slots[i].Called == c.Called {
			panic("commands: two rows for " + c.Name)
		}
	}
	t.slots[i] = c
}

// Lookup returns the command that clients call name, ignoring case, or nil.
func (t *Table) Lookup(name []byte) *Command {
	mask := uint32(len(t.slots) - 1)
	for i := nameHash(name) & mask; t.slots[i] != nil; i = (i + 1) & mask {
		if EqualFold(name, t.slots[i].Called) {
			return t.slots[i]
		}
	}
	return nil
}

// Find returns a command by its full name, "get" or "config|get", in any case, or nil.
func (t *Table) Find(fullName []byte) *Command {
	name, sub, isSub := bytes.Cut(fullName, []byte{'|'})
	c := t.Lookup(name)
	if c == nil || !isSub {
		return c
	}
	return c.Sub(sub)
}

// Sub returns c's subcommand called name, ignoring case, or nil.
func (c *Command) Sub(name []byte) *Command {
	for i := range c.Subs {
		if EqualFold(name, c.Subs[i].Name) {
			return &c.Subs[i]
		}
	}
	return nil
}

// Resolve returns the command or subcommand that args call. If there is none, or if the
// number of arguments is wrong, it returns nil and the error reply, or the container if that
// has LooseSubs.
func (t *Table) Resolve(args [][]byte) (*Command, resp.Value) {
	return resolve(t.Lookup(args[0]), args)
}

func resolve(c *Command, args [][]byte) (*Command, resp.Value) {
	if c == nil {
		return nil, unknownCommand(args)
	}
	if c.Subs != nil && len(args) > 1 {
		sub := c.Sub(args[1])
		switch {
		case c.LooseSubs && (sub == nil || !sub.ArityOK(len(args))):
			return c, resp.None
		case sub == nil:
			return nil, unknownSubcommand(c, args[1])
		}
		c = sub
	}
	if !c.ArityOK(len(args)) {
		return nil, wrongArity(c.FullName())
	}
	return c, resp.None
}

// Call runs the command in args. The caller must hold the locks of the shards that
// the command accesses.
func (t *Table) Call(c *Ctx, args [][]byte) resp.Value {
	cmd, refusal := t.Resolve(args)
	if cmd == nil {
		return refusal
	}
	c.Cmd, c.Args = cmd, args
	return c.Run()
}

// EqualFold compares an argument with a lower-case word, ignoring ASCII case.
func EqualFold(arg []byte, lower string) bool {
	if len(arg) != len(lower) {
		return false
	}
	for i, ch := range arg {
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		if ch != lower[i] {
			return false
		}
	}
	return true
}

// maxEcho is how many bytes of a name, and of arguments in all, an error repeats.
const maxEcho = 128

// echo returns up to n bytes of an argument, up to its first NUL byte, as C's %.*s does.
func echo(arg []byte, n int) string {
	arg = cString(arg)
	return string(arg[:min(n, len(arg))])
}

func unknownCommand(args [][]byte) resp.Value {
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= maxEcho {
			break
		}
		b.WriteString("'" + echo(a, maxEcho-b.Len()) + "' ")
	}
	return resp.Error("ERR unknown command '" + echo(args[0], maxEcho) + "', with args beginning with: " +
		b.String())
}

func unknownSubcommand(container *Command, name []byte) resp.Value {
	return seeHelp("unknown subcommand", container, name)
}

// WrongSubcommandArity returns the error reply of handlers that check the number of a
// subcommand's arguments themselves, and that of a container with LooseSubs for calls that fit
// no subcommand.
func WrongSubcommandArity(c *Ctx) resp.Value {
	container := c.Cmd
	if container.parent != nil {
		container = container.parent
	}
	return seeHelp("unknown subcommand or wrong number of arguments for", container, c.Args[1])
}

// seeHelp returns an error reply about a call of a subcommand. As in Redis the container has the
// name by which clients call it.
func seeHelp(problem string, container *Command, name []byte) resp.Value {
	return resp.Error("ERR " + problem + " '" + echo(name, maxEcho) + "'. Try " +
		strings.ToUpper(container.Called) + " HELP.")
}

// WrongArity returns the error reply of handlers that check the number of arguments
// themselves.
func WrongArity(c *Command) resp.Value { return wrongArity(c.FullName()) }

func wrongArity(fullName string) resp.Value {
	return resp.Error("ERR wrong number of arguments for '" + fullName + "' command")
}

// cString returns b up to its first NUL byte, like a C string.
func cString(b []byte) []byte {
	for i, ch := range b {
		if ch == 0 {
			return b[:i]
		}
	}
	return b
}
