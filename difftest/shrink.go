package main

import (
	"bytes"
	"strings"
	"time"
)

// Bounds for making a round smaller: how often it is run again, and for how long, since a reply that does not come has
// to be waited for each time.
const (
	shrinkRuns = 800
	shrinkTime = time.Minute
)

// finding is a difference: the step, both answers and what differs.
type finding struct {
	step      step
	at        int // index of the step in its round
	ref, ours reply
	what      string
}

// sign tells whether two findings are about the same thing: the command, what differs, the shape of both answers.
func (f finding) sign() string {
	what := ""
	if f.what != otherBytes {
		what = " (" + strings.TrimLeft(f.what, "reply 0123456789,") + ")"
	}
	return f.step.name() + what + ": " + shapeOf(f.ref) + " | " + shapeOf(f.ours)
}

// harmless tells whether both servers refused, in different words: their states are still the same.
func (f finding) harmless() bool {
	return f.ref.fail == "" && f.ours.fail == "" && f.ref.raw[0] == '-' && f.ours.raw[0] == '-'
}

// shapeOf is a reply without its particulars: the type, and of an error the text up to what quotes arguments.
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

// first runs the steps from a fresh start and returns the first difference that is wanted, or nil. It passes over
// harmless ones and ends at any other, after which nothing would mean anything.
func (d *duel) first(startMs int64, steps []step, looseClock bool, wanted func(finding) bool) (*finding, error) {
	if err := d.reset(startMs); err != nil {
		return nil, err
	}
	j := judge{looseClock: looseClock}
	var found *finding
	err := d.run(steps, func(i int, s step, ref, ours reply) bool {
		what := j.see(s, ref, ours)
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

// shrink looks for the shortest part of steps that still shows the difference of the last one, by leaving out ever
// smaller stretches, then arguments. What it returns has been run and has differed; f is the difference it shows. With
// nil, the difference did not show again at all. The last of steps is the one that differed.
func (d *duel) shrink(startMs int64, steps []step, looseClock bool) (small []step, f *finding, err error) {
	// Without what followed it in the pipeline, the same difference may look another way: a reply that was never sent,
	// for one, no longer shows as the next command's.
	last := steps[len(steps)-1].name()
	f, err = d.first(startMs, steps, looseClock, func(f finding) bool { return f.at == len(steps)-1 && f.step.name() == last })
	if err != nil || f == nil {
		return nil, nil, err
	}
	sign := f.sign()
	runs, begin := 0, time.Now()
	try := func(candidate []step) bool {
		if runs++; runs > shrinkRuns || time.Since(begin) > shrinkTime || err != nil {
			return false
		}
		got, e := d.first(startMs, candidate, looseClock, func(f finding) bool { return f.sign() == sign })
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
	groups := grouped(small)
	for size := len(groups) / 2; size > 0; {
		removed := false
		for at := 0; at+size < len(groups)+1 && at < len(groups); {
			rest := append(append([][]step(nil), groups[:at]...), groups[min(at+size, len(groups)):]...)
			if len(rest) > 0 && try(flat(rest)) {
				groups = grouped(small)
				removed = true
				continue
			}
			at += size
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	shrinkArguments(try, &small)
	return small, f, err
}

// shrinkArguments leaves out ever shorter stretches of the longer commands' arguments.
func shrinkArguments(try func([]step) bool, small *[]step) {
	for i := 0; i < len(*small); i++ {
		if (*small)[i].inner != nil {
			continue // the words inside a script and the command it is compared by must stay the same
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

// grouped keeps glued steps with the one before them.
func grouped(steps []step) [][]step {
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

func flat(groups [][]step) []step {
	var steps []step
	for _, g := range groups {
		steps = append(steps, g...)
	}
	return steps
}
