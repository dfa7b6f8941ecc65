package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/store"
)

// contents is what a keyspace holds, by database and key, in words.
type contents map[string]string

func (c contents) add(db int, n *store.Node) error {
	at, _ := n.Value.ExpireAtMs()
	return c.put(durable.Key{DB: db, Name: n.Key(), ExpireAtMs: at, Value: store.DataOf(n)})
}

func (c contents) put(k durable.Key) error {
	name := fmt.Sprintf("%d/%s", k.DB, k.Name)
	if _, twice := c[name]; twice {
		return fmt.Errorf("%s came twice", name)
	}
	c[name] = fmt.Sprintf("%s until %d", inWords(k.Value), k.ExpireAtMs)
	return nil
}

func (c contents) differs(want contents) string {
	for name, value := range want {
		if c[name] != value {
			return fmt.Sprintf("%s: %.200q, not %.200q", name, c[name], value)
		}
	}
	for name := range c {
		if _, there := want[name]; !there {
			return name + " is too much"
		}
	}
	return ""
}

func contentsOf(s *store.Store) contents {
	c := contents{}
	for db := range store.Databases {
		for n := range s.DB(db).All(math.MinInt64) {
			_ = c.add(db, n)
		}
	}
	return c
}

// inWords reads a value from one end to the other, as what is frozen allows.
func inWords(v store.Value) string {
	var out []string
	for elem, with := range commands.Elements(v) {
		out = append(out, fmt.Sprintf("%s=%s", elem, with))
	}
	if len(out) != v.Len() {
		return "of another length"
	}
	if store.TypeOf(v).FreezesInSteps() {
		slices.Sort(out) // what is removed while it is copied comes last
	}
	return fmt.Sprintf("%T[%s]", v, strings.Join(out, " "))
}
