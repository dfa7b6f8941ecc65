package rdb

import (
	"encoding/binary"
	"math"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store/decimal"
)

// This file reads the plain entries of a log, which are members equal to the decimals of
// their scores, directly from the encoded form. Most sorted sets of limiters consist of
// nothing else; the library takes ten times as long and 67 allocations for ten of them.

// maxUnit is the largest integer in a log, on either side of zero.
const maxUnit = 1 << 53

// zsetListpack validates a listpack of members and scores.
func (f *validator) zsetListpack(pack []byte, typ byte, per int) error {
	if taken, err := f.logPack(pack); taken {
		return err
	}
	return f.listpack(pack, typ, per)
}

// logPack reads the units of a sound listpack that holds nothing else.
func (f *validator) logPack(pack []byte) (taken bool, err error) {
	if f.units == nil || !listpackSound(pack) {
		return false, nil
	}
	f.log = f.log[:0]
	last := len(pack) - 1
	member, isScore := int64(0), false
	for at := listpackHeader; at < last; {
		end := listpackElement(pack[:last], at, 0)
		if end == 0 {
			return false, nil
		}
		n, ok := listpackInt(pack[at:end])
		if !ok || n < -maxUnit || n > maxUnit || isScore && n != member {
			return false, nil
		}
		if isScore {
			f.log = append(f.log, n)
		}
		member, isScore, at = n, !isScore, end
	}
	headerCount := int(binary.LittleEndian.Uint16(pack[4:]))
	if isScore || len(f.log) == 0 || headerCount != countUnknown && headerCount != 2*len(f.log) {
		return false, nil
	}
	return true, f.units(f.log)
}

// listpackInt decodes an integer element of a listpack.
func listpackInt(b []byte) (n int64, ok bool) {
	switch first := b[0]; {
	case first < lpText6:
		return int64(first), true
	case first >= lpInt13 && first < lpText12:
		return int64(int16(uint16(first&0x1f)<<8|uint16(b[1]))<<3) >> 3, true
	case first == lpInt16:
		return int64(int16(binary.LittleEndian.Uint16(b[1:]))), true
	case first == lpInt24:
		return int64(int32(uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)) >> 8, true
	case first == lpInt32:
		return int64(int32(binary.LittleEndian.Uint32(b[1:]))), true
	case first == lpInt64:
		return int64(binary.LittleEndian.Uint64(b[1:])), true
	}
	return 0, false
}

// logEntries reads units from n members with binary scores until it finds something
// else. It returns how many members are left.
func (f *validator) logEntries(n uint64) (left uint64, err error) {
	if f.units == nil {
		return n, nil
	}
	const longest = 2 + len("-9007199254740992") + 8 // longest entry that is a unit
	src := &f.src
	f.log = f.log[:0]
	for ; n > 0; n-- {
		if err := src.ensure(min(int64(longest), src.left())); err != nil {
			return n, err
		}
		r := dump.Reader{Rest: src.window[src.pos:]}
		member, err := r.Bytes()
		if err != nil || len(r.Rest) < 8 {
			break // the general path reports the fault
		}
		unit, ok := decimal.Parse(member)
		score := binary.LittleEndian.Uint64(r.Rest)
		if !ok || unit < -maxUnit || unit > maxUnit || score != math.Float64bits(float64(unit)) {
			break
		}
		src.pos = len(src.window) - len(r.Rest) + 8
		if f.log = append(f.log, unit); len(f.log) == pieceElements {
			if err := f.units(f.log); err != nil {
				return n, err
			}
			f.log = f.log[:0]
		}
	}
	return n, f.units(f.log)
}
