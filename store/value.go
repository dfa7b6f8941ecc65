package store

import (
	"fmt"
	"unsafe"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// The value of a key is a bare pointer in its entry; the entry's word has its kind. An interface would take
// eight more bytes for each key, of which a server has millions. Only this file reads or writes the pointer
// and the kind.
//
// If the node of a sorted set has room, the set is in the node: its body takes the place of the pointer, and
// its other fields are in the room. This saves an allocation, eight bytes and a cache line for each limit.
const (
	kindString uint64 = iota + 1 // 0: a node that Put has not yet filled
	kindList
	kindSet
	kindHash
	kindZSet
	kindZSetHere // a sorted set in the node
)

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
	n.Value.replace(unsafe.Pointer(elsewhere), kindZSet)
}

// Replace sets the data of a node to one of the types that DataOf returns, and keeps it. A sorted set moves
// into the node if the node has room (see zset.Set.MoveTo); a nil one stands for an empty one. The previous
// data must not be used afterwards. The deadline does not change. The caller marks watches by Modified.
func Replace(n *Node, data any) {
	var kind uint64
	var p unsafe.Pointer
	switch v := data.(type) {
	case *String:
		kind, p = kindString, unsafe.Pointer(v)
	case *list.List:
		kind, p = kindList, unsafe.Pointer(v)
	case *set.Set:
		kind, p = kindSet, unsafe.Pointer(v)
	case *hash.Hash:
		kind, p = kindHash, unsafe.Pointer(v)
	case *zset.Set:
		if n.Room() != nil && n.Value.word&farBit == 0 {
			here := n.Value.setHere()
			*here = zset.Set{}
			if v != nil {
				v.MoveTo(here)
			}
			n.Value.word = n.Value.word&^kindMask | kindZSetHere<<kindAt
			return
		}
		if v == nil {
			v = new(zset.Set)
		}
		kind, p = kindZSet, unsafe.Pointer(v)
	default:
		panic(fmt.Sprintf("store: %T is not a value of the keyspace", data))
	}
	n.Value.replace(p, kind)
}

// DataOf returns a node's data: a *String, *list.List, *set.Set, *hash.Hash or *zset.Set. The functions below
// return one type only.
func DataOf(n *Node) any {
	switch p, kind := n.Value.value(); kind {
	case kindString:
		return (*String)(p)
	case kindList:
		return (*list.List)(p)
	case kindSet:
		return (*set.Set)(p)
	case kindHash:
		return (*hash.Hash)(p)
	case kindZSet:
		return (*zset.Set)(p)
	}
	panic("store: a node that holds nothing")
}

// StringOf returns a node's string, or nil if it holds another type.
func StringOf(n *Node) *String { return (*String)(n.Value.as(kindString)) }

// ListOf returns a node's list, or nil if it holds another type.
func ListOf(n *Node) *list.List { return (*list.List)(n.Value.as(kindList)) }

// SetOf returns a node's set, or nil if it holds another type.
func SetOf(n *Node) *set.Set { return (*set.Set)(n.Value.as(kindSet)) }

// HashOf returns a node's hash, or nil if it holds another type.
func HashOf(n *Node) *hash.Hash { return (*hash.Hash)(n.Value.as(kindHash)) }

// ZSetOf returns a node's sorted set, or nil if it holds another type.
func ZSetOf(n *Node) *zset.Set {
	if n.Value.hasSetHere() {
		return n.Value.setHere()
	}
	return (*zset.Set)(n.Value.as(kindZSet))
}

// isEmpty reports whether a node holds a collection without elements, whose key is removed. A string is kept,
// however short.
func isEmpty(n *Node) bool {
	switch p, kind := n.Value.value(); kind {
	case kindList:
		return (*list.List)(p).Len() == 0
	case kindSet:
		return (*set.Set)(p).Len() == 0
	case kindHash:
		return (*hash.Hash)(p).Len() == 0
	case kindZSet:
		return (*zset.Set)(p).Len() == 0
	}
	return false
}
