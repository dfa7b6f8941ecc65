package exporter

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// A difference is a line of testdata/differences.txt: a pattern for series that only
// redis-server has ('-') or only zlimit-server ('+'). In the pattern '*' stands for
// any text.
type difference struct {
	sign    byte
	pattern string
	reason  string // the comment above the line
}

// readDifferences reads lines "- PATTERN" and "+ PATTERN", each below a comment with
// its reason. A comment holds until the next empty line.
func readDifferences(r io.Reader) ([]difference, error) {
	var out []difference
	reason := ""
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		comment, isComment := strings.CutPrefix(text, "#")
		switch {
		case text == "":
			reason = ""
		case isComment:
			reason = strings.TrimSpace(reason + " " + strings.TrimSpace(comment))
		case len(text) < 3 || text[0] != '-' && text[0] != '+' || text[1] != ' ':
			return nil, fmt.Errorf("line %d: %q is neither - PATTERN nor + PATTERN", n, text)
		case reason == "":
			return nil, fmt.Errorf("line %d: %q has no reason above it", n, text)
		default:
			out = append(out, difference{text[0], text[2:], reason})
		}
	}
	return out, lines.Err()
}

// matches reports whether the difference is about a series.
func (d difference) matches(sign byte, series string) bool {
	return d.sign == sign && matchAny(d.pattern, series)
}

// matchAny matches text against a pattern in which only '*' is special.
func matchAny(pattern, text string) bool {
	quoted := strings.NewReplacer(`\`, `\\`, `?`, `\?`, `[`, `\[`, `/`, "\x00").Replace(pattern)
	ok, err := path.Match(quoted, strings.ReplaceAll(text, "/", "\x00"))
	return ok && err == nil
}

// compare returns what is wrong: series that only one server has although no
// difference says so, and differences that do not exist.
func compare(theirs, ours []string, listed []difference) (wrong []string) {
	met := make([]bool, len(listed))
	check := func(sign byte, series, others []string) {
		for _, s := range series {
			if slices.Contains(others, s) {
				continue
			}
			known := false
			for i, d := range listed {
				if d.matches(sign, s) {
					known, met[i] = true, true
				}
			}
			if !known {
				wrong = append(wrong, fmt.Sprintf("%c %s", sign, s))
			}
		}
	}
	check('-', theirs, ours)
	check('+', ours, theirs)
	for i, d := range listed {
		if !met[i] {
			wrong = append(wrong, fmt.Sprintf("listed, but no difference: %c %s", d.sign, d.pattern))
		}
	}
	return wrong
}
