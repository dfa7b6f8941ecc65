package clock_test

import (
	"fmt"

	"github.com/zlimit/zlimit/clock"
)

// A test gives the clock sources of its own and moves them.
func Example() {
	var elapsedUs, wallUs int64 = 0, 1_700_000_000_000_000
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { return elapsedUs },
		Wall:      func() int64 { return wallUs },
	})
	show := func(what string) { fmt.Println(what, c.NowUs()/1000-1_700_000_000_000, "ms") }

	elapsedUs, wallUs = elapsedUs+250_000, wallUs+250_000
	show("a quarter of a second later:")
	wallUs -= 1_000_000 // the system's clock is set back by a second
	c.Sync()
	show("set back:")
	c.Freeze()
	elapsedUs += 500_000
	show("frozen:")
	if err := c.Advance(1); err != nil {
		panic(err)
	}
	show("advanced by one:")
	// Output:
	// a quarter of a second later: 250 ms
	// set back: 250 ms
	// frozen: 250 ms
	// advanced by one: 251 ms
}
