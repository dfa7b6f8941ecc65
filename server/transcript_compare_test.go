package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// normalize removes from a reply what the step excludes from comparison.
func (s *step) normalize(reply []byte) []byte {
	if s.mask != nil {
		return s.mask.ReplaceAll(reply, []byte("<masked>"))
	}
	if s.compare == exact {
		return reply
	}
	var out []byte
	for r := bufio.NewReader(bytes.NewReader(reply)); ; {
		one, err := s.reshape(r)
		if err != nil {
			return out
		}
		out = append(out, one...)
	}
}

// reshape reads one complete reply and returns it with its elements sorted
// (multiset) or without its contents (shape).
func (s *step) reshape(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	size, _ := strconv.Atoi(strings.TrimSpace(string(line[1:]))) // unused if it is not a size
	switch kind := line[0]; kind {
	case '*', '~', '>', '%':
		each := 1
		if kind == '%' {
			each = 2
		}
		var elements [][]byte
		for range size {
			var element []byte
			for range each {
				part, err := s.reshape(r)
				if err != nil {
					return nil, err
				}
				element = append(element, part...)
			}
			elements = append(elements, element)
		}
		if s.compare == multiset {
			slices.SortFunc(elements, bytes.Compare)
		}
		return append(line, bytes.Join(elements, nil)...), nil
	case '$', '=', '!':
		if size >= 0 {
			body := make([]byte, size+2)
			if _, err := io.ReadFull(r, body); err != nil {
				return nil, err
			}
			line = append(line, body...)
		}
		if s.compare == shape && size >= 0 {
			return []byte{kind, '?', '\r', '\n'}, nil
		}
		return line, nil
	default:
		if s.compare == shape && kind != '_' {
			return []byte{kind, '?', '\r', '\n'}, nil
		}
		return line, nil
	}
}

// differences returns where a run of a section differs from its recording: one
// message per step, with the command line.
func differences(want, got section) []string {
	var out []string
	for i, g := range got.steps {
		w := want.steps[i]
		if g.failed == nil && bytes.Equal(w.reply, g.reply) {
			continue
		}
		redis, ours := shorten(printReply(w.reply), printReply(g.reply))
		message := fmt.Sprintf("line %d: %s\nredis:\n%sours:\n%s", g.number, g.line, redis, ours)
		if g.failed != nil {
			message += fmt.Sprintf("and then: %v\n", g.failed)
		}
		out = append(out, message)
	}
	if missing := len(want.steps) - len(got.steps); missing > 0 {
		out = append(out, fmt.Sprintf("%d steps after that were not run", missing))
	}
	return out
}

// shorten omits common lines at the start and the end, except for a few next to the
// difference.
func shorten(a, b string) (shortA, shortB string) {
	const near = 4
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	x, y = x[:len(x)-1], y[:len(y)-1] // nothing follows the last line end
	shorter := min(len(x), len(y))
	head := 0
	for head < shorter && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < shorter-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	head, tail = max(head-near, 0), max(tail-near, 0)
	cut := func(lines []string) string {
		text := strings.Join(lines[head:len(lines)-tail], "")
		if head > 0 {
			text = fmt.Sprintf("(%d lines)\n", head) + text
		}
		if tail > 0 {
			text += fmt.Sprintf("(%d lines)\n", tail)
		}
		return text
	}
	return cut(x), cut(y)
}
