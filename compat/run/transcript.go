package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A transcript is a client program's output: its identity, then its flows in the order
// it ran them.
type transcript struct {
	client   string // name and version, as the program reads them from the library
	sections []section
}

// A section is a flow. Without its `end` the flow broke off, whatever precedes.
type section struct {
	flow     string
	hits     []hit
	complete bool
}

// A hit is a line: an instant in unix milliseconds, the decision, and what the program
// read afterwards.
type hit struct {
	instant  int64
	decision string
	fields   []field
}

type field struct{ name, value string }

func (h hit) String() string {
	var line strings.Builder
	fmt.Fprintf(&line, "%d %s", h.instant, h.decision)
	for _, f := range h.fields {
		fmt.Fprintf(&line, " %s=%s", f.name, f.value)
	}
	return line.String()
}

func (t transcript) section(flow string) (section, bool) {
	for _, s := range t.sections {
		if s.flow == flow {
			return s, true
		}
	}
	return section{}, false
}

// readTranscript is strict: an unknown line is an error, because a stray log line could
// hide a decision. It returns what it read before the error. single names the flow of a
// program that was asked for one flow only and prints no `flow` line; it is empty for
// --flow all.
func readTranscript(r io.Reader, single string) (transcript, error) {
	var t transcript
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		return t, fmt.Errorf("nothing was printed")
	}
	name, ok := strings.CutPrefix(lines.Text(), "client ")
	if !ok || strings.TrimSpace(name) == "" {
		return t, fmt.Errorf("line 1: want `client <name> <version>`, got %q", lines.Text())
	}
	t.client = strings.TrimSpace(name)
	if single != "" {
		t.sections = append(t.sections, section{flow: single})
	}
	for number := 2; lines.Scan(); number++ {
		if err := t.add(lines.Text()); err != nil {
			return t, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return t, lines.Err()
}

func (t *transcript) add(line string) error {
	if flow, ok := strings.CutPrefix(line, "flow "); ok {
		if _, twice := t.section(flow); twice {
			return fmt.Errorf("flow %s a second time", flow)
		}
		t.sections = append(t.sections, section{flow: flow})
		return nil
	}
	if len(t.sections) == 0 || t.sections[len(t.sections)-1].complete {
		return fmt.Errorf("outside a flow: %q", line)
	}
	current := &t.sections[len(t.sections)-1]
	if line == "end" {
		current.complete = true
		return nil
	}
	h, err := parseHit(line)
	if err != nil {
		return err
	}
	current.hits = append(current.hits, h)
	return nil
}

func parseHit(line string) (hit, error) {
	words := strings.Split(line, " ")
	instant, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || len(words) < 2 || words[1] == "" {
		return hit{}, fmt.Errorf("want `<instant> <decision> [name=value]...`, got %q", line)
	}
	h := hit{instant: instant, decision: words[1]}
	for _, word := range words[2:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return hit{}, fmt.Errorf("want name=value, got %q in %q", word, line)
		}
		h.fields = append(h.fields, field{name, value})
	}
	return h, nil
}
