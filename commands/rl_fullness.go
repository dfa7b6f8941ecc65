package commands

import (
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/store"
)

// markFullness records how full a key's limit is after a decision, for eviction by the
// policy limiter-aware. Under other policies it does nothing.
func (c *Ctx) markFullness(key []byte, d *limiter.Decision) {
	if c.Settings.LimiterAware {
		c.DB.SetFullness(key, fullness(d.Allowed == 0, d.Used, d.Limit), c.NowMs)
	}
}

// fullness returns how full a limit is of which some units are used. denied says that the
// last call was.
func fullness(denied bool, used, limit int64) uint8 {
	switch {
	case denied:
		return store.Denying
	case used >= limit:
		return store.Full
	}
	return uint8(1 + float64(max(used, 0))/float64(limit)*(store.Full-1))
}
