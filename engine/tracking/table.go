package tracking

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/store"
)

// A table maps a key to the sessions that have read it since it last
// changed. As in Redis a key is a name, in whatever database it is.
//
// The part for the keys of a shard is protected by that shard's lock in the store,
// which a command that reads or changes the key holds; a name is in the same shard
// in every database. So the table needs no lock of its own, and a recorded read
// comes either before a change, which then invalidates it, or after it.
type table struct {
	shards [store.NumShards]map[string][]*reader // no slice is empty

	_     [120]byte    // two cache lines: reads write what follows, not what precedes
	keys  atomic.Int64 // in all shards
	items atomic.Int64 // pairs of a key and a reader
	_     [112]byte
}

// add records that a session has read a key. The key's shard must be locked, as for
// remove.
func (t *table) add(key []byte, by *reader) {
	i := store.ShardIndex(key)
	readers := t.shards[i][string(key)]
	at, known := slices.BinarySearchFunc(readers, by, compareReaders)
	if known {
		return
	}
	if t.shards[i] == nil {
		t.shards[i] = make(map[string][]*reader)
	}
	if len(readers) == 0 {
		t.keys.Add(1)
	}
	t.items.Add(1)
	t.shards[i][string(key)] = slices.Insert(readers, at, by)
}

// remove removes a key and returns its readers, in the order of their ids.
func (t *table) remove(key []byte) []*reader {
	i := store.ShardIndex(key)
	if len(t.shards[i]) == 0 {
		return nil
	}
	readers := t.shards[i][string(key)]
	if len(readers) > 0 {
		t.drop(i, string(key), readers)
	}
	return readers
}

func (t *table) drop(i int, key string, readers []*reader) {
	delete(t.shards[i], key)
	t.keys.Add(-1)
	t.items.Add(-int64(len(readers)))
}

// evict removes a key of the given shards, which must be locked, and returns it with
// its readers: any key of the shard at start or of the next one that has keys. It
// reports false if none has.
func (t *table) evict(shards store.ShardSet, start int) (key string, readers []*reader, ok bool) {
	for rest := bits.RotateLeft64(uint64(shards), -start); rest != 0; rest &= rest - 1 {
		i := (bits.TrailingZeros64(rest) + start) % store.NumShards
		for key, readers := range t.shards[i] {
			t.drop(i, key, readers)
			return key, readers, true
		}
	}
	return "", nil, false
}

// clear removes every key of the given shards, which must be locked.
func (t *table) clear(shards store.ShardSet) {
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
