package commands

import (
	"strings"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A Kind is what a key holds: the state of an algorithm, or a type of Redis' in
// which something else is. It is an index into the counts of a Census.
type Kind int

// heldKinds are named in the order in which INFO lists them: the algorithms, then
// the types.
var heldKinds []struct {
	name  string
	units bool // keys of the kind hold units that can be counted
}

var kindString, kindList, kindSet, kindZSet, kindHash Kind

// numberKinds makes the heldKinds from the algorithms.
func numberKinds() {
	add := func(name string, units bool) Kind {
		heldKinds = append(heldKinds, struct {
			name  string
			units bool
		}{name, units})
		return Kind(len(heldKinds) - 1)
	}
	for _, a := range algorithms {
		a.kind = add(strings.ToLower(a.name), a.units != nil)
	}
	for _, of := range []struct {
		name string
		kind *Kind
	}{{"string", &kindString}, {"list", &kindList}, {"set", &kindSet}, {"zset", &kindZSet}, {"hash", &kindHash}} {
		*of.kind = add(of.name, false)
	}
}

// NumKinds is how many heldKinds there are: they are numbered from 0.
func NumKinds() int { return len(heldKinds) }

// KindNamed returns the kind with a name, as String gives it. There must be one.
func KindNamed(name string) Kind {
	for i := range heldKinds {
		if heldKinds[i].name == name {
			return Kind(i)
		}
	}
	panic("commands: no kind " + name)
}

func (k Kind) String() string { return heldKinds[k].name }

// CountsHits reports whether keys of the kind hold units that can be counted.
func (k Kind) CountsHits() bool { return heldKinds[k].units }

// Held is what the keys of one kind hold together.
type Held struct {
	Keys  int64
	Hits  int64 // units held, whether or not they still count; GCRA keeps none
	Bytes int64 // keys and values
}

// A Census counts what a keyspace holds, key by key.
type Census struct {
	By  []Held // by Kind; nil: nothing was counted
	ctx Ctx
}

// Take returns the counts, and begins anew.
func (x *Census) Take() []Held {
	by := x.By
	if by == nil {
		by = make([]Held, NumKinds())
	}
	x.By = nil
	return by
}

// Add counts a key. Its shard is held; the work is bounded however much the key
// holds.
func (x *Census) Add(n *store.Node) {
	kind, hits := kindHash, int64(0)
	switch store.DataOf(n).(type) {
	case *store.String:
		kind = kindString
	case *list.List:
		kind = kindList
	case *set.Set:
		kind = kindSet
	case *zset.Set:
		kind = kindZSet
	}
	if a := x.ctx.holder(n); a != nil {
		kind = a.kind
		if a.units != nil {
			hits = a.units(&x.ctx, n)
		}
	}
	if x.By == nil {
		x.By = make([]Held, NumKinds())
	}
	h := &x.By[kind]
	h.Keys++
	h.Hits += hits
	h.Bytes += store.Bytes(n)
}
