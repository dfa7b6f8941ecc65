package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/bitmap"
)

// A fieldOp is one operation of BITFIELD.
type fieldOp struct {
	kind     fieldKind
	field    bitmap.Field
	at       int64 // its first bit
	value    int64 // of SET and INCRBY
	overflow bitmap.Overflow
}

type fieldKind uint8

const (
	fieldGet fieldKind = iota
	fieldSet
	fieldIncrBy
)

// fieldKinds are the words that begin an operation, and the number of arguments.
var fieldKinds = [...]struct {
	word string
	args int
}{fieldGet: {"get", 2}, fieldSet: {"set", 3}, fieldIncrBy: {"incrby", 3}}

// fieldOverflows are the arguments of OVERFLOW.
var fieldOverflows = [...]string{bitmap.Wrap: "wrap", bitmap.Sat: "sat", bitmap.Fail: "fail"}

// fieldOps reads BITFIELD's operations one by one. They are read twice, first to
// validate them and then to run them, which costs less than storing them.
type fieldOps struct {
	rest     options
	overflow bitmap.Overflow // of the operations from here on
}

// next reads an operation. more is false after the last one.
func (f *fieldOps) next(c *Ctx) (op fieldOp, more bool, refusal resp.Value) {
	for f.rest.more() {
		if f.rest.wordWith("overflow", 1) {
			if !f.setOverflow(f.rest.value()) {
				return op, false, errBitfieldFlow
			}
			continue
		}
		for kind, k := range fieldKinds {
			if f.rest.wordWith(k.word, k.args) {
				return f.operation(c, fieldKind(kind))
			}
		}
		return op, false, ErrSyntax
	}
	return op, false, resp.None
}

func (f *fieldOps) setOverflow(name []byte) bool {
	for o, word := range fieldOverflows {
		if EqualFold(name, word) {
			f.overflow = bitmap.Overflow(o)
			return true
		}
	}
	return false
}

func (f *fieldOps) operation(c *Ctx, kind fieldKind) (op fieldOp, more bool, refusal resp.Value) {
	op = fieldOp{kind: kind, overflow: f.overflow}
	field, ok := parseField(f.rest.value())
	if !ok {
		return op, false, errBitfieldType
	}
	op.field = field
	if op.at, refusal = parseBitOffset(c, f.rest.value(), int64(field.Width)); refusal.IsError() {
		return op, false, refusal
	}
	if kind != fieldGet {
		if op.value, refusal = toInt(f.rest.value()); refusal.IsError() {
			return op, false, refusal
		}
	}
	return op, true, resp.None
}

// parseField reads a type: i or u and the width in bits.
func parseField(arg []byte) (f bitmap.Field, ok bool) {
	arg = cString(arg) // as in Redis
	if len(arg) == 0 || arg[0] != 'i' && arg[0] != 'u' {
		return f, false
	}
	f.Signed = arg[0] == 'i'
	width, ok := parseInt(arg[1:])
	if !ok || width < 1 || width > 64 || width == 64 && !f.Signed {
		return f, false
	}
	f.Width = int(width)
	return f, true
}

// BITFIELD key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>]
// <SET encoding offset value | INCRBY encoding offset increment> ...]
func bitField(c *Ctx) resp.Value { return runFields(c, false) }

// BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]
func bitFieldRO(c *Ctx) resp.Value { return runFields(c, true) }

// bitFieldKeyFlags is KeySpec.FlagsIn of BITFIELD: without SET and INCRBY it only reads.
// As in Redis, a syntax error counts as writing.
func bitFieldKeyFlags(args [][]byte) string {
	for at := min(2, len(args)); at < len(args); {
		word, operands := cString(args[at]), 1
		switch {
		case EqualFold(word, "get"):
			operands = 2
		case !EqualFold(word, "overflow"):
			return "RW access update"
		}
		if at += operands + 1; at > len(args) {
			return "RW access update"
		}
	}
	return "RO access"
}

func runFields(c *Ctx, readOnly bool) resp.Value {
	count, last := 0, int64(-1) // the last bit that is written
	for ops := (fieldOps{rest: options{c.Args[2:]}}); ; count++ {
		op, more, refusal := ops.next(c)
		if refusal.IsError() {
			return refusal
		}
		if !more {
			break
		}
		if op.kind != fieldGet {
			last = max(last, op.at+int64(op.field.Width)-1)
		}
	}
	switch {
	case last < 0:
		return readFields(c, count)
	case readOnly:
		return errBitfieldReads
	}
	return writeFields(c, count, last)
}

// readFields runs operations that are all GET.
func readFields(c *Ctx, count int) resp.Value {
	var digits [20]byte
	text, _, refusal := readBits(c, c.Args[1], digits[:])
	if refusal.IsError() {
		return refusal
	}
	out := c.Build(count)
	ops := fieldOps{rest: options{c.Args[2:]}}
	for range count {
		op, _, _ := ops.next(c)
		out.Add(resp.Int(op.field.Get(text, op.at)))
	}
	return out.Array()
}

// writeFields runs operations, of which last is the last bit that any writes.
func writeFields(c *Ctx, count int, last int64) resp.Value {
	n, text, grown, refusal := writeBits(c, last)
	if refusal.IsError() {
		return refusal
	}
	changed := false
	out := c.Build(count)
	ops := fieldOps{rest: options{c.Args[2:]}}
	for range count {
		op, _, _ := ops.next(c)
		old := op.field.Get(text, op.at)
		var now int64
		ok, answer := true, old
		switch op.kind {
		case fieldGet:
			now = old
		case fieldSet:
			now, ok = op.field.Fit(op.value, op.overflow)
		case fieldIncrBy:
			now, ok = op.field.Add(old, op.value, op.overflow)
			answer = now
		}
		if !ok {
			out.Add(resp.Null)
			continue
		}
		if now != old {
			op.field.Put(text, op.at, now)
		}
		changed = changed || now != old || grown && op.kind != fieldGet
		out.Add(resp.Int(answer))
	}
	switch {
	case changed:
		c.DB.Modified(n)
	case grown:
		// Every operation failed. As in Redis the string is longer all the same, and no
		// watch notices; the log must, or it would be shorter after a restart.
		c.Changed()
	}
	return out.Array()
}
