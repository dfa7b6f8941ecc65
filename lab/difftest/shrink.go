package main

import (
	"bytes"
	"strings"
	"time"
)

// Bounds for shrinking a round: the number of runs, and the time, since each run may wait for a reply that
// does not come.
const (
	shrinkRuns = 800
	shrinkTime = time.Minute
)

// A finding is a difference: the step, both replies and what differs.
type finding struct {
	step      step
	at        int // index of the step in its round
	ref, ours reply
	what      string
}

// signature identifies findings with the same cause: the command, what differs, the shape of both replies.
func (f finding) signature() string {
	what := ""
	if f.what != otherBytes {
		what = " (" + strings.TrimLeft(f.what, "reply 0123456789,") + ")"
	}
	return f.step.name() + what + ": " + shapeOf(f.ref) + " | " + shapeOf(f.ours)
}

// harmless reports whether both servers refused the command, with different errors: their states are still
// the same.
func (f finding) harmless() bool {
	return f.ref.fail == "" && f.ours.fail == "" && f.ref.raw[0] == '-' && f.ours.raw[0] == '-'
}

// shapeOf returns a reply without its particulars: the type, and of an error the text up to the first quoted
// argument.
func shapeOf(r reply) string {
	if r.fail != "" {
		return r.fail
	}
	if len(r.raw) == 0 {
		return "empty"
	}
	if r.raw[0] != '-' {
		return string(r.raw[:1])
	}
	text, _, _ := bytes.Cut(r.raw, []byte(" script: "))
	text = text[:min(len(text), 48)]
	if i := bytes.IndexAny(text, "'`0123456789"); i > 0 {
		text = text[:i]
	}
	return string(bytes.TrimSpace(text))
}

// firstFinding runs the steps from a reset and returns the first difference for which wanted returns true, or
// nil. It skips harmless ones and ends at any other, after which the states may differ.
func (d *runner) firstFinding(
	startMs int64, steps []step, runningClock bool, wanted func(finding) bool,
) (*finding, error) {
	if err := d.reset(startMs); err != nil {
		return nil, err
	}
	j := checker{runningClock: runningClock}
	var found *finding
	err := d.run(steps, func(i int, s step, ref, ours reply) bool {
		what := j.check(s, ref, ours)
		if what == "" {
			return true
		}
		f := finding{step: s, at: i, ref: ref, ours: ours, what: what}
		if wanted(f) {
			found = &f
			return false
		}
		return f.harmless()
	})
	return found, err
}

// shrink returns the shortest part of steps it finds that still shows the difference of the last step. It
// leaves out ever smaller stretches of steps, then arguments. The result has been run and f is the difference
// it shows. f is nil if the difference was not reproduced at all.
func (d *runner) shrink(
	startMs int64, steps []step, runningClock bool,
) (small []step, f *finding, err error) {
	// Without the steps after it in the pipeline, the same difference may look different: a reply that was
	// never sent, for example, no longer shows as the next command's.
	last := steps[len(steps)-1].name()
	f, err = d.firstFinding(startMs, steps, runningClock, func(f finding) bool {
		return f.at == len(steps)-1 && f.step.name() == last
	})
	if err != nil || f == nil {
		return nil, nil, err
	}
	signature := f.signature()
	runs, begin := 0, time.Now()
	try := func(candidate []step) bool {
		if runs++; runs > shrinkRuns || time.Since(begin) > shrinkTime || err != nil {
			return false
		}
		got, e := d.firstFinding(startMs, candidate, runningClock, func(f finding) bool {
			return f.signature() == signature
		})
		if e != nil {
			err = e
			return false
		}
		if got == nil {
			return false
		}
		small, f = append([]step(nil), candidate[:got.at+1]...), got
		return true
	}
	small = append([]step(nil), steps[:f.at+1]...)
	shrinkSteps(try, &small)
	shrinkArguments(try, &small)
	shrinkSteps(try, &small) // some are not needed without their arguments
	return small, f, err
}

// shrinkSteps leaves out ever shorter stretches of steps.
func shrinkSteps(try func([]step) bool, small *[]step) {
	groups := group(*small)
	for size := len(groups) / 2; size > 0; {
		removed := false
		for at := 0; at+size < len(groups)+1 && at < len(groups); {
			rest := append(append([][]step(nil), groups[:at]...), groups[min(at+size, len(groups)):]...)
			if len(rest) > 0 && try(flatten(rest)) {
				groups = group(*small)
				removed = true
				continue
			}
			at += size
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
}

// shrinkArguments leaves out ever shorter stretches of the longer commands' arguments.
func shrinkArguments(try func([]step) bool, small *[]step) {
	for i := 0; i < len(*small); i++ {
		if (*small)[i].inner != nil {
			continue // the command in the script and the command that is compared must stay the same
		}
		width := 1
		for width < len((*small)[i].args)/2 {
			width *= 2
		}
		for ; width > 0; width /= 2 {
			for at := len((*small)[i].args) - width; at > 1; at -= width {
				s := (*small)[i]
				s.args = append(append([]string(nil), s.args[:at]...), s.args[at+width:]...)
				candidate := append([]step(nil), *small...)
				candidate[i] = s
				if try(candidate) && i >= len(*small) {
					return
				}
			}
		}
	}
}

// group puts glued steps into one group with the step before them.
func group(steps []step) [][]step {
	var groups [][]step
	for _, s := range steps {
		if s.glue && len(groups) > 0 {
			last := len(groups) - 1
			groups[last] = append(groups[last], s)
			continue
		}
		groups = append(groups, []step{s})
	}
	return groups
}

func flatten(groups [][]step) []step {
	var steps []step
	for _, g := range groups {
		steps = append(steps, g...)
	}
	return steps
}
