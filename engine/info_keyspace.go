package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// infoFacts are what a call of INFO needs shards for, and reads before it writes.
type infoFacts struct{ keyspace store.Figures }

// keyspaceFigures returns the sums of what the shards count. INFO locks one shard
// after the other, so that no command waits for it; in EXEC or in a script it holds
// all of them already. busy is a script past busy-reply-threshold that holds one.
func (e *Engine) keyspaceFigures(c *commands.Ctx) (f store.Figures, busy *scripting.Busy) {
	for i := range store.NumShards {
		one := store.ShardSet(1) << i
		if c.Unheld&one == 0 {
			e.store.AddFigures(&f, i)
			continue
		}
		if busy = e.lockUnlessBusy(caller(c), one); busy != nil {
			return f, busy
		}
		e.store.AddFigures(&f, i)
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
