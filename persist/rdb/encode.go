package rdb

import (
	"encoding/binary"
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

// A typeRow is how the values of a type are written.
type typeRow struct {
	typ    func(v store.Value) byte // follows its encoding
	encode func(e *encoder, v store.Value)
}

var types = [store.NumTypes]typeRow{
	store.TypeString: rowOf(func(*store.String) byte { return typeString }, (*encoder).stringValue),
	store.TypeList:   rowOf(func(*list.List) byte { return typeListQuicklist2 }, (*encoder).list),
	store.TypeSet:    rowOf(setType, (*encoder).set),
	store.TypeZSet:   rowOf(zsetType, (*encoder).zset),
	store.TypeHash:   rowOf(hashType, (*encoder).hash),
}

func rowOf[V store.Value](typ func(V) byte, encode func(*encoder, V)) typeRow {
	return typeRow{
		func(v store.Value) byte { return typ(v.(V)) },
		func(e *encoder, v store.Value) { encode(e, v.(V)) },
	}
}

// typeOf returns the type that a value is written as.
func typeOf(v store.Value) byte { return types[store.TypeOf(v)].typ(v) }

// value appends a value without its type.
func (e *encoder) value(v store.Value) { types[store.TypeOf(v)].encode(e, v) }

func (e *encoder) stringValue(s *store.String) {
	if n, ok := s.Int(); ok {
		e.int(n)
		return
	}
	e.text(s.Bytes(nil))
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

func setType(s *set.Set) byte {
	if s.IsIntset() {
		return typeSetIntset
	}
	return typeSet
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

func hashType(h *hash.Hash) byte {
	if h.IsListpack() && h.Len() <= packLimit {
		return typeHashListpack
	}
	return typeHash
}

func (e *encoder) hash(h *hash.Hash) {
	if hashType(h) == typeHash {
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

func zsetType(s *zset.Set) byte {
	if s.IsListpack() && s.Len() <= packLimit {
		return typeZSetListpack
	}
	return typeZSet2
}

func (e *encoder) zset(s *zset.Set) {
	if zsetType(s) == typeZSetListpack {
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
