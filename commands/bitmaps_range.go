package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/bitmap"
)

// bitRange reads start [end [BYTE | BIT]] of a string of size bytes and returns the
// first and the last bit. Negative numbers count from the end; the default end is the
// string's. Redis checks BITCOUNT's numbers before the unit, and of BITPOS start, unit
// and end in this order.
func bitRange(args [][]byte, size int64, unitLast bool) (first, last int64, refusal resp.Value) {
	start, refusal := toInt(args[0])
	if refusal.IsError() {
		return 0, 0, refusal
	}
	unit := int64(8)
	if !unitLast {
		if unit, refusal = bitUnit(args); refusal.IsError() {
			return 0, 0, refusal
		}
	}
	end := int64(-1)
	if len(args) > 1 {
		if end, refusal = toInt(args[1]); refusal.IsError() {
			return 0, 0, refusal
		}
	}
	if unitLast {
		if start < 0 && end < 0 && start > end {
			return 0, -1, resp.None
		}
		if unit, refusal = bitUnit(args); refusal.IsError() {
			return 0, 0, refusal
		}
	}
	total := size * 8 / unit
	if start < 0 {
		start = max(start+total, 0)
	}
	if end < 0 {
		end = max(end+total, 0)
	}
	if end = min(end, total-1); start > end {
		return 0, -1, resp.None
	}
	return start * unit, end*unit + unit - 1, resp.None
}

// bitUnit returns how many bits a range counts as one.
func bitUnit(args [][]byte) (int64, resp.Value) {
	switch {
	case len(args) < 3 || EqualFold(args[2], "byte"):
		return 8, resp.None
	case EqualFold(args[2], "bit"):
		return 1, resp.None
	}
	return 0, ErrSyntax
}

// BITCOUNT key [start end [BYTE | BIT]]
func bitCount(c *Ctx) resp.Value {
	var digits [20]byte
	text, ok, refusal := readBits(c, c.Args[1], digits[:])
	switch {
	case refusal.IsError():
		return refusal
	case !ok:
		return resp.Int(0) // the other arguments are not checked
	}
	first, last := int64(0), int64(len(text))*8-1
	switch len(c.Args) {
	case 2:
	case 4, 5:
		if first, last, refusal = bitRange(c.Args[2:], int64(len(text)), true); refusal.IsError() {
			return refusal
		}
	default:
		return ErrSyntax
	}
	return resp.Int(bitmap.Count(text, first, last))
}

// BITPOS key bit [start [end [BYTE | BIT]]]
func bitPos(c *Ctx) resp.Value {
	wanted, refusal := toInt(c.Args[2])
	switch {
	case refusal.IsError():
		return refusal
	case wanted != 0 && wanted != 1:
		return errBitWanted
	}
	var digits [20]byte
	text, ok, refusal := readBits(c, c.Args[1], digits[:])
	switch {
	case refusal.IsError():
		return refusal
	case !ok:
		return resp.Int(-wanted) // an endless string of zeros
	}
	first, last := int64(0), int64(len(text))*8-1
	switch len(c.Args) {
	case 3:
	case 4, 5, 6:
		if first, last, refusal = bitRange(c.Args[3:], int64(len(text)), false); refusal.IsError() {
			return refusal
		}
	default:
		return ErrSyntax
	}
	at := bitmap.Find(text, wanted, first, last)
	if at < 0 && wanted == 0 && len(c.Args) < 5 && first <= last {
		at = last + 1 // after the string all bits are clear
	}
	return resp.Int(at)
}
