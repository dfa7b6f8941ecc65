package store

import (
	"fmt"
	"unsafe"

	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// What a key holds is a bare pointer in its entry, and the entry's word says to
// what. An interface would be eight bytes more for each key, of which a server
// has millions, and the kinds are few and known. Only this file reads or writes
// either of the two.
const (
	kindString uint64 = iota + 1 // 0: a node that Put has yet to fill
	kindList
	kindSet
	kindHash
	kindZSet
)

// Replace makes a node hold other data, which is kept: one of the types that
// DataOf returns. The deadline stays. The caller marks watchers by Modified.
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
		kind, p = kindZSet, unsafe.Pointer(v)
	default:
		panic(fmt.Sprintf("store: %T is not a value of the keyspace", data))
	}
	n.Value.replace(p, kind)
}

// DataOf returns what a node holds: a *String, *list.List, *set.Set, *hash.Hash
// or *zset.Set. Who wants one of them only asks for that, below.
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

// StringOf returns a node's string, nil where it holds something else.
func StringOf(n *Node) *String { return (*String)(n.Value.holds(kindString)) }

// ListOf returns a node's list, nil where it holds something else.
func ListOf(n *Node) *list.List { return (*list.List)(n.Value.holds(kindList)) }

// SetOf returns a node's set, nil where it holds something else.
func SetOf(n *Node) *set.Set { return (*set.Set)(n.Value.holds(kindSet)) }

// HashOf returns a node's hash, nil where it holds something else.
func HashOf(n *Node) *hash.Hash { return (*hash.Hash)(n.Value.holds(kindHash)) }

// ZSetOf returns a node's sorted set, nil where it holds something else.
func ZSetOf(n *Node) *zset.Set { return (*zset.Set)(n.Value.holds(kindZSet)) }

// emptied reports whether a node holds a collection that has no elements: its
// key goes with the last one. A string stays, however short.
func emptied(n *Node) bool {
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
