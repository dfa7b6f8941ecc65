package zlimittest

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
)

// label marks a server's goroutines and their children with its number, to tell the
// servers of parallel tests apart.
const label = "zlimittest"

// leftoverTries is how often finished goroutines get a chance to exit. Each attempt
// reads the goroutines, which stops them all at a safe point, so that even one whose
// thread was descheduled gets to run.
const leftoverTries = 300

// leftovers returns an error that shows the goroutines left by a closed server.
func (s *Server) leftovers() error {
	var stacks string
	for range leftoverTries {
		if stacks = stacksOf(s.id); stacks == "" {
			return nil
		}
		runtime.Gosched()
	}
	return fmt.Errorf("goroutines of the server are still there:\n%s", stacks)
}

// stacksOf returns the stacks of the goroutines with a server's number.
func stacksOf(id string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	mark := fmt.Sprintf("%q:%q", label, id)
	var out []string
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(group, mark) {
			out = append(out, group)
		}
	}
	return strings.Join(out, "\n\n")
}
