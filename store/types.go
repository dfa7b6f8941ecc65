package store

import (
	"fmt"
	"unsafe"

	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A Value is what a key holds: a *String, *list.List, *set.Set, *zset.Set or *hash.Hash.
type Value interface {
	Len() int         // number of elements
	Memory() int64    // bytes, in constant time
	Encoding() string // as OBJECT ENCODING replies
}

// A Type is a type of value: an index into the tables of what a package knows of each.
type Type uint8

// The types, with Redis' numbers.
const (
	TypeString Type = iota
	TypeList
	TypeSet
	TypeZSet
	TypeHash
	NumTypes
)

// A typeRow is what the keyspace knows of a type.
type typeRow struct {
	name    string // as TYPE replies
	of      func(p unsafe.Pointer) Value
	clone   func(v Value) Value
	freeze  func(v Value) (Value, PendingCopy)
	inSteps bool // freeze may return a PendingCopy
}

var types = [NumTypes]typeRow{
	TypeString: rowOf[String]("string"),
	TypeList:   rowOf[list.List]("list"),
	TypeSet:    rowInSteps[set.Set, *set.Set, *set.View]("set"),
	TypeZSet:   rowOf[zset.Set]("zset"),
	TypeHash:   rowInSteps[hash.Hash, *hash.Hash, *hash.View]("hash"),
}

// typeOf returns the type of a value, and the pointer that an entry keeps.
func typeOf(v Value) (Type, unsafe.Pointer) {
	switch v := v.(type) {
	case *String:
		return TypeString, unsafe.Pointer(v)
	case *list.List:
		return TypeList, unsafe.Pointer(v)
	case *set.Set:
		return TypeSet, unsafe.Pointer(v)
	case *zset.Set:
		return TypeZSet, unsafe.Pointer(v)
	case *hash.Hash:
		return TypeHash, unsafe.Pointer(v)
	}
	panic(fmt.Sprintf("store: %T is not a value of the keyspace", v))
}

// rowOf returns the row of a type whose values are frozen at once.
func rowOf[T any, P interface {
	*T
	Value
	Clone() P
	Freeze() P
}](name string) typeRow {
	return typeRow{
		name:   name,
		of:     func(p unsafe.Pointer) Value { return P(p) },
		clone:  func(v Value) Value { return v.(P).Clone() },
		freeze: func(v Value) (Value, PendingCopy) { return v.(P).Freeze(), nil },
	}
}

// rowInSteps returns the row of a type whose large values are frozen in steps.
func rowInSteps[T any, P interface {
	*T
	Value
	Clone() P
	Freeze() (P, C)
}, C interface {
	comparable
	PendingCopy
}](name string) typeRow {
	return typeRow{
		name:  name,
		of:    func(p unsafe.Pointer) Value { return P(p) },
		clone: func(v Value) Value { return v.(P).Clone() },
		freeze: func(v Value) (Value, PendingCopy) {
			whole, pending := v.(P).Freeze()
			if pending == *new(C) {
				return whole, nil
			}
			return nil, pending
		},
		inSteps: true,
	}
}

// TypeOf returns the type of a value.
func TypeOf(v Value) Type {
	t, _ := typeOf(v)
	return t
}

// String returns the type's name, as TYPE replies.
func (t Type) String() string { return types[t].name }

// FreezesInSteps reports whether Freeze may return a PendingCopy for values of the type.
func (t Type) FreezesInSteps() bool { return types[t].inSteps }

// Clone returns a copy that shares nothing mutable with v.
func Clone(v Value) Value { return types[TypeOf(v)].clone(v) }

// Freeze returns a copy for another goroutine, which may iterate over it and call Len while v changes. If
// copying v would take long, Freeze returns a PendingCopy instead.
func Freeze(v Value) (Value, PendingCopy) { return types[TypeOf(v)].freeze(v) }

// A PendingCopy is a value that is copied in steps. Value is complete once Step reports that nothing
// is left. Step requires AllShards, because the key may have been renamed.
type PendingCopy interface {
	Step(count int) (more bool)
	Value() any
}
