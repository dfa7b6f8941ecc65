package store

import (
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/store/dict"
)

// This file counts keys by the beginning of their names, and bounds how many limiters may create:
// rl-max-keys-per-prefix, docs/adr/0035.
//
// # Structure
//
// A prefixTable has the prefixes, sorted, each with a link to the longest other prefix that it begins with.
// The prefixes of a name are found by one binary search, and from there by the links. A table does not
// change; a change of the limits makes a new one, which keeps the counters of prefixes that stay. Each shard
// has the table that its keys are counted by, protected by its lock. A PrefixWalk installs a new table shard
// by shard, and counts the keys that exist, in steps. Their order is that of the low bits of their hashes, so
// for each key it is known whether the walk has passed it.
//
// Invariant, for each Prefix and whenever no command runs: keys is the number of keys with the prefix in the
// shards that have it in their table, and that the walk has passed if the prefix is new in that table.
//
// Keys are counted where they are inserted and unlinked (keys.go), whatever their type and whoever creates
// them. Reserve counts a key before it exists, so that two calls cannot use the last place both.

// A PrefixLimit is how many keys limiters may create under a prefix.
type PrefixLimit struct {
	Prefix string // not empty
	Max    int64
}

// A Prefix counts the keys of all databases whose names begin with it, expired ones that were not reclaimed
// included. Any goroutine may call its methods.
type Prefix struct {
	name    string
	max     atomic.Int64
	refused atomic.Int64
	_       [64]byte // creating keys must not slow down the prefixes beside it
	keys    atomic.Int64
	inDB    [Databases]atomic.Int64 // by DB.index; their sum is keys
}

// Name returns the prefix itself.
func (p *Prefix) Name() string { return p.name }

// Max returns how many keys limiters may create.
func (p *Prefix) Max() int64 { return p.max.Load() }

// HasRoom reports whether there are fewer keys than that.
func (p *Prefix) HasRoom() bool { return p.keys.Load() < p.max.Load() }

// Refuse counts a refusal for lack of room.
func (p *Prefix) Refuse() { p.refused.Add(1) }

// reserve counts a key if there is room.
func (p *Prefix) reserve(db int) bool {
	for {
		n := p.keys.Load()
		if n >= p.max.Load() {
			return false
		}
		if p.keys.CompareAndSwap(n, n+1) {
			p.inDB[db].Add(1)
			return true
		}
	}
}

func (p *Prefix) add(db int, keys int64) {
	p.keys.Add(keys)
	p.inDB[db].Add(keys)
}

// shardPrefixes is what one shard counts by; its lock protects it.
type shardPrefixes struct {
	table *prefixTable
	// The walk has counted the keys whose hash modulo classes, a power of two, is below passed.
	classes, passed uint64
	reserved        int // keys that are counted and not yet created
}

// counts reports whether a key with this hash is part of a row's count.
func (sp *shardPrefixes) counts(row *prefixRow, hash uint32) bool {
	return !row.new || uint64(hash)&(sp.classes-1) < sp.passed
}

// count adds to the counts of a key's prefixes.
func (sp *shardPrefixes) count(db *DB, name string, hash uint32, keys int64) {
	for row := sp.table.find(name); row != nil; row = row.outer {
		if sp.counts(row, hash) {
			row.add(db.index, keys)
		}
	}
}

// countCreated counts a key that was inserted.
func (db *DB) countCreated(n *Node) {
	sp := db.prefixesAt(n.Hash())
	switch {
	case sp == nil:
	case sp.reserved > 0:
		sp.reserved--
	default:
		sp.count(db, n.Key(), n.Hash(), 1)
	}
}

// countUnlinked counts a key that was unlinked.
func (db *DB) countUnlinked(n *Node) {
	if sp := db.prefixesAt(n.Hash()); sp != nil {
		sp.count(db, n.Key(), n.Hash(), -1)
	}
}

// countFlushed sets the counts of a database to zero. It requires AllShards.
func (db *DB) countFlushed() {
	var done *prefixTable
	for _, sp := range db.store.counted {
		if sp == nil || sp.table == done {
			continue
		}
		done = sp.table
		for _, row := range done.rows {
			row.keys.Add(-row.inDB[db.index].Swap(0))
		}
	}
}

func (db *DB) prefixesAt(hash uint32) *shardPrefixes {
	return db.store.counted[shardIndex(hash)]
}

// HasPrefixes reports whether prefixes are counted. Otherwise Reserve always has room.
func (db *DB) HasPrefixes() bool { return db.store.prefixes.Load() != nil }

// Reserve counts key, which does not exist, if every prefix of its name has room, and returns nil. The caller
// must create the key before any other key of the shard that was not reserved too, or call Release. If a
// prefix is full, Reserve returns it and counts nothing.
//
// The longest prefix comes first. So the count of a prefix is one too high for a moment if one that it begins
// with is full.
func (db *DB) Reserve(key []byte) (full *Prefix) {
	if db.store.prefixes.Load() == nil {
		return nil
	}
	hash := dict.Hash(key)
	sp := db.prefixesAt(hash)
	if sp == nil {
		return nil
	}
	first := sp.table.find(unsafe.String(unsafe.SliceData(key), len(key)))
	for row := first; row != nil; row = row.outer {
		if sp.counts(row, hash) && row.reserve(db.index) || !sp.counts(row, hash) && row.HasRoom() {
			continue
		}
		for ; first != row; first = first.outer {
			if sp.counts(first, hash) {
				first.add(db.index, -1)
			}
		}
		return row.Prefix
	}
	sp.reserved++
	return nil
}

// Release takes a successful Reserve back.
func (db *DB) Release(key []byte) {
	hash := dict.Hash(key)
	if sp := db.prefixesAt(hash); sp != nil && sp.reserved > 0 {
		sp.reserved--
		sp.count(db, unsafe.String(unsafe.SliceData(key), len(key)), hash, -1)
	}
}

// PrefixFigures are the figures of one prefix.
type PrefixFigures struct {
	Prefix             string
	Keys, Max, Refused int64
}

// PrefixFigures returns the figures of all prefixes with a limit, sorted. They do not count all keys until
// the walk has ended: see PrefixesCounted. It requires no shard.
func (s *Store) PrefixFigures() (all []PrefixFigures) {
	if t := s.prefixes.Load(); t != nil {
		for _, row := range t.rows {
			all = append(all, PrefixFigures{row.name, row.keys.Load(), row.max.Load(), row.refused.Load()})
		}
	}
	return all
}

// resetRefused sets the counts of refusals to zero.
func (s *Store) resetRefused() {
	if t := s.prefixes.Load(); t != nil {
		for _, row := range t.rows {
			row.refused.Store(0)
		}
	}
}

// RecountPrefix counts the keys with a prefix, for tests. It requires AllShards.
func (s *Store) RecountPrefix(prefix string) (keys int64) {
	for _, db := range s.dbs {
		for i := range db.shards {
			for n := range db.shards[i].keys.All() {
				if strings.HasPrefix(n.Key(), prefix) {
					keys++
				}
			}
		}
	}
	return keys
}
