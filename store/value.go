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
// A sorted set whose node has room is no value elsewhere: it is in the node, its body in the place of the
// pointer to a value and the rest in the room before it. That saves an allocation, eight bytes and a line of
// memory for each limit.
const (
	kindString uint64 = iota + 1 // 0: a node that Put has not yet filled
	kindList
	kindSet
	kindHash
	kindZSet
	kindZSetHere // a sorted set in the node
)

// Constants are not negative, so these two fail to compile unless the room and the pointer are a Set.
const (
	_ = uint(dict.RoomBytes-zset.HeadBytes) + uint(zset.HeadBytes-dict.RoomBytes)
	_ = -unsafe.Offsetof(Node{}.Value) - unsafe.Offsetof(Entry{}.data)
)

// setHere returns the sorted set in the node of an entry.
func (e *Entry) setHere() *zset.Set {
	return (*zset.Set)(unsafe.Add(unsafe.Pointer(e), -dict.RoomBytes))
}

// leaveNode gives a sorted set that is in a node a place of its own.
func leaveNode(n *Node) {
	if n.Value.word&kindMask != kindZSetHere<<kindAt {
		return
	}
	elsewhere := new(zset.Set)
	n.Value.setHere().MoveTo(elsewhere)
	n.Value.replace(unsafe.Pointer(elsewhere), kindZSet)
}

// emptySetHere makes the value of a node with room an empty sorted set in it, and returns that.
func emptySetHere(n *Node) *zset.Set {
	s := n.Value.setHere()
	*s = zset.Set{}
	n.Value.word = n.Value.word&^kindMask | kindZSetHere<<kindAt
	return s
}

// Replace sets the data of a node to one of the types that DataOf returns, and keeps it; a sorted set moves
// into the node if there is room, see zset.Set.MoveTo, and a nil one is empty. What was the node's data
// before must not be used any more. The deadline does not change. The caller marks watches by Modified.
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
			if here := emptySetHere(n); v != nil {
				v.MoveTo(here)
			}
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
	if n.Value.word&kindMask == kindZSetHere<<kindAt {
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
