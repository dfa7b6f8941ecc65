package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// OBJECT ENCODING key
func objectEncoding(c *Ctx) resp.Value {
	n := c.DB.Inspect(c.Args[2], c.NowMs)
	if n == nil {
		return resp.Null
	}
	return resp.Bulk(EncodingOf(n))
}

// EncodingOf returns the encoding of a key's value, by Redis' names.
func EncodingOf(n *store.Node) string {
	switch v := store.DataOf(n).(type) {
	case *store.String:
		return v.Encoding()
	case *zset.Set:
		if v.IsListpack() {
			return "listpack"
		}
		return "skiplist"
	case *set.Set:
		if v.IsIntset() {
			return "intset"
		}
		return "hashtable"
	case *hash.Hash:
		if v.IsListpack() {
			return "listpack"
		}
		return "hashtable"
	case *list.List:
		return "quicklist" // of any size: only Redis 7.2 has listpacks for small ones
	}
	panic("commands: a value of unknown type in the keyspace")
}

// OBJECT FREQ key
func objectFreq(c *Ctx) resp.Value {
	n := c.DB.Inspect(c.Args[2], c.NowMs)
	if n == nil {
		return resp.Null
	}
	count, ok := c.DB.Frequency(n, c.NowMs)
	if !ok {
		return errNoLFU
	}
	return resp.Int(count)
}

// OBJECT IDLETIME key
func objectIdleTime(c *Ctx) resp.Value {
	n := c.DB.Inspect(c.Args[2], c.NowMs)
	if n == nil {
		return resp.Null
	}
	if _, frequency := c.DB.Frequency(n, c.NowMs); frequency {
		return errLFU
	}
	return resp.Int(c.DB.IdleSeconds(n, c.NowMs))
}

// sharedIntegers is how many integers from 0 on are shared objects in Redis, whose
// reference count shows as math.MaxInt32, unless keys are evicted by their use.
const sharedIntegers = 10_000

// OBJECT REFCOUNT key
func objectRefCount(c *Ctx) resp.Value {
	n := c.DB.Inspect(c.Args[2], c.NowMs)
	if n == nil {
		return resp.Null
	}
	return resp.Int(c.RefCountOf(n))
}

// RefCountOf returns the reference count of a key's value, as Redis counts.
func (c *Ctx) RefCountOf(n *store.Node) int64 {
	if s := store.StringOf(n); s != nil && !c.Settings.EvictsByUse {
		if number, ok := s.Int(); ok && number >= 0 && number < sharedIntegers {
			return math.MaxInt32
		}
	}
	return 1
}
