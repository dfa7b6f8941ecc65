package store

// A PrefixWalk makes the limits of SetPrefixLimits take effect, in steps under the lock of one shard: first
// it installs the new table in every shard, then it counts the keys of every shard. The zero value is ready.
// A walk belongs to one goroutine at a time.
type PrefixWalk struct {
	table *prefixTable
	at    int // first the shard that gets the table, then NumShards and the one that is counted
}

// prefixStep is about how many keys of a shard share a class, and so are counted in one step.
const prefixStep = 64

// PrefixesCounted reports whether a walk has ended since the limits were set.
func (s *Store) PrefixesCounted() bool { return s.prefixes.Load() == s.walked.Load() }

// Next returns the shard that the next step requires, or false if the walk has ended. If the limits were set
// meanwhile, the walk begins again.
func (w *PrefixWalk) Next(s *Store) (shard int, more bool) {
	if s.PrefixesCounted() {
		return 0, false
	}
	if t := s.prefixes.Load(); t != w.table {
		*w = PrefixWalk{table: t}
	}
	return w.at % NumShards, true
}

// Step counts about 64 keys of the shard that Next has returned, and returns how many keys it examined. It
// requires that shard.
func (w *PrefixWalk) Step(s *Store) (examined int) {
	shard := w.at % NumShards
	if w.at < NumShards {
		s.counted[shard] = w.table.begin(s.ShardLen(shard))
		w.at++
		return 1
	}
	if sp := s.counted[shard]; sp != nil && sp.passed < sp.classes {
		if examined = sp.step(s, shard); sp.passed < sp.classes {
			return examined
		}
	}
	if w.at++; w.at == 2*NumShards {
		s.walked.Store(w.table)
		*w = PrefixWalk{}
	}
	return examined
}

// begin returns what a shard of so many keys counts by when the walk begins.
func (t *prefixTable) begin(keys int) *shardPrefixes {
	if len(t.rows) == 0 {
		return nil
	}
	sp := &shardPrefixes{table: t, classes: 1}
	for sp.classes*prefixStep < uint64(keys) {
		sp.classes *= 2
	}
	if !t.new {
		sp.passed = sp.classes
	}
	return sp
}

// step counts the next class of keys.
func (sp *shardPrefixes) step(s *Store, shard int) (examined int) {
	for _, db := range s.dbs {
		db.shards[shard].keys.Class(sp.passed, sp.classes, func(n *Node) {
			examined++
			for row := sp.table.find(n.Key()); row != nil; row = row.outer {
				if row.new {
					row.add(db.index, 1)
				}
			}
		})
	}
	sp.passed++
	return examined + 1
}
