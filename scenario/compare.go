package scenario

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// normalize removes from a reply what the step excludes from comparison.
func (s *Step) normalize(reply []byte) []byte {
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

// reshape reads one complete reply and returns it with its elements sorted (multiset) or without its
// contents (shape).
func (s *Step) reshape(r *bufio.Reader) ([]byte, error) {
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

// Faults returns where the replies of a run are not those that its section expects: one message per step.
func (s Section) Faults() (out []string) {
	for i := range s.Steps {
		step := &s.Steps[i]
		if text := step.fault(); text != "" {
			out = append(out, fmt.Sprintf("%s: %s: %s\n%s", step.Place(&s), s.Title, step.shownLine(), text))
		}
	}
	return out
}

// anError matches an error in a reply, also in an array.
var anError = regexp.MustCompile(`(?:^|\r\n)[-!][A-Z\d]`)

// shownLine returns the line, and what was sent if that is something else.
func (s *Step) shownLine() string {
	if s.sent == "" || s.sent == s.Line {
		return s.Line
	}
	return s.Line + "\nsent: " + s.sent
}

func (s *Step) fault() string {
	if s.Failed != nil {
		return fmt.Sprintf("got:  %s%v", Print(s.Got), s.Failed)
	}
	if s.IsRecorded && !bytes.Equal(s.Recorded, s.Got) {
		want, got := shorten(Print(s.Recorded), Print(s.Got))
		return "want:\n" + want + "got:\n" + got
	}
	if s.Action == Closed && !s.Expects() && len(s.Got) > 0 {
		return "want: nothing before the end\ngot:\n" + Print(s.Got)
	}
	if len(s.Got) == 0 && !s.isShown && len(s.patterns) == 0 {
		return ""
	}
	got, err := Show(s.Got)
	switch {
	case err != nil && (s.isShown || len(s.patterns) > 0):
		return err.Error()
	case s.isShown && got != s.want:
		return "want: " + escape(s.want) + "\ngot:  " + escape(got)
	case !s.Expects() && anError.Match(s.Got):
		return "got:  " + escape(got) + "\nA reply is expected that is no error."
	}
	lines := strings.ReplaceAll(got, "\r\n", "\n")
	for _, p := range s.patterns {
		if p.re.MatchString(lines) == p.not {
			verb := map[bool]string{true: "no match of", false: "a match of"}[p.not]
			return fmt.Sprintf("want: %s %s\ngot:  %s", verb, p.re, escape(got))
		}
	}
	return ""
}

// Differences returns where a run of a section differs from its recording: one message per step.
func Differences(recorded, run Section) (out []string) {
	for i, got := range run.Steps {
		want := recorded.Steps[i]
		if got.Failed == nil && bytes.Equal(want.Recorded, got.Got) {
			continue
		}
		wanted, had := shorten(Print(want.Recorded), Print(got.Got))
		text := fmt.Sprintf("%s: %s: %s\nwant:\n%sgot:\n%s", got.Place(&run), run.Title, got.Line, wanted,
			had)
		if got.Failed != nil {
			text += fmt.Sprintf("and then: %v\n", got.Failed)
		}
		out = append(out, text)
	}
	if missing := len(recorded.Steps) - len(run.Steps); missing > 0 {
		out = append(out, fmt.Sprintf("%d steps after that were not run", missing))
	}
	return out
}

// shorten omits common lines at the start and the end, except for a few next to the difference.
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
