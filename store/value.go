package store

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// The value of a key is a bare pointer in its entry; the entry's word has its kind: its Type plus one, and 0
// in a node that Put has not yet filled. An interface would take eight more bytes for each key, and a
// server has millions. Only this file and entry.go read or write the pointer and the kind.
//
// If the node of a sorted set has room, the set is in the node: its body takes the place of the pointer, and
// its other fields are in the room. This saves an allocation, eight bytes and a cache line for each limit.
const kindZSetHere = uint64(NumTypes) + 1

// Unsigned constants cannot be negative, so these do not compile unless the room and the pointer after it
// have the layout of a Set.
const (
	_ = uint(dict.RoomBytes-zset.BodyOffset) + uint(zset.BodyOffset-dict.RoomBytes)
	_ = -unsafe.Offsetof(Node{}.Value) - unsafe.Offsetof(Entry{}.data)
	_ = -(unsafe.Sizeof(zset.Set{}) - zset.BodyOffset - unsafe.Sizeof(Entry{}.data))
)

// hasSetHere reports whether the value is a sorted set in the node.
func (e *Entry) hasSetHere() bool { return e.word&kindMask == kindZSetHere<<kindAt }

// setHere returns the sorted set in the node of an entry.
func (e *Entry) setHere() *zset.Set {
	return (*zset.Set)(unsafe.Add(unsafe.Pointer(e), -dict.RoomBytes))
}

// leaveNode moves a sorted set out of its node, if it is in it.
func leaveNode(n *Node) {
	if !n.Value.hasSetHere() {
		return
	}
	elsewhere := new(zset.Set)
	n.Value.setHere().MoveTo(elsewhere)
	n.Value.replace(unsafe.Pointer(elsewhere), TypeZSet)
}

// Replace sets the data of a node, and keeps it. A sorted set moves into the node if the node has room (see
// zset.Set.MoveTo); a nil one stands for an empty one. The previous data must not be used afterwards. The
// deadline does not change. The caller marks watches by Modified.
func Replace(n *Node, data Value) {
	t, p := typeOf(data)
	if t == TypeZSet {
		if n.Room() != nil && n.Value.word&farBit == 0 {
			here := n.Value.setHere()
			*here = zset.Set{}
			if p != nil {
				(*zset.Set)(p).MoveTo(here)
			}
			n.Value.word = n.Value.word&^kindMask | kindZSetHere<<kindAt
			return
		}
		if p == nil {
			p = unsafe.Pointer(new(zset.Set))
		}
	}
	n.Value.replace(p, t)
}

// DataOf returns a node's data. The functions below return one type only.
func DataOf(n *Node) Value {
	p, t := n.Value.value()
	return types[t].of(p)
}

// StringOf returns a node's string, or nil if it holds another type.
func StringOf(n *Node) *String { return (*String)(n.Value.as(TypeString)) }

// ListOf returns a node's list, or nil if it holds another type.
func ListOf(n *Node) *list.List { return (*list.List)(n.Value.as(TypeList)) }

// SetOf returns a node's set, or nil if it holds another type.
func SetOf(n *Node) *set.Set { return (*set.Set)(n.Value.as(TypeSet)) }

// HashOf returns a node's hash, or nil if it holds another type.
func HashOf(n *Node) *hash.Hash { return (*hash.Hash)(n.Value.as(TypeHash)) }

// ZSetOf returns a node's sorted set, or nil if it holds another type.
func ZSetOf(n *Node) *zset.Set {
	if n.Value.hasSetHere() {
		return n.Value.setHere()
	}
	return (*zset.Set)(n.Value.as(TypeZSet))
}

// isEmpty reports whether a node holds a collection without elements, whose key is removed. A string is kept,
// however short. Limits are sorted sets and strings, which it asks without an indirect call.
func isEmpty(n *Node) bool {
	if s := ZSetOf(n); s != nil {
		return s.Len() == 0
	}
	return StringOf(n) == nil && DataOf(n).Len() == 0
}
