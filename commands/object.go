package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// OBJECT ENCODING key
func objectEncoding(c *Ctx) resp.Value {
	n := c.DB.Inspect(c.Args[2], c.NowMs)
	if n == nil {
		return resp.Null
	}
	return resp.Bulk(store.DataOf(n).Encoding())
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
