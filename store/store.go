// Package store is the keyspace: sixteen databases of keys with values and
// deadlines, cut into shards that are locked one by one.
//
// It is one map and one entry type for every kind of value, so that expiry on
// read, removal of emptied collections and the marking of watchers each exist
// once, here. It knows which kinds of values there are, and of each whether it
// is empty; it parses no arguments and makes no replies.
//
// # Who locks
//
// A shard's lock protects that shard of every database: its keys, values,
// deadlines and watchers. Nothing in this package takes a lock except Lock
// and LockUnless: the session locks the shards of a command's keys (ShardOf) before it
// calls the handler, and every method below that takes a key requires that
// key's shard to be held; those that walk the keyspace require AllShards.
// Handlers cannot lock, so nothing can deadlock by re-entry.
package store

import (
	"sync/atomic"

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

// NumShards is the number of shards of each database.
const NumShards = 1 << shardBits

// A ShardSet is a set of shards, one bit each: what a command has to lock.
type ShardSet uint64

// AllShards is the whole keyspace.
const AllShards = ^ShardSet(0)

// ShardOf returns the shard of key, in every database.
func ShardOf(key []byte) ShardSet { return 1 << (dict.Hash(key) >> (hashBits - shardBits)) }

// Store is the keyspace. Make one with New.
type Store struct {
	locks [NumShards]paddedLock
	dbs   [Databases]*DB

	// watched[i] belongs to shard i and names keys, not values: it stays when
	// databases are swapped.
	watched [NumShards]map[watchKey][]*Watch

	watches atomic.Int64 // how many keys are watched, each as often as it is

	waiting waiting
	kept    atomic.Bool // keys that are due stay; see KeepExpired

	snapshot atomic.Pointer[Snapshot] // under way; set under AllShards
	epoch    bool                     // what nodes are marked with that it need not hand out; protected by any shard, changed under AllShards
}

// DB is one database. Its methods require the shards that they touch to be
// held; see the package comment.
type DB struct {
	store  *Store
	id     int
	begun  int // the number that it had when the last snapshot began
	shards [NumShards]shard
}

// shard is one shard of one database.
type shard struct {
	keys      dict.Dict[Entry]
	expiring  int   // keys with a deadline
	endsMs    int64 // the sum of their deadlines: see figures.go
	deadlines expire.Index
	stats     Stats
	values    int64  // the charges of all keys: see memory.go
	counted   Memory // what of it is in the sum of all databases
	clock     uint32 // of the last look: see use.go
}

// Node is a key with its entry. Its address is stable while the key exists.
type Node = dict.Node[Entry]

// Stats counts what INFO reports of the keyspace since start or RESETSTAT.
type Stats struct {
	Hits, Misses uint64 // lookups that found a key, or did not
	Expired      uint64 // keys removed because their deadline had passed
}

// New returns an empty keyspace.
func New() *Store {
	s := &Store{}
	for i := range s.dbs {
		s.dbs[i] = &DB{store: s, id: i}
	}
	return s
}

// DB returns database i, 0 <= i < Databases. Which database that is may change
// by Swap, so the result is good only while a lock is held.
func (s *Store) DB(i int) *DB { return s.dbs[i] }

// Swap exchanges two databases. It requires AllShards.
func (s *Store) Swap(i, j int) {
	s.recordDB(effects.Swapped, i, j)
	if i == j {
		return
	}
	a, b := s.dbs[i], s.dbs[j]
	// A watcher of (i, key) is concerned where either side has the key.
	s.touchAll(i, a, b)
	s.touchAll(j, b, a)
	s.dbs[i], s.dbs[j] = b, a
	a.id, b.id = j, i
	s.swapped(i)
	s.swapped(j)
}

// ResetStats sets every counter to zero. It requires AllShards.
func (s *Store) ResetStats() {
	for _, db := range s.dbs {
		for i := range db.shards {
			db.shards[i].stats = Stats{}
		}
	}
}

// ID is the database's number.
func (db *DB) ID() int { return db.id }

// shardAt returns the shard to which a hash belongs.
func (db *DB) shardAt(hash uint32) *shard { return &db.shards[hash>>(hashBits-shardBits)] }
