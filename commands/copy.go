package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// otherDB reads the number of a database and returns the database. A key's shard has
// the same lock in every database.
func otherDB(c *Ctx, arg []byte) (*store.DB, resp.Value) {
	index, refusal := toInt(arg)
	switch {
	case refusal.IsError():
		return nil, refusal
	case index < math.MinInt32 || index > math.MaxInt32:
		return nil, errIntRange
	case index < 0 || index >= store.Databases:
		return nil, ErrDBIndex
	}
	return c.Store.DB(int(index)), resp.None
}

// COPY source destination [DB destination-db] [REPLACE]
func copyKey(c *Ctx) resp.Value {
	to, replace := c.DB, false
	for o := (options{c.Args[3:]}); o.more(); {
		switch {
		case o.word("replace"):
			replace = true
		case o.wordWith("db", 1):
			var refusal resp.Value
			if to, refusal = otherDB(c, o.value()); refusal.IsError() {
				return refusal
			}
		default:
			return ErrSyntax
		}
	}
	if to != c.DB && c.Settings.Cluster {
		return errCopyInCluster
	}
	if to == c.DB && string(c.Args[1]) == string(c.Args[2]) {
		return errSameObject
	}
	n := c.DB.Lookup(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Int(0)
	}
	if old := to.Find(c.Args[2], c.NowMs); old != nil {
		if !replace {
			return resp.Int(0)
		}
		to.DeleteForReplace(old) // not overwritten, because blocked sessions must see the key created
	}
	made := to.Put(c.Args[2], store.Clone(store.DataOf(n)))
	if atMs, ok := n.Value.ExpireAtMs(); ok {
		to.ExpireAt(made, atMs)
	}
	return resp.Int(1)
}

// MOVE key db
func move(c *Ctx) resp.Value {
	if c.Settings.Cluster {
		return NotInCluster(c.Cmd)
	}
	to, refusal := otherDB(c, c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	if to == c.DB {
		return errSameObject
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	if n == nil || to.Find(c.Args[1], c.NowMs) != nil {
		return resp.Int(0)
	}
	c.DB.MoveTo(n, to, c.Args[1])
	if g := c.Group(); g != nil {
		g.Note(c.DB.ID(), eventMoveFrom, c.Args[1])
		g.Note(to.ID(), eventMoveTo, c.Args[1])
	}
	return resp.Int(1)
}
