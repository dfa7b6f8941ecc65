package engine_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// The documents' limiters under RL.DOCTOR: what it says of each, and that it says nothing
// of the same limiter once that is written right.

// hitTogether lets clients send one hit each, all at the same instant: a command of each in
// turns.
func (w *scene) hitTogether(names []string, hit func(c *flowClient, nowMs int64) rune) {
	var nexts []func() (struct{}, bool)
	for i, name := range names {
		s := w.client(name)
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			hit(&flowClient{serial: len(names)*int(w.hands.us.Load()) + i, do: func(words ...string) string {
				yield(struct{}{})
				return doWords(s, words...)
			}}, w.nowMs())
		})
		defer stop()
		nexts = append(nexts, next)
	}
	for running := true; running; {
		running = false
		for _, next := range nexts {
			_, ok := next()
			running = running || ok
		}
	}
}

// problems returns the findings without counts.
func (w *scene) problems() (out []string) {
	for _, f := range w.found() {
		words := strings.Fields(f)
		out = append(out, strings.Join(slices.Delete(words, 1, 2), " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestDoctorOnLimiters: two clients send the hits of each limiter at the same instants.
func TestDoctorOnLimiters(t *testing.T) {
	race.OneGoroutine(t)
	flows, _ := limiters()
	for _, f := range flows {
		if f.examined {
			t.Run(f.name, func(t *testing.T) {
				w := newScene(t)
				w.manyHits(f.hit)
				require.ElementsMatch(t, f.problems, w.problems())
			})
		}
	}
}

// manyHits sends hits of two clients for 200 s, at the edges of seconds and of slices too.
func (w *scene) manyHits(hit func(c *flowClient, nowMs int64) rune) {
	for i := range 200 {
		w.hitTogether([]string{"a", "b"}, hit)
		w.hands.pass([]int64{500, 1, 499, 3000}[i%4])
		w.e.Tick()
	}
	w.hands.pass(2000)
	w.sweep()
}
