package introspection

import (
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// Error replies of COMMAND GETKEYS, byte for byte Redis'.
var (
	errInvalidCommand = resp.Error("ERR Invalid command specified")
	errInvalidArgs    = resp.Error("ERR Invalid number of arguments specified for command")
	errNoKeys         = resp.Error("ERR The command has no key arguments")
	errNoKeysFound    = resp.Error("ERR Invalid arguments specified for command") // their count is invalid
)

// COMMAND GETKEYS command arg [arg ...]
func (in *introspection) getKeys(c *commands.Ctx) resp.Value {
	uses, refusal := in.keysOf(c)
	if refusal.IsError() {
		return refusal
	}
	out := make([]resp.Value, len(uses))
	for i, u := range uses {
		out[i] = c.Copy(u.Key)
	}
	return resp.Array(out...)
}

// COMMAND GETKEYSANDFLAGS command arg [arg ...]
func (in *introspection) getKeysAndFlags(c *commands.Ctx) resp.Value {
	uses, refusal := in.keysOf(c)
	if refusal.IsError() {
		return refusal
	}
	out := make([]resp.Value, len(uses))
	var flags resp.Value // of the key before; most calls treat all keys alike
	for i, u := range uses {
		if i == 0 || u.Flags != uses[i-1].Flags {
			flags = statusSet(strings.Fields(u.Flags))
		}
		out[i] = resp.Array(c.Copy(u.Key), flags)
	}
	return resp.Array(out...)
}

// keysOf returns the keys of the call that the arguments are. In a cluster these are the keys that must be in
// one slot: clients refuse a call with others.
func (in *introspection) keysOf(c *commands.Ctx) ([]commands.KeyUse, resp.Value) {
	call := c.Args[2:]
	cmd := in.table().Lookup(call[0])
	if cmd != nil && cmd.Subs != nil && len(call) > 1 {
		cmd = cmd.Sub(call[1])
	}
	switch {
	case cmd == nil:
		return nil, errInvalidCommand
	case !cmd.HasKeys():
		return nil, errNoKeys
	case !cmd.ArityOK(len(call)):
		return nil, errInvalidArgs
	}
	uses := cmd.AppendKeyUses(nil, c.Standing(cmd, call))
	if len(uses) == 0 && !cmd.Is(commands.NoMandatoryKeys) {
		return nil, errNoKeysFound
	}
	if c.Settings.Cluster {
		uses = slices.DeleteFunc(uses, func(u commands.KeyUse) bool { return u.Unslotted })
	}
	return uses, resp.None
}
