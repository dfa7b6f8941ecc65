package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/store"
)

// markFullness records how full a key's limit is after a decision, for eviction by the
// policy limiter-aware. Under other policies it does nothing.
func markFullness(c *commands.Ctx, key []byte, d *limiter.Decision) {
	if c.Settings.LimiterAware {
		c.DB.SetFullness(key, stampOf(d.Allowed == 0, d.Used, d.Remaining), c.NowMs)
	}
}

// stampOf returns how full a limit is as a key's stamp has it. denied says that the last
// call was.
func stampOf(denied bool, used, remaining int64) uint8 {
	switch {
	case denied:
		return store.Denying
	case remaining <= 0:
		return store.Full
	}
	return uint8(1 + fullness(used, remaining)*(store.Full-1))
}

// fullness returns the used share of what a quota has room for, from 0 to 1. Under GCRA
// that room is the burst, not the limit.
func fullness(used, remaining int64) float64 {
	if remaining <= 0 {
		return 1
	}
	n := float64(max(used, 0))
	return n / (n + float64(remaining))
}
