package rl

import (
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// A Kind is what a key holds: the state of an algorithm, or a value of one of Redis'
// types that is no such state. It is an index into KindCounts.By.
type Kind int

type keyKind struct {
	name  string
	units bool // keys of the kind hold units that can be counted
}

// kindsOfTypes is the kind of strings; the other types follow it.
var kindsOfTypes = Kind(len(algorithms))

// keyKinds are in INFO's order: the algorithms, then the types.
var keyKinds = func() (all []keyKind) {
	for _, a := range algorithms {
		all = append(all, keyKind{strings.ToLower(a.name), a.units != nil})
	}
	for t := range store.NumTypes {
		all = append(all, keyKind{name: t.String()})
	}
	return all
}()

// NumKinds returns the number of kinds. They are numbered from 0.
func NumKinds() int { return len(keyKinds) }

func (k Kind) String() string { return keyKinds[k].name }

// CountsHits reports whether keys of the kind hold units that can be counted.
func (k Kind) CountsHits() bool { return keyKinds[k].units }

// A KindCount counts the keys of one kind.
type KindCount struct {
	Keys  int64
	Hits  int64 // units, whether or not they still count; GCRA has none
	Bytes int64 // keys and values
}

// KindCounts counts the keys of a keyspace by kind.
type KindCounts struct {
	By  []KindCount // by Kind; nil: no key was counted
	ctx commands.Ctx
}

// Drain returns the counts and zeroes them.
func (x *KindCounts) Drain() []KindCount {
	by := x.By
	if by == nil {
		by = make([]KindCount, NumKinds())
	}
	x.By = nil
	return by
}

// Add counts a key, whose shard must be locked. It takes bounded time however large
// the value is.
func (x *KindCounts) Add(n *store.Node) {
	kind, hits := kindsOfTypes+Kind(store.TypeOf(store.DataOf(n))), int64(0)
	if a := algorithmOf(&x.ctx, n); a != nil {
		kind = Kind(slices.Index(algorithms, a))
		if a.units != nil {
			hits = a.units(&x.ctx, n)
		}
	}
	if x.By == nil {
		x.By = make([]KindCount, NumKinds())
	}
	h := &x.By[kind]
	h.Keys++
	h.Hits += hits
	h.Bytes += store.Bytes(n)
}
