package store

import (
	"math/bits"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// This file counts what the keyspace takes: docs/adr/0028. Each value knows its
// size, and what it was counted for when it last changed stands with the key, as
// a charge; the difference goes to the shard. So the sum is right at every
// instant, and nothing is lost by a change that was not announced: the next one
// makes up for it, and what a key is charged with leaves with the key.

// A charge is a number of bytes in 12 bits, a floating-point number: eight bytes
// times what the lower bits say. It is exact to eight bytes below 2 KB, and to
// 0.4% above.
type charge uint64

const (
	unit         = 8
	mantissaBits = 7
	mostExponent = 1<<(chargeBits-mantissaBits) - 2
)

// chargeFor returns the charge for so many bytes.
func chargeFor(size int64) charge {
	units := uint64(size+unit/2) / unit
	exponent := bits.Len64(units) - mantissaBits - 1
	if exponent <= 0 {
		return charge(units)
	}
	if exponent > mostExponent {
		return 1<<chargeBits - 1
	}
	return charge(uint64(exponent)<<mantissaBits + units>>exponent)
}

// bytes returns the middle of the sizes that have this charge.
func (c charge) bytes() int64 {
	exponent := int(c>>mantissaBits) - 1
	if exponent <= 0 {
		return int64(c) * unit
	}
	mantissa := int64(c) - int64(exponent)<<mantissaBits
	return (mantissa<<exponent + 1<<exponent/2) * unit
}

func (e *Entry) charge() charge { return charge(e.word & (1<<chargeBits - 1)) }

func (e *Entry) setCharge(c charge) { e.word = e.word&^(1<<chargeBits-1) | uint64(c) }

// ValueBytes returns the memory that a node's value takes, in bytes. It takes the
// same time however large the value is.
func ValueBytes(n *Node) int64 {
	size := int64(0)
	switch p, kind := n.Value.value(); kind {
	case kindString:
		size = (*String)(p).Memory()
	case kindList:
		size = (*list.List)(p).Bytes()
	case kindSet:
		size = (*set.Set)(p).Bytes()
	case kindHash:
		size = (*hash.Hash)(p).Bytes()
	case kindZSet:
		size = (*zset.Set)(p).Bytes()
	}
	if n.Value.word&farBit != 0 {
		size += int64(unsafe.Sizeof(farEntry{}))
	}
	return size
}

// Bytes returns the memory that a key takes, in bytes: its name, its value, and
// its place in the table.
func Bytes(n *Node) int64 { return int64(n.Bytes()) + ValueBytes(n) }

// recount charges a node with what its value takes now.
func (db *DB) recount(n *Node) {
	if is := chargeFor(ValueBytes(n)); is != n.Value.charge() {
		db.recharge(n, is)
	}
}

// Resized is called after a node's value was given other memory and says the same
// as before: nobody's watch is marked, nothing is recorded.
func (db *DB) Resized(n *Node) { db.recount(n) }

func (db *DB) recharge(n *Node, to charge) {
	i := n.Hash() >> (hashBits - shardBits)
	db.shards[i].values += to.bytes() - n.Value.charge().bytes()
	n.Value.setCharge(to)
	db.account(i)
}

// account adds what a shard takes more than when it was last looked at to what all
// databases take there.
func (db *DB) account(i uint32) {
	sh, l := &db.shards[i], &db.store.locks[i]
	index := sh.keys.TableBytes() + sh.deadlines.Bytes()
	if overhead := index + int64(sh.keys.Len())*nodeBytes; overhead != sh.counted.Overhead {
		l.overhead.Add(overhead - sh.counted.Overhead)
		sh.counted.Overhead = overhead
	}
	if used := index + sh.keys.NodeBytes() + sh.values; used != sh.counted.Used {
		l.used.Add(used - sh.counted.Used)
		sh.counted.Used = used
	}
}

const nodeBytes = int64(unsafe.Sizeof(Node{}))

// Memory is what the keyspace takes, in bytes.
type Memory struct {
	Used     int64 // all of it
	Overhead int64 // of that: tables, nodes and the index of deadlines; not the names and values of keys
}

// Memory returns what all keys take at this instant. It needs no shard.
func (s *Store) Memory() (m Memory) {
	for i := range s.locks {
		m.Used += s.locks[i].used.Load()
		m.Overhead += s.locks[i].overhead.Load()
	}
	return m
}

// Recount returns what Memory would, reckoned anew from every table and value. It
// requires AllShards, and is for tests: the two are always equal.
func (s *Store) Recount() (m Memory) {
	for _, db := range s.dbs {
		for i := range db.shards {
			sh := &db.shards[i]
			index := sh.keys.TableBytes() + sh.deadlines.Bytes()
			m.Overhead += index
			m.Used += index
			for n := range sh.keys.All() {
				m.Overhead += nodeBytes
				m.Used += int64(n.Bytes()-dict.BucketBytes) + chargeFor(ValueBytes(n)).bytes()
			}
		}
	}
	return m
}

// StartupBytes is what a keyspace takes before there is any key.
func StartupBytes() int64 {
	return alloc.Pointers(int(unsafe.Sizeof(Store{}))) + Databases*alloc.Pointers(int(unsafe.Sizeof(DB{})))
}
