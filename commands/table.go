package commands

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// A Table finds commands by name. It is built once and then only read.
type Table struct {
	slots  []*Command // by nameHash, then the next free one; nil ends a search
	sorted []*Command // by name
	count  int        // commands and subcommands
}

// NewTable joins groups of commands. A name that stands twice is a programming
// mistake and panics.
func NewTable(groups ...[]Command) *Table {
	rows := 0
	for _, group := range groups {
		rows += len(group)
	}
	t := &Table{slots: make([]*Command, 4<<bits.Len(uint(rows)))}
	for _, group := range groups {
		for i := range group {
			c := group[i] // a copy: groups stay as they were written
			c.Subs = slices.Clone(c.Subs)
			t.number(&c)
			for j := range c.Subs {
				c.Subs[j].parent = &c
				t.number(&c.Subs[j])
			}
			t.file(&c)
			t.sorted = append(t.sorted, &c)
		}
	}
	slices.SortFunc(t.sorted, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	return t
}

func (t *Table) number(c *Command) {
	c.id = t.count
	t.count++
	c.setEvent()
}

// Len is the number of commands and subcommands: IDs lie below it.
func (t *Table) Len() int { return t.count }

// All returns every command (subcommands inside their parents) by name. The
// slice is not to be changed.
func (t *Table) All() []*Command { return t.sorted }

// nameHash hashes a name without regard to case: bit 5 tells upper from lower
// case, and what else it tells apart the comparison will.
func nameHash(name []byte) uint32 {
	h := uint32(len(name))
	for _, ch := range name {
		h = h*31 + uint32(ch|0x20)
	}
	return h
}

// file puts a command into the slots.
func (t *Table) file(c *Command) {
	mask := uint32(len(t.slots) - 1)
	i := nameHash([]byte(c.Name)) & mask
	for ; t.slots[i] != nil; i = (i + 1) & mask {
		if t.slots[i].Name == c.Name {
			panic("commands: two rows for " + c.Name)
		}
	}
	t.slots[i] = c
}

// Lookup finds the command called name in any case; nil where there is none.
func (t *Table) Lookup(name []byte) *Command {
	mask := uint32(len(t.slots) - 1)
	for i := nameHash(name) & mask; t.slots[i] != nil; i = (i + 1) & mask {
		if EqualFold(name, t.slots[i].Name) {
			return t.slots[i]
		}
	}
	return nil
}

// Sub finds c's subcommand called name in any case; nil where there is none.
func (c *Command) Sub(name []byte) *Command {
	for i := range c.Subs {
		if EqualFold(name, c.Subs[i].Name) {
			return &c.Subs[i]
		}
	}
	return nil
}

// Resolve finds the row that args call and checks its arity. Where it returns
// no command, the second value is the error to answer.
func (t *Table) Resolve(args [][]byte) (*Command, resp.Value) {
	c := t.Lookup(args[0])
	if c == nil {
		return nil, unknownCommand(args)
	}
	if c.Subs != nil {
		if len(args) > 1 {
			sub := c.Sub(args[1])
			if sub == nil {
				return nil, unknownSubcommand(c, args[1])
			}
			c = sub
		}
	}
	if !c.ArityOK(len(args)) {
		return nil, wrongArity(c.FullName())
	}
	return c, resp.None
}

// Call runs args as EXEC, a script or the network does. The caller holds the
// locks of the shards that the command touches.
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

func unknownCommand(args [][]byte) resp.Value {
	// As in Redis: the name cut at 128 bytes, then arguments until about
	// 128 bytes are spent.
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%.*s' ", 128-b.Len(), cString(a))
	}
	return resp.Error(fmt.Sprintf("ERR unknown command '%.128s', with args beginning with: %s", cString(args[0]), b.String()))
}

func unknownSubcommand(c *Command, name []byte) resp.Value {
	return resp.Error(fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", cString(name), strings.ToUpper(c.Name)))
}

// WrongSubcommandArity returns the error reply for a number of arguments that
// only the subcommand's handler can refuse.
func WrongSubcommandArity(c *Ctx) resp.Value {
	container, _, _ := strings.Cut(c.Cmd.FullName(), "|")
	return resp.Error("ERR unknown subcommand or wrong number of arguments for '" + string(c.Args[1]) + "'. Try " +
		strings.ToUpper(container) + " HELP.")
}

// WrongArity is the refusal of a call whose number of arguments only its
// handler can judge.
func WrongArity(c *Command) resp.Value { return wrongArity(c.FullName()) }

func wrongArity(fullName string) resp.Value {
	return resp.Error("ERR wrong number of arguments for '" + fullName + "' command")
}

// cString cuts b at its first NUL byte, where C's formatting would stop.
func cString(b []byte) []byte {
	for i, ch := range b {
		if ch == 0 {
			return b[:i]
		}
	}
	return b
}
