package store

// Figures are the figures of the keyspace that INFO shows.
type Figures struct {
	Stats
	DBs [Databases]DBFigures
}

// DBFigures are the figures of one database.
type DBFigures struct {
	Keys, Expiring int
	deadlineSumMs  int64

	// MainBytes and ExpiresBytes are the overhead of the keys in used_memory: their table and nodes, and
	// the index of deadlines.
	MainBytes, ExpiresBytes int64
}

// AvgTTLMs returns the mean time that keys with a deadline have left, 0 if there are none. Deadlines after
// the year 2109 count as that year.
func (f *DBFigures) AvgTTLMs(nowMs int64) int64 {
	if f.Expiring == 0 {
		return 0
	}
	return max(f.deadlineSumMs/int64(f.Expiring)-nowMs, 0)
}

// cappedDeadline returns what a deadline adds to the sum of its shard. The sum fits an int64 up to two
// million keys in a shard, of which there are 64.
func cappedDeadline(atMs int64) int64 { return min(max(atMs, 0), 1<<42) }

// Expired returns how many keys were removed because their deadline had passed. It requires no shard.
func (s *Store) Expired() (n int64) {
	for i := range s.expired {
		n += s.expired[i].Load()
	}
	return n
}

// AddFigures adds the figures of one shard, in all databases, to f. It requires that shard only.
func (s *Store) AddFigures(f *Figures, shard int) {
	for i, db := range s.dbs {
		sh := &db.shards[shard]
		f.Hits += sh.stats.Hits
		f.Misses += sh.stats.Misses
		f.Expired += sh.stats.Expired
		d := &f.DBs[i]
		d.Keys += sh.keys.Len()
		d.Expiring += sh.expiring
		d.deadlineSumMs += sh.deadlineSumMs
		d.MainBytes += sh.keys.TableBytes() + int64(sh.keys.Len())*nodeBytes
		d.ExpiresBytes += sh.deadlines.Bytes()
	}
}
