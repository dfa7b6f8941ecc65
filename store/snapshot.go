package store

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/store/dict"
)

// A Snapshot emits every key of the keyspace, with its value and deadline, as they were when BeginSnapshot
// was called, while commands keep running. See docs/adr/0020.
//
// # Structure
//
// Every node carries a mark, and the store has an epoch of two states. BeginSnapshot changes the epoch: nodes
// whose mark differs from it have yet to be emitted. A new node gets the epoch's mark, and so does a node
// that is emitted. Nodes are emitted by the walk, which goes through the shards bucket by bucket and holds
// one shard for a bounded number of them, and by whoever is about to change a node before the walk has
// reached it: DB.Preserve for values, and this package's own methods for what they change.
//
// Invariant: while no snapshot is in progress, every node has the epoch's mark. So the walk has to be
// completed even after Abort.
type Snapshot struct {
	store   *Store
	emit    func(db int, n *Node)
	aborted atomic.Bool
	late    atomic.Int64
	dbs     [Databases]*DB // by their numbers when the snapshot began
	walks   [NumShards]shardWalk
	pending atomic.Int64 // shards whose walk has not ended
}

// A shardWalk is the progress of the snapshot in one shard, whose lock protects it.
type shardWalk struct {
	db         int    // database at which the walk is, and its cursor there
	cursor     uint64 // 0: at its start
	flushedDBs uint16 // bit set of databases whose part was flushed: their keys are newer
	flushed    []*flushedPart
	ended      bool
}

// flushedPart is a part of a shard that was flushed before the walk reached it. The walk owns it.
type flushedPart struct {
	db     int
	cursor uint64
	keys   dict.Dict[Entry]
}

// BeginSnapshot begins a snapshot, or returns nil if one is in progress. It requires AllShards, and takes
// constant time.
//
// emit is called once for each key, with the number that its database had when the snapshot began. Step and
// methods that change keys call it, so many goroutines do, each of which holds the key's shard. It must
// neither block nor take long, and the node is valid during the call only. Keys that had expired but were not
// reclaimed are emitted too.
func (s *Store) BeginSnapshot(emit func(db int, n *Node)) *Snapshot {
	if s.snapshot.Load() != nil {
		return nil
	}
	sn := &Snapshot{store: s, emit: emit, dbs: s.dbs}
	for i, db := range s.dbs {
		db.snapshotID = i
	}
	sn.pending.Store(NumShards)
	s.epoch = !s.epoch
	s.snapshot.Store(sn)
	return sn
}

// Snapshot returns the snapshot in progress, or nil if there is none.
func (s *Store) Snapshot() *Snapshot { return s.snapshot.Load() }

// Step advances the walk in one shard by about count nodes and buckets: it finishes the last bucket. It
// reports whether the shard has more. When no shard has, the snapshot has ended.
func (sn *Snapshot) Step(shard, count int) (more bool) {
	w := &sn.walks[shard]
	for count > 0 && !w.ended {
		count -= sn.stepBucket(w, shard)
	}
	return !w.ended
}

// stepBucket emits one bucket and returns its share of Step's count.
func (sn *Snapshot) stepBucket(w *shardWalk, shard int) (count int) {
	switch {
	case w.db < Databases && w.flushedDBs&(1<<w.db) != 0:
		w.db++
	case w.db < Databases:
		db := sn.dbs[w.db]
		count = db.emitBucket(&db.shards[shard].keys, &w.cursor)
		if w.cursor == 0 {
			w.db++
		}
	case len(w.flushed) > 0:
		f := w.flushed[len(w.flushed)-1]
		count = sn.dbs[f.db].emitBucket(&f.keys, &f.cursor)
		if f.cursor == 0 {
			w.flushed = w.flushed[:len(w.flushed)-1]
		}
	default:
		w.flushed, w.ended = nil, true
		if sn.pending.Add(-1) == 0 {
			sn.store.snapshot.Store(nil)
		}
	}
	return count
}

func (db *DB) emitBucket(keys *dict.Dict[Entry], cursor *uint64) (count int) {
	count = 1
	*cursor = keys.Scan(*cursor, func(n *Node) {
		count++
		db.preserve(n)
	})
	return count
}

// detach moves shard i of a database to the walk, because the database is about to drop it.
func (db *DB) detach(i int) {
	sn := db.store.snapshot.Load()
	if sn == nil {
		return
	}
	w := &sn.walks[i]
	keys := &db.shards[i].keys
	if db.snapshotID < w.db || w.flushedDBs&(1<<db.snapshotID) != 0 {
		return // everything in it has been emitted
	}
	f := &flushedPart{db: db.snapshotID, keys: *keys}
	if db.snapshotID == w.db {
		f.cursor, w.cursor = w.cursor, 0
	}
	w.flushedDBs |= 1 << db.snapshotID
	w.flushed = append(w.flushed, f)
}

// Abort makes the snapshot emit nothing more. The walk still has to run to its end before another snapshot
// can begin.
func (sn *Snapshot) Abort() { sn.aborted.Store(true) }

// Unpreserved returns how many keys were changed without having been preserved, so that the snapshot has a
// newer
// value of them. That is an error in a command's table row.
func (sn *Snapshot) Unpreserved() int64 { return sn.late.Load() }

// Preserve emits key's node if a snapshot is in progress and has not yet emitted it. It must be called before
// a value is changed in place.
func (db *DB) Preserve(key []byte) {
	hash := dict.Hash(key)
	if n := db.shardAt(hash).keys.Get(hash, key); n != nil {
		db.preserve(n)
	}
}

// preserve emits a node that has not yet been emitted.
func (db *DB) preserve(n *Node) {
	if n.Mark() != db.store.epoch {
		db.emit(n)
	}
}

func (db *DB) emit(n *Node) {
	n.SetMark(db.store.epoch)
	if sn := db.store.snapshot.Load(); !sn.aborted.Load() {
		sn.emit(db.snapshotID, n)
	}
}

// checkPreserved is called after a node's value was changed: it should have been preserved before.
func (db *DB) checkPreserved(n *Node) {
	if n.Mark() != db.store.epoch {
		db.store.snapshot.Load().late.Add(1)
		db.emit(n)
	}
}
