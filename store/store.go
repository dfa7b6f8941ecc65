// Package store is the keyspace: sixteen databases of keys with values and deadlines, split into shards that
// are locked one by one.
//
// There is one map and one entry type for every kind of value, so that expiry on read, removal of empty
// collections and the marking of watches each exist once. The package knows the kinds of values and when each
// is empty. It parses no arguments and makes no replies.
//
// # Locking
//
// A shard's lock protects that shard of every database: its keys, values, deadlines and watches. Nothing in
// this package acquires a lock except Lock, LockOrCancel and TryLock. The session locks the shards of a
// command's keys (ShardOf) before it calls the handler. Unless they say otherwise, methods require the shards
// of their keys, or those that they are given, to be held; methods that walk the keyspace require AllShards.
// Handlers cannot lock, so they cannot deadlock.
//
// This package is internal to zlimit: it may change in any release.
package store

import (
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/expire"
)

// Databases is the number of databases, as Redis has by default.
const Databases = 16

const (
	shardBits = 6
	hashBits  = 32
)

// cacheLine is the unit in which processors take memory from each other, in bytes.
const cacheLine = 64

// NumShards is the number of shards of each database.
const NumShards = 1 << shardBits

// A ShardSet is a set of shards, one bit each.
type ShardSet uint64

// AllShards is the whole keyspace.
const AllShards = ^ShardSet(0)

// ShardOf returns the shard of key, in every database.
func ShardOf(key []byte) ShardSet { return OneShard(ShardIndex(key)) }

// OneShard returns the set of shard i.
func OneShard(i int) ShardSet { return 1 << uint(i) }

// Has reports whether shard i is in the set.
func (set ShardSet) Has(i int) bool { return set&OneShard(i) != 0 }

// ShardIndex returns the number of key's shard.
func ShardIndex(key []byte) int { return shardIndex(dict.Hash(key)) }

func shardIndex(hash uint32) int { return int(hash >> (hashBits - shardBits)) }

// Store is the keyspace. Make one with New.
type Store struct {
	locks [NumShards]paddedLock
	dbs   [Databases]*DB

	// watched[i] belongs to shard i. Its keys have the number of a database, so Swap leaves it alone.
	watched [NumShards]dict.Dict[watchedKeys]

	_           [cacheLine]byte
	used        atomic.Int64 // see UsedEstimate; written by every shard, so it has lines of its own
	_           [cacheLine]byte
	watches     atomic.Int64 // number of watched keys, over all watches
	watchers    atomic.Int64 // number of watches that have keys
	watchedKeys atomic.Int64 // number of keys that some watch has

	stamping atomic.Pointer[stamping] // see use.go
	pools    [NumShards]evictionPool  // each belongs to its shard; see evict.go

	// expired[i] counts the expired keys of shard i in all databases, for those who hold no lock.
	expired [NumShards]atomic.Int64

	waiting     waiting
	keepExpired atomic.Uint32 // KeepReasons: unless 0, expired keys are not removed; see KeepExpired
	zeroS       atomic.Uint32 // see StampZeroAs

	prefixes atomic.Pointer[prefixTable] // the limits as last set; nil: there were none; see prefix.go
	walked   atomic.Pointer[prefixTable] // by which every shard counts
	// counted[i] belongs to shard i. nil: its keys are not counted by prefix.
	counted [NumShards]*shardPrefixes

	// unfinished[i] belongs to shard i: nodes whose values have work left, with their databases. See
	// finish.go.
	unfinished [NumShards]map[*Node]*DB

	snapshot atomic.Pointer[Snapshot] // in progress; set under AllShards
	// epoch is the mark of nodes that the snapshot need not emit. Any shard protects it for reading;
	// changing it requires AllShards.
	epoch bool
}

// DB is one database. See the package comment for the locks that its methods require.
type DB struct {
	store      *Store
	id         int
	index      int      // its number when the store was made
	snapshotID int      // its number when the last snapshot began
	_          [32]byte // the first shard begins a cache line
	shards     [NumShards]shard
}

type shard struct {
	keys          dict.Dict[Entry]
	expiring      int   // keys with a deadline
	deadlineSumMs int64 // sum of their deadlines; see figures.go
	deadlines     expire.Index
	stats         Stats
	values        int64    // charges of all keys; see memory.go
	pending       int64    // of accounted.Used, not yet in Store.used
	accounted     Memory   // what the sum over all databases contains of this shard
	usedAtS       uint32   // time of the last lookup, in unix seconds; see use.go
	_             [52]byte // no two shards share a cache line
}

// Node is a key with its entry. Its address is stable while the key exists.
type Node = dict.Node[Entry]

// Stats counts what INFO reports of the keyspace, since start or CONFIG RESETSTAT.
type Stats struct {
	Hits, Misses uint64 // lookups that found a key, or did not
	Expired      uint64 // keys removed because their deadline had passed
}

// A keyspace is a store with its databases. It is one object, so large that Go puts it at the begin of a
// page: smaller ones with pointers begin 8 bytes after the begin of a cache line.
type keyspace struct {
	store Store
	_     [cacheLine - unsafe.Sizeof(Store{})%cacheLine]byte
	dbs   [Databases]DB
}

// New returns an empty keyspace.
func New() *Store {
	all := new(keyspace)
	s := &all.store
	s.SetStamps(StampTime, 0, 0)
	for i := range s.dbs {
		db := &all.dbs[i]
		db.store, db.id, db.index = s, i, i
		s.dbs[i] = db
	}
	return s
}

// DB returns database i, 0 <= i < Databases. Swap may change which database that is, so the result is valid
// only while a lock is held.
func (s *Store) DB(i int) *DB { return s.dbs[i] }

// Swap exchanges two databases. It requires AllShards.
func (s *Store) Swap(i, j int, nowMs int64) {
	s.recordDB(effects.Swapped, i, j)
	if i == j {
		return
	}
	a, b := s.dbs[i], s.dbs[j]
	s.touchAll(i, a, b, nowMs)
	s.touchAll(j, b, a, nowMs)
	s.dbs[i], s.dbs[j] = b, a
	a.id, b.id = j, i
	s.signalSwapped(i)
	s.signalSwapped(j)
}

// ResetStats sets every counter to zero. It requires AllShards.
func (s *Store) ResetStats() {
	for _, db := range s.dbs {
		for i := range db.shards {
			db.shards[i].stats = Stats{}
		}
	}
	for i := range s.expired {
		s.expired[i].Store(0)
	}
	s.resetRefused()
}

// ID returns the database's number.
func (db *DB) ID() int { return db.id }

func (db *DB) shardAt(hash uint32) *shard { return &db.shards[shardIndex(hash)] }
