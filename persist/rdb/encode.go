package rdb

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// packLimit is the number of elements above which a value is written element by element
// instead of as one listpack, whatever its OBJECT ENCODING. A reader with the same
// directives builds the same value.
const packLimit = 4096

// nodeSize is the maximum size of a list node's listpack, unless it holds a single
// element: Redis' list-max-listpack-size -2.
const nodeSize = 8 << 10

// typeOf returns the type that a value is written as, which follows its encoding.
func typeOf(value any) byte {
	switch v := value.(type) {
	case *store.String:
		return typeString
	case *list.List:
		return typeListQuicklist2
	case *set.Set:
		if v.IsIntset() {
			return typeSetIntset
		}
		return typeSet
	case *hash.Hash:
		if v.IsListpack() && v.Len() <= packLimit {
			return typeHashListpack
		}
		return typeHash
	case *zset.Set:
		if v.IsListpack() && v.Len() <= packLimit {
			return typeZSetListpack
		}
		return typeZSet2
	}
	panic(fmt.Sprintf("rdb: %T is not a value of the keyspace", value))
}

// value appends a value without its type.
func (e *encoder) value(value any) {
	switch v := value.(type) {
	case *store.String:
		if n, ok := v.Int(); ok {
			e.int(n)
			return
		}
		e.text(v.Bytes(nil))
	case *list.List:
		e.list(v)
	case *set.Set:
		e.set(v)
	case *hash.Hash:
		e.hash(v)
	case *zset.Set:
		e.zset(v)
	}
}

func (e *encoder) list(l *list.List) {
	e.length(nodes(l))
	p := &e.pack
	p.reset()
	l.Ascend(0, func(elem string) bool {
		if p.n > 0 && len(p.data)+elementSize(bytesOf(elem)) >= nodeSize {
			e.node()
		}
		p.add(bytesOf(elem))
		return true
	})
	e.node()
}

// node appends the listpack as a node of a list and begins another.
func (e *encoder) node() {
	e.length(containerPacked)
	e.packed()
	e.pack.reset()
}

// nodes counts the nodes that list writes. Looking at every element is cheaper than
// keeping them until their number is known.
func nodes(l *list.List) int {
	n, size := 1, listpackHeader
	l.Ascend(0, func(elem string) bool {
		more := elementSize(bytesOf(elem))
		if size > listpackHeader && size+more >= nodeSize {
			n, size = n+1, listpackHeader
		}
		size += more
		return true
	})
	return n
}

// packed appends the listpack.
func (e *encoder) packed() {
	e.text(e.pack.finish())
	e.flushIfLarge()
	const keep = 16 * nodeSize
	if cap(e.pack.data) > keep {
		e.pack.data = nil
	}
}

func (e *encoder) set(s *set.Set) {
	if s.IsIntset() {
		e.intset(s)
		return
	}
	e.length(s.Len())
	for m := range s.All() {
		e.string(m.Text())
		e.flushIfLarge()
	}
}

// intset appends the numbers, all in the width of the widest.
func (e *encoder) intset(s *set.Set) {
	width := 2
	for m := range s.All() {
		switch n := m.Number(); {
		case n != int64(int32(n)):
			width = 8
		case n != int64(int16(n)):
			width = max(width, 4)
		}
	}
	b := e.pack.data[:0]
	b = binary.LittleEndian.AppendUint32(b, uint32(width))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Len()))
	for m := range s.All() {
		switch n := m.Number(); width {
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(n))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		default:
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	e.pack.data = b
	e.text(b)
}

func (e *encoder) hash(h *hash.Hash) {
	if typeOf(h) == typeHash {
		e.length(h.Len())
		h.All(func(field, value []byte) bool {
			e.text(field)
			e.text(value)
			e.flushIfLarge()
			return true
		})
		return
	}
	e.pack.reset()
	h.All(func(field, value []byte) bool {
		e.pack.add(field)
		e.pack.add(value)
		return true
	})
	e.packed()
}

func (e *encoder) zset(s *zset.Set) {
	if typeOf(s) == typeZSetListpack {
		e.pack.reset()
		s.Ascend(0, func(entry zset.Entry) bool {
			e.packEntry(entry)
			return true
		})
		e.packed()
		return
	}
	e.length(s.Len())
	s.Ascend(0, func(entry zset.Entry) bool {
		if entry.IsNumber() {
			e.int(entry.Number())
		} else {
			e.string(entry.Member())
		}
		e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(entry.Score))
		e.flushIfLarge()
		return true
	})
}

// packEntry adds a member and its score, as an integer if it is one.
func (e *encoder) packEntry(entry zset.Entry) {
	if entry.IsNumber() {
		e.pack.addInt(entry.Number())
		e.pack.addInt(entry.Number())
		return
	}
	e.pack.add(bytesOf(entry.Member()))
	var text [32]byte
	e.pack.add(appendScore(text[:0], entry.Score))
}

// appendScore formats a score as Redis parses it.
func appendScore(b []byte, score float64) []byte {
	switch {
	case math.IsInf(score, 1):
		return append(b, "inf"...)
	case math.IsInf(score, -1):
		return append(b, "-inf"...)
	case score == math.Trunc(score) && math.Abs(score) < 1<<53:
		return strconv.AppendFloat(b, score, 'f', -1, 64)
	}
	return strconv.AppendFloat(b, score, 'g', -1, 64)
}
