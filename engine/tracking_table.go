package engine

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/store"
)

// A trackingTable says which sessions are to be told when a key changes: those
// that have read it since it last did. As in Redis a key is a name, in whatever
// database it is.
//
// The part for the keys of a shard is protected by that shard's lock of the
// keyspace, in which a key has the same place in every database: who reads or
// changes a key holds it. So there is no lock to wait for but those that the
// command has anyway, and a read that was remembered comes either before a
// change, which then tells of it, or behind it.
type trackingTable struct {
	shards [store.NumShards]map[string][]*tracker // none is without trackers

	_     [120]byte    // two cache lines: the rest is written by reads, the above is not
	keys  atomic.Int64 // in all shards
	items atomic.Int64 // pairs of a key and a tracker
	_     [112]byte
}

// shardIndex is the shard of a key.
func shardIndex(key []byte) int { return bits.TrailingZeros64(uint64(store.ShardOf(key))) }

// add remembers that a tracker's session has read a key. The key's shard must be
// held, as for remove.
func (t *trackingTable) add(key []byte, reader *tracker) {
	i := shardIndex(key)
	readers := t.shards[i][string(key)]
	at, known := slices.BinarySearchFunc(readers, reader, compareTrackers)
	if known {
		return
	}
	if t.shards[i] == nil {
		t.shards[i] = make(map[string][]*tracker)
	}
	if len(readers) == 0 {
		t.keys.Add(1)
	}
	t.items.Add(1)
	t.shards[i][string(key)] = slices.Insert(readers, at, reader)
}

// remove forgets a key and returns who had read it, in the order of their ids.
func (t *trackingTable) remove(key []byte) []*tracker {
	i := shardIndex(key)
	if len(t.shards[i]) == 0 {
		return nil
	}
	readers := t.shards[i][string(key)]
	if len(readers) > 0 {
		t.drop(i, string(key), readers)
	}
	return readers
}

func (t *trackingTable) drop(i int, key string, readers []*tracker) {
	delete(t.shards[i], key)
	t.keys.Add(-1)
	t.items.Add(-int64(len(readers)))
}

// evict removes any key of the given shards, which must be held, and returns
// it with those who had read it: from the shard at start or the next one that has
// any. It is not ok where none has.
func (t *trackingTable) evict(shards store.ShardSet, start int) (key string, readers []*tracker, ok bool) {
	for rest := bits.RotateLeft64(uint64(shards), -start); rest != 0; rest &= rest - 1 {
		i := (bits.TrailingZeros64(rest) + start) % store.NumShards
		for key, readers := range t.shards[i] {
			t.drop(i, key, readers)
			return key, readers, true
		}
	}
	return "", nil, false
}

// clear forgets every key of the given shards, which must be held.
func (t *trackingTable) clear(shards store.ShardSet) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		items := 0
		for _, readers := range t.shards[i] {
			items += len(readers)
		}
		t.keys.Add(-int64(len(t.shards[i])))
		t.items.Add(-int64(items))
		t.shards[i] = nil
	}
}
