package commands

import (
	"math"
	"strings"
)

// KeyAccess is what a call does to a key, as access control sees it. A call that only
// asks whether a key exists does neither.
type KeyAccess uint8

// The bits of KeyAccess.
const (
	ReadsKey KeyAccess = 1 << iota // returns or copies some of the value
	WritesKey
)

// accessOf returns the access that the flags of a KeySpec describe.
func accessOf(flags string) (access KeyAccess) {
	for word := range strings.FieldsSeq(flags) {
		switch word {
		case "access":
			access |= ReadsKey
		case "insert", "update", "delete":
			access |= WritesKey
		}
	}
	return access
}

// A KeyUse is a key of a call, and what the call does to it.
type KeyUse struct {
	Key    []byte
	At     int // its position in the arguments; 0 if it is derived from them
	Access KeyAccess
	Flags  string // as in KeySpec

	Unslotted bool // as in KeySpec
}

// HasKeys reports whether calls of the command have keys.
func (c *Command) HasKeys() bool { return len(c.Keys) > 0 && c.Keys[0].Flags != NotKey }

// AppendKeyUses appends the keys of a call as COMMAND GETKEYSANDFLAGS finds them. Of a
// call with too few arguments, it appends those that are there.
func (c *Command) AppendKeyUses(dst []KeyUse, args [][]byte) []KeyUse {
	if uses, ok := c.appendKeyUses(dst, args); ok {
		return uses
	}
	return c.appendLenientKeyUses(dst, args)
}

// appendKeyUses appends the keys by the specifications. As in Redis, it reads the low 32
// bits of a count. It reports false if a count is invalid.
func (c *Command) appendKeyUses(dst []KeyUse, call [][]byte) (uses []KeyUse, ok bool) {
	for i := range c.Keys {
		k := &c.Keys[i]
		first, end, step := k.keyRange(call)
		if k.KeyNum {
			if k.First >= len(call) {
				return dst, false
			}
			if count, ok := parseInt(call[k.First]); !ok || count < 0 {
				return dst, false
			}
			if first, end, step = k.countedRange(cAtoi(call[k.First]), call); first == end {
				return dst, false
			}
		}
		flags := c.keyFlags(k, call)
		for at := first; at < end; at += step {
			dst = append(dst, KeyUse{call[at], at, accessOf(flags), flags, false})
		}
		if !c.ArityOK(len(call)) {
			continue
		}
		if name := k.appendDerived(nil, call); name != nil {
			dst = append(dst, KeyUse{name, 0, accessOf(flags), flags, k.Unslotted})
		}
	}
	return dst, true
}

// appendLenientKeyUses is the older way to find keys, on which Redis falls back: it
// knows no flags, reads a count as C's atoi does, and returns a destination after the
// counted keys.
func (c *Command) appendLenientKeyUses(dst []KeyUse, call [][]byte) []KeyUse {
	before := len(dst)
	for i := range c.Keys {
		if k := &c.Keys[i]; k.KeyNum && k.First < len(call) {
			first, end, step := k.countedRange(cAtoi(call[k.First]), call)
			for at := first; at < end; at += step {
				dst = append(dst, KeyUse{Key: call[at], At: at})
			}
		}
	}
	if len(dst) == before {
		return dst
	}
	for i := range c.Keys {
		if k := &c.Keys[i]; !k.KeyNum && k.First < len(call) {
			dst = append(dst, KeyUse{Key: call[k.First], At: k.First})
		}
	}
	return dst
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

// lookFlags are the flags of the keys of a call that Reads reports.
const lookFlags = "RO access"

// keyFlags returns what a call does to the keys of one of the command's specs.
func (c *Command) keyFlags(k *KeySpec, call [][]byte) string {
	switch {
	case k.FlagsIn != nil:
		return k.FlagsIn(call)
	case c.ArityOK(len(call)) && c.looks(call):
		return lookFlags
	}
	return k.Flags
}

// A ChannelUse says which arguments of a command are channels that it publishes or
// subscribes to.
type ChannelUse uint8

// The values of ChannelUse.
const (
	NoChannels   ChannelUse = iota
	FirstChannel            // the first argument
	EveryChannel            // all arguments
	EveryPattern            // all arguments, which are patterns of channels
)

// ChannelsOf returns the channels of a call, and whether they are patterns.
func (c *Command) ChannelsOf(args [][]byte) (channels [][]byte, patterns bool) {
	switch c.Channels {
	case FirstChannel:
		return args[1:2], false
	case EveryChannel:
		return args[1:], false
	case EveryPattern:
		return args[1:], true
	}
	return nil, false
}

// A Guard decides what the user of a restricted client may do beside the command that the
// client has sent: see package acl.
type Guard interface {
	// RefuseCall returns the error reply if a script may not call a command, and logs the
	// refusal; "" if it may. The number of arguments is right.
	RefuseCall(cmd *Command, args [][]byte) (text string)

	// Permits reports whether the user may make a call.
	Permits(cmd *Command, args [][]byte) bool

	// ReadsAllKeys reports whether the user may make a call and read every key.
	ReadsAllKeys(cmd *Command, args [][]byte) bool

	// ReadsKey reports whether the user may make a call and read a key.
	ReadsKey(cmd *Command, args [][]byte, key string) bool
}
