package commands

import (
	"math"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// errNoKeysFound is the reply of COMMAND GETKEYS for a call whose count of keys is
// invalid.
var errNoKeysFound = resp.Error("ERR Invalid arguments specified for command")

// COMMAND GETKEYS command arg [arg ...]
func (in introspection) getKeys(c *Ctx) resp.Value {
	uses, refusal := in.keysOf(c.Args[2:])
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
func (in introspection) getKeysAndFlags(c *Ctx) resp.Value {
	uses, refusal := in.keysOf(c.Args[2:])
	if refusal.IsError() {
		return refusal
	}
	out := make([]resp.Value, len(uses))
	var flags resp.Value // of the key before; most calls treat all keys alike
	for i, u := range uses {
		if i == 0 || u.flags != uses[i-1].flags {
			flags = statusSet(strings.Fields(u.flags))
		}
		out[i] = resp.Array(c.Copy(u.Key), flags)
	}
	return resp.Array(out...)
}

// keysOf returns the keys of a call that is an argument.
func (in introspection) keysOf(call [][]byte) ([]KeyUse, resp.Value) {
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
	uses := cmd.AppendKeyUses(nil, call)
	if len(uses) == 0 && !cmd.Is(NoMandatoryKeys) {
		return nil, errNoKeysFound
	}
	return uses, resp.None
}

// cAtoi reads a number as C's atoi does on 64-bit Linux: it skips spaces, reads digits
// up to anything else, and returns the low 32 bits.
func cAtoi(arg []byte) int64 {
	i, negative := 0, false
	for i < len(arg) && (arg[i] == ' ' || '\t' <= arg[i] && arg[i] <= '\r') {
		i++
	}
	if i < len(arg) && (arg[i] == '-' || arg[i] == '+') {
		negative = arg[i] == '-'
		i++
	}
	n := int64(0)
	for ; i < len(arg) && '0' <= arg[i] && arg[i] <= '9'; i++ {
		digit := int64(arg[i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			if negative {
				return 0 // the low half of the least int64
			}
			return -1 // of the greatest
		}
		n = n*10 + digit
	}
	if negative {
		n = -n
	}
	return int64(int32(n))
}
