package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
)

// LSET key index element
func lset(c *Ctx) resp.Value {
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return ErrNoSuchKey
	}
	index, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	at, ok := indexIn(index, l.Len())
	if !ok {
		return errIndexOutOfRange
	}
	l.Set(at, c.Args[3])
	c.DB.Modified(n)
	return resp.OK
}

// LTRIM key start stop
func ltrim(c *Ctx) resp.Value {
	start, stop, refusal := parseIndexes(c)
	if refusal.IsError() {
		return refusal
	}
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.OK
	}
	before := l.Len()
	l.Trim(indexRange(start, stop, before))
	if l.Len() == before {
		c.didNothing()
	}
	c.DB.Modified(n) // as in Redis even if nothing was removed
	return resp.OK
}

// LREM key count element
func lrem(c *Ctx) resp.Value {
	count, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.Int(0)
	}
	fromBack := count < 0
	switch {
	case count == math.MinInt64:
		count = 0 // as in Redis: no bound, but from the end
	case fromBack:
		count = -count
	}
	removed := l.Remove(c.Args[3], int(count), fromBack)
	if removed > 0 {
		c.DB.Modified(n)
	}
	return resp.Int(int64(removed))
}

// LINSERT key <BEFORE | AFTER> pivot element
func linsert(c *Ctx) resp.Value {
	after := EqualFold(c.Args[2], "after")
	if !after && !EqualFold(c.Args[2], "before") {
		return ErrSyntax
	}
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.Int(0)
	}
	at, found := 0, false
	l.Ascend(0, func(elem string) bool {
		if found = elem == string(c.Args[3]); !found {
			at++
		}
		return !found
	})
	if !found {
		return resp.Int(-1)
	}
	if after {
		at++
	}
	l.Insert(at, c.Args[4])
	c.DB.Modified(n)
	return resp.Int(int64(l.Len()))
}
