package zset_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/zset"
)

// A sliding window on each call drops expired units, counts, and adds the hit if the limit allows it.
func Example() {
	var s zset.Set
	const windowUs, limit = 60_000_000, 2
	for _, nowUs := range []int64{
		1_700_000_000_000_000, 1_700_000_030_000_000, 1_700_000_059_000_000, 1_700_000_060_000_000,
	} {
		s.DropThrough(nowUs - windowUs)
		if s.Len() < limit {
			s.AppendRun(nowUs, 1)
			fmt.Println("allowed,", s.Len(), "in the window")
		} else {
			fmt.Println("denied, retry in", (s.Oldest()+windowUs-nowUs)/1000, "ms")
		}
	}
	// Output:
	// allowed, 1 in the window
	// allowed, 2 in the window
	// denied, retry in 1000 ms
	// allowed, 2 in the window
}
