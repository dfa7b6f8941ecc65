package commands

import (
	"math"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// errNoKeysFound is the reply of COMMAND GETKEYS for a call whose count of keys is
// invalid.
var errNoKeysFound = resp.Error("ERR Invalid arguments specified for command")

// A keyUse is a key of a call, and what the call does to it.
type keyUse struct {
	key   []byte
	flags string // as in KeySpec
}

// COMMAND GETKEYS command arg [arg ...]
func (in introspection) getKeys(c *Ctx) resp.Value {
	uses, refusal := in.keysOf(c.Args[2:])
	if refusal.IsError() {
		return refusal
	}
	out := make([]resp.Value, len(uses))
	for i, u := range uses {
		out[i] = c.Copy(u.key)
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
		out[i] = resp.Array(c.Copy(u.key), flags)
	}
	return resp.Array(out...)
}

// keysOf returns the keys of a call that is an argument.
func (in introspection) keysOf(call [][]byte) ([]keyUse, resp.Value) {
	cmd := in.table().Lookup(call[0])
	if cmd != nil && cmd.Subs != nil && len(call) > 1 {
		cmd = cmd.Sub(call[1])
	}
	switch {
	case cmd == nil:
		return nil, errInvalidCommand
	case len(cmd.Keys) == 0 || cmd.Keys[0].Flags == NotKey:
		return nil, errNoKeys
	case !cmd.ArityOK(len(call)):
		return nil, errInvalidArgs
	}
	uses, ok := cmd.keyUses(call)
	if !ok {
		uses = cmd.lenientKeyUses(call)
	}
	if len(uses) == 0 && !cmd.Is(NoMandatoryKeys) {
		return nil, errNoKeysFound
	}
	return uses, resp.None
}

// keyUses returns the keys by the specifications. As in Redis, it reads the low 32 bits
// of a count. It reports false if a count is invalid.
func (c *Command) keyUses(call [][]byte) (uses []keyUse, ok bool) {
	for i := range c.Keys {
		k := &c.Keys[i]
		first, end, step := k.keyRange(call)
		if k.KeyNum {
			if count, ok := parseInt(call[k.First]); !ok || count < 0 {
				return nil, false
			}
			if first, end, step = k.countedRange(cAtoi(call[k.First]), len(call)); first == end {
				return nil, false
			}
		}
		for at := first; at < end; at += step {
			uses = append(uses, keyUse{call[at], k.useIn(call)})
		}
		if name := k.appendDerived(nil, call); name != nil {
			uses = append(uses, keyUse{name, k.useIn(call)})
		}
	}
	return uses, true
}

// lenientKeyUses is the older way to find keys, on which Redis falls back: it knows no
// flags, reads a count as C's atoi does, and returns a destination after the counted
// keys.
func (c *Command) lenientKeyUses(call [][]byte) (uses []keyUse) {
	for i := range c.Keys {
		if k := &c.Keys[i]; k.KeyNum {
			first, end, step := k.countedRange(cAtoi(call[k.First]), len(call))
			for at := first; at < end; at += step {
				uses = append(uses, keyUse{key: call[at]})
			}
		}
	}
	if len(uses) == 0 {
		return nil
	}
	for i := range c.Keys {
		if k := &c.Keys[i]; !k.KeyNum {
			uses = append(uses, keyUse{key: call[k.First]})
		}
	}
	return uses
}

// useIn returns what a call does to the spec's keys. Only SET's spec has variable
// flags: without GET it is a plain overwrite. As in Redis, GET may be any word after
// the value, even if SET would refuse it.
func (k *KeySpec) useIn(call [][]byte) string {
	flags, variable := strings.CutSuffix(k.Flags, " variable_flags")
	if !variable {
		return flags
	}
	for _, word := range call[min(3, len(call)):] {
		if EqualFold(cString(word), "get") {
			return flags
		}
	}
	return "OW update"
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
