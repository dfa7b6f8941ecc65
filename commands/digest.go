package commands

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
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

// mixElement has how an element of each type changes the digest of its value.
var mixElement = [store.NumTypes]func(d *digest, elem, with []byte){
	store.TypeString: func(d *digest, elem, _ []byte) { d.mix(elem) },
	store.TypeList:   func(d *digest, elem, _ []byte) { d.mix(elem) },
	store.TypeSet:    func(d *digest, elem, _ []byte) { d.add(elem) },
	store.TypeZSet:   (*digest).addPair,
	store.TypeHash:   (*digest).addPair,
}

// addPair adds a field and its value, or a member and its score.
func (d *digest) addPair(elem, with []byte) {
	var e digest
	e.mix(elem)
	e.mix(with)
	d.add(e[:])
}

// mixValue changes d by a key's value and by whether it has a deadline.
func (d *digest) mixValue(n *store.Node) {
	data := store.DataOf(n)
	t := store.TypeOf(data)
	d.mixInt(int(t))
	for elem, with := range Elements(data) {
		mixElement[t](d, elem, with)
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
