package zset_test

import (
	"fmt"
	"math"

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

// A set is a log as long as each member is the decimal of its own score.
func ExampleSet_IsLog() {
	var s zset.Set
	s.Add([]byte("1700000000"), 1_700_000_000)
	fmt.Println(s.IsLog())
	s.Add([]byte("1700000001-7f3a"), 1_700_000_001)
	fmt.Println(s.IsLog())
	s.Ascend(0, func(e zset.Entry) bool {
		fmt.Println(e.Score, e.Member())
		return true
	})
	// Output:
	// true
	// false
	// 1.7e+09 1700000000
	// 1.700000001e+09 1700000001-7f3a
}

// A range of scores is a range of ranks.
func ExampleSet_RankRangeByScore() {
	var s zset.Set
	s.AppendRun(10, 5)
	start, stop := s.RankRangeByScore(zset.ScoreRange{Min: 11, MinOpen: true, Max: math.Inf(1)})
	for rank := start; rank < stop; rank++ {
		fmt.Print(s.At(rank).Member(), " ")
	}
	fmt.Println(s.CountAfter(11))
	// Output: 12 13 14 3
}

func ExampleSet_AppendRun() {
	var s zset.Set
	s.AppendRun(1_700_000_000_000_000, 1_000_000) // one call with COST 1000000
	s.AppendRun(1_700_000_002_000_000, 1)
	fmt.Println(s.Len(), s.UnitAt(999_999), s.Memory() < 100)
	fmt.Println(s.DropThrough(1_700_000_000_000_009), s.Len())
	// Output:
	// 1000001 1700000000999999 true
	// 10 999991
}

// A scan continues where it stopped, even if the set has changed.
func ExampleSet_Scan() {
	var s zset.Set
	s.AppendRun(1, 300)
	n, calls := 0, 0
	for cursor := uint64(0); ; calls++ {
		if cursor = s.Scan(cursor, func(zset.Entry) { n++ }); cursor == 0 {
			break
		}
	}
	fmt.Println(n, calls+1)
	// Output: 300 3
}
