package rdb

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/zlimit/zlimit/persist/dump"
)

// A fence walks over values and checks their structure. What passes it goes,
// where there is somebody to take it, to the library in pieces of few elements:
// plain sequences as they are, packed values as smaller ones of their kind.
//
// The fence says a list to the library where the order of elements counts and
// the library would lose it (hashes), and where two types are written alike.
type fence struct {
	src   source
	take  func(piece) error   // nil: nobody takes; the fence only looks
	units func([]int64) error // takes units of a log; nil with take

	log []int64 // scratch
}

// A piece is a part of a value as the library is given it.
type piece struct {
	typ   byte
	count int    // of elements, where the type is written with their number
	head  []byte // what comes before body: the header of a pack
	body  []byte
	tail  []byte
}

const (
	pieceElements = 512      // elements of a piece at most
	pieceBytes    = 32 << 10 // above this size no element is added
)

// give hands on a piece.
func (f *fence) give(p piece) error {
	if f.take == nil {
		return nil
	}
	return f.take(p)
}

// value walks over a value of the type.
func (f *fence) value(typ byte) error {
	switch typ {
	case typeString:
		return f.src.passText()
	case typeList, typeSet:
		return f.counted(typeList, 1, f.src.passText)
	case typeHash:
		return f.counted(typeList, 2, func() error {
			if err := f.src.passText(); err != nil {
				return err
			}
			return f.src.passText()
		})
	case typeZSet:
		return f.counted(typeZSet, 1, f.passDecimalEntry)
	case typeZSet2:
		return f.entries()
	case typeListZiplist, typeHashZiplist, typeZSetZiplist, typeSetIntset, typeHashZipmap,
		typeHashListpack, typeZSetListpack, typeSetListpack:
		return f.packed(typ)
	case typeListQuicklist:
		return f.nodes(func() error { return f.packed(typeListZiplist) })
	case typeListQuicklist2:
		return f.nodes(f.node)
	}
	return f.foreign(typ)
}

// counted walks over a length and as many elements, of so many strings each.
func (f *fence) counted(typ byte, strings int, pass func() error) error {
	n, err := f.src.count()
	if err != nil {
		return err
	}
	if n == 0 {
		return errEmpty
	}
	return f.sequence(typ, n, strings, pass)
}

// entries walks over a length and as many members with binary scores.
func (f *fence) entries() error {
	n, err := f.src.count()
	if err != nil {
		return err
	}
	if n == 0 {
		return errEmpty
	}
	if n, err = f.logEntries(n); err != nil {
		return err
	}
	return f.sequence(typeZSet2, n, 1, f.passEntry)
}

func (f *fence) sequence(typ byte, n uint64, strings int, pass func() error) error {
	if f.take != nil {
		f.src.mark = f.src.pos
		defer func() { f.src.mark = -1 }()
	}
	in := 0
	for i := range n {
		if err := pass(); err != nil {
			return err
		}
		if f.take == nil {
			continue
		}
		in++
		if in == pieceElements || f.src.pos-f.src.mark >= pieceBytes || i == n-1 {
			if err := f.give(piece{typ: typ, count: in * strings, body: f.src.marked()}); err != nil {
				return err
			}
			in = 0
		}
	}
	return nil
}

// passEntry passes over a member and its score in binary.
func (f *fence) passEntry() error {
	if err := f.src.passText(); err != nil {
		return err
	}
	b, err := f.src.take(8)
	if err == nil && math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b))) {
		return corrupt(badScore)
	}
	return err
}

// passDecimalEntry passes over a member and its score in decimal: a length of
// one byte and as many digits, or one of three that stand for a value.
func (f *fence) passDecimalEntry() error {
	const (
		minusInf = 255
		plusInf  = 254
		nan      = 253
	)
	if err := f.src.passText(); err != nil {
		return err
	}
	size, err := f.src.byte()
	switch {
	case err != nil:
		return err
	case size == nan || size == 0:
		return corrupt(badScore)
	case size == plusInf || size == minusInf:
		return nil
	}
	return f.src.skip(int64(size))
}

// packed walks over a string that is a pack.
func (f *fence) packed(typ byte) error {
	pack, err := f.src.text()
	if err != nil {
		return err
	}
	switch typ {
	case typeListZiplist:
		return f.ziplist(pack, typeListZiplist, 1)
	case typeHashZiplist:
		return f.ziplist(pack, typeListZiplist, 2)
	case typeZSetZiplist:
		return f.ziplist(pack, typeZSetZiplist, 2)
	case typeHashListpack:
		return f.listpack(pack, typeListQuicklist2, 2)
	case typeZSetListpack:
		if taken, err := f.logPack(pack); taken {
			return err
		}
		return f.listpack(pack, typeZSetListpack, 2)
	case typeHashZipmap:
		return f.zipmap(pack)
	case typeSetIntset:
		return f.intset(pack)
	}
	return f.listpack(pack, typeListQuicklist2, 1)
}

// nodes walks over the nodes of a list. A list is empty where each of them is.
func (f *fence) nodes(node func() error) error {
	n, err := f.src.count()
	if err != nil {
		return err
	}
	empty := true
	for range n {
		err := node()
		if err == nil {
			empty = false
		} else if !errors.Is(err, errEmpty) {
			return err
		}
	}
	if empty {
		return errEmpty
	}
	return nil
}

// node walks over a node of a list of version 10 and later.
func (f *fence) node() error {
	kind, err := f.src.count()
	if err != nil {
		return err
	}
	switch kind {
	case containerPlain:
		return f.sequence(typeList, 1, 1, f.src.passText)
	case containerPacked:
		return f.packed(typeListQuicklist2)
	}
	return corrupt(badNode)
}

// zipmap walks over the packed hashes of Redis before 2.6, which the library
// reads wrongly where a length takes more than a byte: it gets a list.
//
// A zipmap is its number of pairs in a byte (or 254: too many), the pairs, and
// 255. A pair is the field with its length, and the value with its length, how
// many bytes behind it are free, and those.
func (f *fence) zipmap(pack []byte) error {
	if len(pack) < 2 {
		return corrupt(badPack)
	}
	said, rest := int(pack[0]), pack[1:]
	pairs, in := 0, 0
	var body []byte
	for {
		if len(rest) == 0 {
			return corrupt(badElement)
		}
		done := rest[0] == zipmapEnd
		if in > 0 && (done || in == pieceElements || len(body) >= pieceBytes) {
			if err := f.give(piece{typ: typeList, count: 2 * in, body: body}); err != nil {
				return err
			}
			in, body = 0, body[:0]
		}
		if done {
			break
		}
		field, after, ok := zipmapText(rest, false)
		if !ok {
			return corrupt(badElement)
		}
		value, after, ok := zipmapText(after, true)
		if !ok {
			return corrupt(badElement)
		}
		rest = after
		if f.take != nil {
			body = dump.AppendString(dump.AppendString(body, field), value)
		}
		pairs, in = pairs+1, in+1
	}
	switch {
	case len(rest) != 1:
		return corrupt(badPack)
	case pairs == 0:
		return errEmpty
	case said < zipmapLong && said != pairs:
		return corrupt(badCount)
	}
	return nil
}

const (
	zipmapLong = 254 // a length of four bytes follows
	zipmapEnd  = 255
)

// zipmapText takes a field, or a value and what is free behind it.
func zipmapText(b []byte, isValue bool) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] == zipmapEnd {
		return nil, nil, false
	}
	size, b := uint64(b[0]), b[1:]
	if size == zipmapLong {
		if len(b) < 4 {
			return nil, nil, false
		}
		size, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
	}
	free := uint64(0)
	if isValue {
		if len(b) == 0 {
			return nil, nil, false
		}
		free, b = uint64(b[0]), b[1:]
	}
	if size+free > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:size], b[size+free:], true
}
