package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// infoFacts are what a call of INFO has found before it writes: what needs shards.
type infoFacts struct{ keyspace store.Figures }

// keyspaceFigures adds up what the shards count. Alone INFO visits one after the
// other, so that nobody waits for it; in EXEC or in a script it has all of them
// already. busy is the script that has one of them and does not end.
func (e *Engine) keyspaceFigures(c *commands.Ctx) (f store.Figures, busy *scripting.Busy) {
	for i := range store.NumShards {
		one := store.ShardSet(1) << i
		if c.Unheld&one == 0 {
			e.store.AddTo(&f, i)
			continue
		}
		if busy = e.lockUnlessBusy(one); busy != nil {
			return f, busy
		}
		e.store.AddTo(&f, i)
		e.store.Unlock(one)
	}
	return f, nil
}

func infoKeyspace(_ *Engine, f *infoFacts, c *commands.Ctx, w *infoWriter) {
	for i := range f.keyspace.DBs {
		if db := &f.keyspace.DBs[i]; db.Keys > 0 {
			w.put(fmt.Sprintf("db%d", i),
				fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d", db.Keys, db.Expiring, db.AvgTTLMs(c.NowMs)))
		}
	}
}
