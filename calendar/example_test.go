package calendar_test

import (
	"fmt"
	"time"

	"github.com/zlimit/zlimit/calendar"
)

// A day that a zone's clock makes longer.
func ExampleCalendar_Slice() {
	c, err := calendar.Parse([]byte("1d@Europe/Zurich"))
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC)
	start, end := c.Slice(noon.UnixMilli())
	fmt.Println(time.UnixMilli(start).UTC().Format(time.RFC3339), time.Duration(end-start)*time.Millisecond)
	// Output: 2026-10-24T22:00:00Z 25h0m0s
}
