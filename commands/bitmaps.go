package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/bitmap"
)

// Bitmaps are the rows of the commands on the bits of a string.
var Bitmaps = []Command{
	{
		Name: "bitcount", Arity: -2, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "bitmap", Since: "2.6.0", Complexity: "O(N)", Handler: bitCount,
		Syntax:  "key [start end [BYTE | BIT]]",
		Summary: "Counts the bits that are set in a string, or in part of it.",
	},
	{
		Name: "bitfield", Event: "setbit", Arity: -2, Flags: Write | DenyOOM,
		Keys: []KeySpec{{
			Flags: "RW access update variable_flags", First: 1, Step: 1,
			Notes: "GET alone only reads", FlagsIn: bitFieldKeyFlags,
		}},
		Group: "bitmap", Since: "3.2.0", Complexity: "O(1) for each operation", Handler: bitField,
		Syntax: "key [<GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value | " +
			"INCRBY encoding offset increment>> [...]]",
		Summary: "Reads, sets and increments integers of any width in a string.",
	},
	{
		Name: "bitfield_ro", Arity: -2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "bitmap", Since: "6.0.0", Complexity: "O(1) for each operation", Handler: bitFieldRO,
		Syntax:  "key [GET encoding offset [GET encoding offset ...]]",
		Summary: "Reads integers of any width in a string.",
	},
	{
		Name: "bitop", Event: "set", Arity: -4, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(2, "OW update"), keysFrom(3, "RO access")},
		Group: "bitmap", Since: "2.6.0", Complexity: "O(N)", Handler: bitOp,
		Syntax:  "operation destkey key [key ...]",
		Summary: "Stores the bitwise AND, OR, XOR or NOT of strings.",
	},
	{
		Name: "bitpos", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "bitmap", Since: "2.8.7", Complexity: "O(N)", Handler: bitPos,
		Syntax:  "key bit [start [end [BYTE | BIT]]]",
		Summary: "Returns the position of the first set or clear bit.",
	},
	{
		Name: "getbit", Arity: 3, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "bitmap", Since: "2.2.0", Complexity: "O(1)", Syntax: "key offset", Handler: getBit,
		Summary: "Returns a bit of a string.",
	},
	{
		Name: "setbit", Event: "setbit", Arity: 4,
		Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "RW access update")},
		Group: "bitmap", Since: "2.2.0", Complexity: "O(1)", Syntax: "key offset value", Handler: setBit,
		Summary: "Sets or clears a bit of a string and returns its old value.",
	},
}

// parseBitOffset reads the position of a bit. If width is not 0, a position after #
// counts fields of width bits.
func parseBitOffset(c *Ctx, arg []byte, width int64) (int64, resp.Value) {
	scale := int64(1)
	if width > 0 && len(arg) > 0 && arg[0] == '#' {
		arg, scale = arg[1:], width
	}
	n, ok := parseInt(arg)
	n *= scale // it may wrap around, as in Redis
	if !ok || n < 0 || n>>3 >= c.Settings.ProtoMaxBulkLen {
		return 0, errBitOffset
	}
	return n, resp.None
}

// readBits returns the bytes of a string that is only read; digits is scratch space
// for those of a number. It reports false if there is no key.
func readBits(c *Ctx, key, digits []byte) (text []byte, ok bool, refusal resp.Value) {
	s, refusal := stringOf(c.DB.Lookup(key, c.NowMs))
	if s == nil {
		return nil, false, refusal
	}
	return s.Bytes(digits), true, resp.None
}

// writeBits makes the first key's string long enough to have a bit, and returns its
// node and its bytes, to be changed in place. grown reports that it was shorter or
// missing, which the caller has to record.
func writeBits(c *Ctx, last int64) (n *store.Node, text []byte, grown bool, refusal resp.Value) {
	n = c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return nil, nil, false, refusal
	}
	size := bitmap.Size(last)
	if n == nil {
		text = make([]byte, size)
		return c.DB.Add(c.Args[1], store.NewRaw(text)), text, true, resp.None
	}
	grown = s.Size() < size
	text = s.Edit(size)
	c.DB.Resized(n) // even if no bit changes
	return n, text, grown, resp.None
}

// SETBIT key offset value
func setBit(c *Ctx) resp.Value {
	at, refusal := parseBitOffset(c, c.Args[2], 0)
	if refusal.IsError() {
		return refusal
	}
	on, ok := parseInt(c.Args[3])
	if !ok || on != 0 && on != 1 {
		return errBitValue
	}
	n, text, changed, refusal := writeBits(c, at)
	if refusal.IsError() {
		return refusal
	}
	old := bitmap.Bit(text, at)
	if old != on {
		bitmap.PutUint(text, at, 1, uint64(on))
		changed = true
	}
	if changed {
		c.DB.Modified(n)
	}
	return resp.Int(old)
}

// GETBIT key offset
func getBit(c *Ctx) resp.Value {
	at, refusal := parseBitOffset(c, c.Args[2], 0)
	if refusal.IsError() {
		return refusal
	}
	var digits [20]byte
	text, _, refusal := readBits(c, c.Args[1], digits[:])
	if refusal.IsError() {
		return refusal
	}
	return resp.Int(bitmap.Bit(text, at))
}
