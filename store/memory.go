package store

import (
	"math/bits"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
)

// This file counts the memory of the keyspace: docs/adr/0028. Each key stores a charge: the size of its value
// when it last changed. When the size changes, the difference goes to the shard's sum. So the sum is right at
// every instant, and a change that was not announced is made up for by the next one: removing a key subtracts
// its charge.

// A charge is a number of bytes as a floating-point number of 12 bits, in units of eight bytes. It is exact
// to eight bytes below 2 KB, and to 0.4% above.
type charge uint64

const (
	unit         = 8
	mantissaBits = 7
	mostExponent = 1<<(chargeBits-mantissaBits) - 2
)

// chargeFor returns the charge for size bytes.
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

// bytes returns the middle of the sizes with this charge.
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

// ValueBytes returns the memory that a node's value has outside of the node, in bytes. It takes constant
// time, and for limits no indirect call.
func ValueBytes(n *Node) (size int64) {
	if n.Value.hasSetHere() {
		size = n.Value.setHere().BodyBytes()
	} else if s := StringOf(n); s != nil {
		size = s.Memory()
	} else {
		size = DataOf(n).Memory()
	}
	if n.Value.word&farBit != 0 {
		size += int64(unsafe.Sizeof(farEntry{}))
	}
	return size
}

// Bytes returns the memory of a key in bytes: its name, its value, and its part of the table.
func Bytes(n *Node) int64 { return int64(n.Bytes()) + ValueBytes(n) }

// recount updates a node's charge to the current size of its value.
func (db *DB) recount(n *Node) {
	db.noteUnfinished(n)
	if is := chargeFor(ValueBytes(n)); is != n.Value.charge() {
		db.recharge(n, is)
	}
}

// Resized must be called after the memory of a node's value changed but not its content. It marks no watches
// and records nothing.
func (db *DB) Resized(n *Node) { db.recount(n) }

func (db *DB) recharge(n *Node, to charge) {
	i := shardIndex(n.Hash())
	db.shards[i].values += to.bytes() - n.Value.charge().bytes()
	n.Value.setCharge(to)
	db.account(i)
}

// account adds the change of a shard's memory since the last call to the sum over all databases.
func (db *DB) account(i int) {
	sh, l := &db.shards[i], &db.store.locks[i]
	index := sh.keys.TableBytes() + sh.deadlines.Bytes()
	if overhead := index + int64(sh.keys.Len())*nodeBytes; overhead != sh.accounted.Overhead {
		l.overhead.Add(overhead - sh.accounted.Overhead)
		sh.accounted.Overhead = overhead
	}
	if used := index + sh.keys.NodeBytes() + sh.values; used != sh.accounted.Used {
		grown := used - sh.accounted.Used
		l.used.Add(grown)
		sh.accounted.Used = used
		if sh.pending += grown; sh.pending > maxPending || sh.pending < -maxPending {
			db.store.used.Add(sh.pending)
			sh.pending = 0
		}
	}
}

// maxPending is how many bytes of each shard of a database UsedEstimate may lack. Adding each
// change to one sum would make all sessions write to one cache line.
const maxPending = 512

// UsedEstimate returns Memory().Used, to within maxPending for each shard, in the time of one load.
// It requires no shard.
func (s *Store) UsedEstimate() int64 { return s.used.Load() }

const nodeBytes = int64(unsafe.Sizeof(Node{}))

// Memory is the memory of the keyspace, in bytes.
type Memory struct {
	Used     int64 // all of it
	Overhead int64 // of Used: tables, nodes and the index of deadlines; not key names and values
}

// Memory returns the memory of all keys at this instant. It requires no shard.
func (s *Store) Memory() (m Memory) {
	for i := range s.locks {
		m.Used += s.locks[i].used.Load()
		m.Overhead += s.locks[i].overhead.Load()
	}
	return m
}

// RecountMemory computes Memory anew from every table and value; the two are always equal. It requires
// AllShards,
// and is for tests.
func (s *Store) RecountMemory() (m Memory) {
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

// StartupBytes returns the memory of an empty keyspace.
func StartupBytes() int64 {
	return alloc.Pointers(int(unsafe.Sizeof(Store{}))) + Databases*alloc.Pointers(int(unsafe.Sizeof(DB{})))
}
