// Command ours answers queries of package calendars as package calendar does. With the argument release it
// prints the release of its zones.
package main

import (
	"fmt"
	"os"

	"github.com/zlimit/zlimit/calendar"
	"github.com/zlimit/zlimit/lab/calendars"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(calendar.Release())
		return
	}
	if err := calendars.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ours:", err)
		os.Exit(1)
	}
}
