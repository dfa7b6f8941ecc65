package commands

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A digest is Redis' hash of data. Two servers with equal data have equal digests, however
// they store it: what has an order is mixed, what has none is added. Nothing relies on the
// strength of SHA-1.
type digest [sha1.Size]byte

// add changes d by data, in any order with other calls of add.
func (d *digest) add(data []byte) {
	for i, b := range sha1.Sum(data) {
		d[i] ^= b
	}
}

// mix changes d by data so that the order of calls matters.
func (d *digest) mix(data []byte) {
	d.add(data)
	*d = sha1.Sum(d[:])
}

// mixInt mixes a number of 32 bits.
func (d *digest) mixInt(n int) { d.mix(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func (d *digest) reply() resp.Value { return resp.Status(hex.EncodeToString(d[:])) }

// Redis' numbers of the types of values.
const (
	digestString = iota
	digestList
	digestSet
	digestZSet
	digestHash
)

// element returns the digest of what belongs together: a field and its value, or a member
// and its score.
func element(parts ...[]byte) *digest {
	var d digest
	for _, p := range parts {
		d.mix(p)
	}
	return &d
}

// mixValue changes d by a key's value and by whether it has a deadline.
func (d *digest) mixValue(n *store.Node) {
	switch v := store.DataOf(n).(type) {
	case *store.String:
		d.mixInt(digestString)
		d.mix(v.Bytes(nil))
	case *list.List:
		d.mixInt(digestList)
		v.Ascend(0, func(elem string) bool {
			d.mix([]byte(elem))
			return true
		})
	case *set.Set:
		d.mixInt(digestSet)
		for m := range v.All() {
			d.add(m.AppendText(nil))
		}
	case *zset.Set:
		d.mixInt(digestZSet)
		v.Ascend(0, func(entry zset.Entry) bool {
			e := element(entry.AppendMember(nil), resp.AppendFloat(nil, entry.Score))
			d.add(e[:])
			return true
		})
	case *hash.Hash:
		d.mixInt(digestHash)
		v.All(func(field, value []byte) bool {
			e := element(field, value)
			d.add(e[:])
			return true
		})
	}
	if _, expires := n.Value.ExpireAtMs(); expires {
		d.add([]byte("!!expire!!"))
	}
}

// DigestKeyspace is DEBUG DIGEST.
func DigestKeyspace(c *Ctx) resp.Value {
	var whole digest
	for i := range store.Databases {
		first := true
		for n := range c.Store.DB(i).All(0) { // expired ones, too, as in Redis
			if first {
				whole.mixInt(i)
				first = false
			}
			var d digest
			d.mix([]byte(n.Key()))
			d.mixValue(n)
			whole.add(d[:])
		}
	}
	return whole.reply()
}

// DigestValues is DEBUG DIGEST-VALUE [key ...].
func DigestValues(c *Ctx) resp.Value {
	out := make([]resp.Value, 0, len(c.Args)-2)
	for _, key := range c.Args[2:] {
		var d digest
		if n := c.DB.View(key, 0); n != nil { // also if it has expired, as in Redis
			d.mixValue(n)
		}
		out = append(out, d.reply())
	}
	return resp.Array(out...)
}
