package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// bzpop handles BZPOPMIN key [key ...] timeout, or BZPOPMAX if highest.
func bzpop(c *Ctx, highest bool) resp.Value {
	last := len(c.Args) - 1
	return popOrBlock(c, c.Args[1:last], c.Args[last], popper{isZSet, func(c *Ctx, n *store.Node) resp.Value {
		s := store.ZSetOf(n)
		e := s.At(0)
		if highest {
			e = s.At(s.Len() - 1)
		}
		c.didPopAt(n, zpopName(highest))
		out := c.Build(3)
		out.AddPair(resp.Bulk(n.Key()), memberValue(e))
		out.Add(resp.Double(e.Score))
		if highest {
			s.RemoveByRank(s.Len()-1, math.MaxInt)
		} else {
			s.RemoveByRank(0, 1)
		}
		c.DB.Modified(n)
		return out.Array()
	}})
}

func zpopName(highest bool) string {
	if highest {
		return "ZPOPMAX"
	}
	return "ZPOPMIN"
}

func isZSet(n *store.Node) bool { return store.ZSetOf(n) != nil }
