package info

import "fmt"

func writeKeyspace(f *Facts, w *writer) {
	for i := range f.Keyspace.DBs {
		if db := &f.Keyspace.DBs[i]; db.Keys > 0 {
			w.put(fmt.Sprintf("db%d", i),
				fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d", db.Keys, db.Expiring, db.AvgTTLMs(f.NowUs/1000)))
		}
	}
}
