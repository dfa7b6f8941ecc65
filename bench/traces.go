package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A trace is a stack in a profile, with the processor time that was spent in it.
type trace struct {
	value  time.Duration
	frames []string // functions, the innermost first
}

var errTraces = errors.New("not what go tool pprof -traces writes")

// parseTraces parses the output of go tool pprof -traces: stacks between lines of
// dashes, the first line of each with its time.
func parseTraces(text string) ([]trace, error) {
	var traces []trace
	begun := false
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "---") {
			traces, begun = append(traces, trace{}), true
			continue
		}
		if !begun || l == "" {
			continue
		}
		t := &traces[len(traces)-1]
		if len(t.frames) == 0 {
			value, function, ok := strings.Cut(l, " ")
			d, err := time.ParseDuration(value)
			if !ok || err != nil {
				if strings.Contains(value, ":") {
					continue // a label
				}
				return nil, fmt.Errorf("%w: %q", errTraces, l)
			}
			t.value, l = d, strings.TrimSpace(function)
		}
		t.frames = append(t.frames, strings.TrimSuffix(l, " (inline)"))
	}
	if len(traces) > 0 && len(traces[len(traces)-1].frames) == 0 {
		traces = traces[:len(traces)-1]
	}
	if len(traces) == 0 {
		return nil, fmt.Errorf("%w: no stack", errTraces)
	}
	return traces, nil
}

// A part is a share of a server's work.
type part string

// The parts, in the order of a call.
const (
	kernelPart   part = "kernel"
	wirePart     part = "wire"
	dispatchPart part = "dispatch"
	lookupPart   part = "lookup"
	decisionPart part = "decision"
	encodingPart part = "encoding"
	scriptsPart  part = "scripts"
	runtimePart  part = "runtime"
	otherPart    part = "other"
)

var parts = []part{
	kernelPart, wirePart, dispatchPart, lookupPart, decisionPart, encodingPart, scriptsPart, runtimePart,
	otherPart,
}
