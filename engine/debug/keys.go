package debug

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errNotSDS       = resp.Error("ERR Not an sds encoded string.")
	errNotListpack  = resp.Error("ERR Not a listpack encoded object.")
	errNotHashTable = resp.Error("ERR The value stored at the specified key is not represented using " +
		"an hash table")
	errNoDatabase = resp.Error("ERR Out of range database")
)

// find finds the key of a call, which it does not count as used.
func find(c *commands.Ctx) *store.Node { return c.DB.Examine(c.Args[2], c.NowMs) }

// findExpired is find also for a key that has expired.
func findExpired(c *commands.Ctx) *store.Node { return c.DB.Examine(c.Args[2], 0) }

// DEBUG OBJECT key
func object(c *commands.Ctx) resp.Value {
	n := findExpired(c)
	if n == nil {
		return commands.ErrNoSuchKey
	}
	idleS := c.DB.IdleSeconds(n, c.NowMs)
	return resp.Status(fmt.Sprintf(
		"Value at:0x0 refcount:%d encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d",
		c.RefCountOf(n), store.DataOf(n).Encoding(), c.SerializedLen(n),
		store.UseClock(c.NowMs-idleS*1000), idleS))
}

// DEBUG SDSLEN key
func sdsLen(c *commands.Ctx) resp.Value {
	n := findExpired(c)
	if n == nil {
		return commands.ErrNoSuchKey
	}
	s := store.StringOf(n)
	if s == nil || s.Encoding() == "int" {
		return errNotSDS
	}
	return resp.Status(fmt.Sprintf("key_sds_len:%d, key_sds_avail:0, key_zmalloc: %d, "+
		"val_sds_len:%d, val_sds_avail:0, val_zmalloc: %d",
		len(n.Key()), store.Bytes(n)-store.ValueBytes(n), s.Size(), store.ValueBytes(n)))
}

// DEBUG LISTPACK key
func listpack(c *commands.Ctx) resp.Value {
	switch n := find(c); {
	case n == nil:
		return commands.ErrNoSuchKey
	case store.DataOf(n).Encoding() != "listpack":
		return errNotListpack
	}
	return resp.OK
}

// DEBUG HTSTATS dbid
func htStats(c *commands.Ctx) resp.Value {
	index, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case index < 0 || index >= store.Databases:
		return errNoDatabase
	}
	var f store.Figures
	for shard := range store.NumShards {
		c.Store.AddFigures(&f, shard)
	}
	db := &f.DBs[index]
	return resp.Verbatim(fmt.Sprintf("[Dictionary HT]\n tables: %d\n number of elements: %d\n bytes: %d\n"+
		"[Expires HT]\n number of elements: %d\n bytes: %d\n",
		store.NumShards, db.Keys, db.MainBytes, db.Expiring, db.ExpiresBytes))
}

// DEBUG HTSTATS-KEY key
func htStatsKey(c *commands.Ctx) resp.Value {
	n := find(c)
	if n == nil {
		return commands.ErrNoSuchKey
	}
	data := store.DataOf(n)
	if encoding := data.Encoding(); encoding != "hashtable" && encoding != "skiplist" {
		return errNotHashTable
	}
	return resp.Verbatim(fmt.Sprintf(
		" number of elements: %d\n bytes: %d\n", data.Len(), store.ValueBytes(n)))
}

// DEBUG POPULATE count [prefix [size]]
//
// The i-th key is PREFIX:i, and its value value:i, cut or filled up with NULs to size bytes.
func populate(c *commands.Ctx) resp.Value {
	prefix, size := "key", int64(0)
	count, ok := positive(c.Args[2])
	if len(c.Args) > 3 {
		prefix = string(c.Args[3])
	}
	if len(c.Args) == 5 && ok {
		size, ok = positive(c.Args[4])
	}
	switch {
	case len(c.Args) > 5:
		return commands.WrongSubcommandArity(c)
	case !ok:
		return commands.ErrNotPositive
	case size > c.Settings.ProtoMaxBulkLen:
		return commands.ErrNotPositive
	}
	var key, value []byte
	for i := range count {
		key = strconv.AppendInt(append(append(key[:0], prefix...), ':'), i, 10)
		if c.DB.Examine(key, c.NowMs) != nil {
			continue
		}
		value = strconv.AppendInt(append(value[:0], "value:"...), i, 10)
		if size > 0 {
			value = append(value, make([]byte, max(size-int64(len(value)), 0))...)[:size]
		}
		c.CreateString(key, value)
	}
	return resp.OK
}

// positive parses a number that is not negative.
func positive(arg []byte) (int64, bool) {
	n, ok := store.ParseInt(arg)
	return n, ok && n >= 0 && n <= math.MaxInt32
}
