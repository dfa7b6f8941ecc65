package store

import (
	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/zset"
)

// ReadAheadKeys is how many keys are read ahead at once.
const ReadAheadKeys = 16

// cachedBytes is the size of the keyspace below which reading ahead costs more than it saves, because most of
// it is in the processor's cache anyway.
const cachedBytes = 4 << 20

// ReadsAhead reports whether ReadAhead is worth calling: not while the processor's cache holds the keyspace.
func (s *Store) ReadsAhead() bool { return s.UsedEstimate() >= cachedBytes }

// ReadAhead reads the memory that lookups of keys will read, and that of their values, of the database with
// this number: one level for all keys before the next. So the processor waits for the lines of all keys
// together, not for one behind the other, and the commands that follow find them in its cache. See
// docs/adr/0052.
//
// It changes nothing, and does nothing if one of the keys' shards is locked.
func (s *Store) ReadAhead(database int, keys [][]byte) {
	var hashes [ReadAheadKeys]uint32
	keys = keys[:min(len(keys), ReadAheadKeys)]
	var set ShardSet
	for i, key := range keys {
		hashes[i] = dict.Hash(key)
		set |= OneShard(shardIndex(hashes[i]))
	}
	if !s.TryLock(set) {
		return
	}
	sum := s.dbs[database].readAhead(hashes[:len(keys)])
	s.Unlock(set)
	discard(sum)
}

// ReadAhead is Store.ReadAhead for every step-th of keys and for one more key, unless that is nil, up to
// ReadAheadKeys, whose shards are locked. A call about several keys uses it, if that is worth it.
func (db *DB) ReadAhead(keys [][]byte, step int, more []byte) {
	if len(keys) <= step && more == nil || !db.store.ReadsAhead() {
		return
	}
	var hashes [ReadAheadKeys]uint32
	n := 0
	if more != nil {
		hashes[n] = dict.Hash(more)
		n++
	}
	for at := 0; at < len(keys) && n < len(hashes); at += step {
		hashes[n] = dict.Hash(keys[at])
		n++
	}
	discard(db.readAhead(hashes[:n]))
}

// readAhead returns a number without meaning, so that the reads are not optimized away.
func (db *DB) readAhead(hashes []uint32) (sum byte) {
	var room [ReadAheadKeys]*Node
	nodes := room[:len(hashes)]
	for _, hash := range hashes {
		sum += db.shardAt(hash).keys.ReadAhead(hash)
	}
	for i, hash := range hashes {
		nodes[i] = db.shardAt(hash).keys.First(hash)
	}
	for i, hash := range hashes {
		for nodes[i] != nil && nodes[i].Hash() != hash {
			nodes[i] = nodes[i].Next()
		}
	}
	for step := range zset.ReadAheadSteps {
		for _, n := range nodes {
			if n != nil {
				sum += readValueAhead(n, step)
			}
		}
	}
	return sum
}

func readValueAhead(n *Node, step int) byte {
	if set := ZSetOf(n); set != nil {
		return set.ReadAhead(step)
	}
	if s := StringOf(n); s != nil {
		return s.readAhead(step)
	}
	p, _ := n.Value.value()
	if step > 0 || p == nil {
		return 0
	}
	return *(*byte)(p)
}

// readAhead reads the string in step 0, and the beginning of its bytes in step 1.
func (s *String) readAhead(step int) (sum byte) {
	const line, lines = 64, 4
	switch step {
	case 0:
		return byte(s.num)
	case 1:
		for at := 0; at < min(len(s.bytes), lines*line); at += line {
			sum += s.bytes[at]
		}
	}
	return sum
}

//go:noinline
func discard(byte) {}
