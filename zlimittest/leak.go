package zlimittest

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
)

// label marks the goroutines of a server, and their children, with its number,
// so that servers of parallel tests are told apart.
const label = "zlimittest"

// leftoverTries is how often the goroutines that have done everything get to
// run, so that they can end. Each look at the goroutines stops them all at a safe
// point, so that even one whose thread the system has put aside comes forwards.
const leftoverTries = 300

// leftovers is an error that shows the goroutines that a closed server left.
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
