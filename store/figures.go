package store

// Figures are what INFO shows of the keyspace.
type Figures struct {
	Stats
	DBs [Databases]DBFigures
}

// DBFigures are those of one database.
type DBFigures struct {
	Keys, Expiring int
	endsMs         int64
}

// AvgTTLMs returns how long the keys with a deadline have left in the mean, 0 where
// there are none. Deadlines after the year 2109 count as that year.
func (f *DBFigures) AvgTTLMs(nowMs int64) int64 {
	if f.Expiring == 0 {
		return 0
	}
	return max(f.endsMs/int64(f.Expiring)-nowMs, 0)
}

// endMs is what a deadline adds to the sum of its shard, which stays within an
// int64 up to two million keys in a shard, of which there are 64.
func endMs(atMs int64) int64 { return min(max(atMs, 0), 1<<42) }

// AddTo adds what one shard holds, in all databases. It requires that shard only.
func (s *Store) AddTo(f *Figures, shard int) {
	for i, db := range s.dbs {
		sh := &db.shards[shard]
		f.Hits += sh.stats.Hits
		f.Misses += sh.stats.Misses
		f.Expired += sh.stats.Expired
		d := &f.DBs[i]
		d.Keys += sh.keys.Len()
		d.Expiring += sh.expiring
		d.endsMs += sh.endsMs
	}
}
