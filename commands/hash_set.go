package commands

import (
	"strconv"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
)

// writeHash looks up the key in Args[1] for writing. If there is none, n is nil and the
// hash is empty and not yet in the keyspace; see wroteHash.
func writeHash(c *Ctx) (n *store.Node, h *hash.Hash, refusal resp.Value) {
	n = c.DB.Find(c.Args[1], c.NowMs)
	h, refusal = hashOf(n)
	if n == nil {
		h = &hash.Hash{}
	}
	return n, h, refusal
}

// wroteHash is called after fields of writeHash's hash were set.
func wroteHash(c *Ctx, n *store.Node, h *hash.Hash) {
	h.NoteEncoding(c.Settings.HashMaxListpackCount, c.Settings.HashMaxListpackValue)
	if n == nil {
		c.DB.Put(c.Args[1], h)
	} else {
		c.DB.Modified(n)
	}
}

// HSET key field value [field value ...]
func hset(c *Ctx) resp.Value {
	if len(c.Args)%2 != 0 {
		return WrongArity(c.Cmd)
	}
	n, h, refusal := writeHash(c)
	if refusal.IsError() {
		return refusal
	}
	added := int64(0)
	for i := 2; i < len(c.Args); i += 2 {
		if h.Set(c.Args[i], c.Args[i+1]) {
			added++
		}
	}
	wroteHash(c, n, h)
	return resp.Int(added)
}

// HMSET key field value [field value ...]
func hmset(c *Ctx) resp.Value {
	reply := hset(c)
	if reply.IsError() {
		return reply
	}
	return resp.OK
}

// HSETNX key field value
func hsetNX(c *Ctx) resp.Value {
	n, h, refusal := writeHash(c)
	if refusal.IsError() {
		return refusal
	}
	if _, ok := h.Get(c.Args[2]); ok {
		return resp.Int(0)
	}
	h.Set(c.Args[2], c.Args[3])
	wroteHash(c, n, h)
	return resp.Int(1)
}

// HDEL key field [field ...]
func hdel(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	h, refusal := hashOf(n)
	if h == nil {
		if refusal.IsError() {
			return refusal
		}
		return resp.Int(0)
	}
	removed := int64(0)
	for _, field := range c.Args[2:] {
		if h.Delete(field) {
			removed++
		}
	}
	if removed > 0 {
		c.DB.Modified(n)
	}
	return resp.Int(removed)
}

// HINCRBY key field increment
func hincrBy(c *Ctx) resp.Value {
	by, refusal := toInt(c.Args[3])
	if refusal.IsError() {
		return refusal
	}
	n, h, refusal := writeHash(c)
	if refusal.IsError() {
		return refusal
	}
	old := int64(0)
	if value, ok := h.Get(c.Args[2]); ok {
		if old, ok = parseInt(value); !ok {
			return errHashNotInteger
		}
	}
	sum := old + by
	if by > 0 && sum < old || by < 0 && sum > old {
		return errOverflow
	}
	var digits [20]byte
	h.Set(c.Args[2], strconv.AppendInt(digits[:0], sum, 10))
	wroteHash(c, n, h)
	return resp.Int(sum)
}

// HINCRBYFLOAT key field increment
func hincrByFloat(c *Ctx) resp.Value {
	by, ok := parseLongDouble(newLongDouble(), c.Args[3])
	if !ok {
		return errNotFloat
	}
	if by.IsInf() {
		return errHashByInfinity
	}
	n, h, refusal := writeHash(c)
	if refusal.IsError() {
		return refusal
	}
	sum := newLongDouble()
	if value, ok := h.Get(c.Args[2]); ok {
		if _, ok = parseLongDouble(sum, value); !ok {
			return errHashNotFloat
		}
	}
	text, ok := addLongDoubles(sum, by)
	if !ok {
		return errNaNOrInf
	}
	h.Set(c.Args[2], text)
	wroteHash(c, n, h)
	c.DidCall("HSET", c.Args[1], c.Args[2], text)
	return c.Copy(text)
}
