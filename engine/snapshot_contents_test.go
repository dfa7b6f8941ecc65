package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
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
func inWords(data any) string {
	var out []string
	switch v := data.(type) {
	case *store.String:
		return string(v.Bytes(nil))
	case *zset.Set:
		v.Ascend(0, func(e zset.Entry) bool {
			out = append(out, fmt.Sprint(e.Member(), "=", e.Score))
			return true
		})
		if len(out) != v.Len() {
			return "of another length"
		}
	case *hash.Hash:
		v.All(func(field, value []byte) bool {
			out = append(out, fmt.Sprintf("%s=%s", field, value))
			return true
		})
		slices.Sort(out) // what is removed while it is copied comes last
		if len(out) != v.Len() {
			return "of another length"
		}
	case *list.List:
		v.Ascend(0, func(e string) bool {
			out = append(out, e)
			return true
		})
		if len(out) != v.Len() {
			return "of another length"
		}
	case *set.Set:
		for m := range v.All() {
			out = append(out, m.Text())
		}
		slices.Sort(out)
		if len(out) != v.Len() {
			return "of another length"
		}
	}
	return fmt.Sprintf("%T[%s]", data, strings.Join(out, " "))
}
