package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// bzpop runs BZPOPMIN key [key ...] timeout, and BZPOPMAX where highest.
func bzpop(c *Ctx, highest bool) resp.Value {
	return takeOrWait(c, isZSet, func(c *Ctx, n *store.Node) resp.Value {
		s := store.ZSetOf(n)
		e, name := s.At(0), "ZPOPMIN"
		if highest {
			e, name = s.At(s.Len()-1), "ZPOPMAX"
		}
		c.didPopAt(n, name)
		out := append(c.Values(3), resp.Bulk(n.Key()), memberValue(e), resp.Double(e.Score))
		if highest {
			s.RemoveByRank(s.Len()-1, math.MaxInt)
		} else {
			s.RemoveByRank(0, 1)
		}
		c.DB.Modified(n)
		return resp.Array(out...)
	})
}

func isZSet(n *store.Node) bool { return store.ZSetOf(n) != nil }
