package scenario

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// A line is a line of a file with those that continue it.
type line struct {
	number int
	text   string
	via    int // the number of the @insert that it is from; 0: none
}

func (l line) fail(err error) error { return fmt.Errorf("line %d: %w", l.number, err) }

// opens reports whether a line opens a section or a block.
func (l line) opens() bool {
	return strings.HasPrefix(l.text, "== ") || strings.HasPrefix(l.text, "-- ")
}

// linesOf returns the lines of a text without empty ones and comments.
func linesOf(text string) (lines []line, err error) {
	for i, text := range strings.Split(text, "\n") {
		switch {
		case text == "" || text[0] == '#':
		case text[0] == ' ' || text[0] == '\t':
			if len(lines) == 0 {
				return nil, line{number: i + 1}.fail(errors.New("it continues no line"))
			}
			lines[len(lines)-1].text += " " + strings.TrimLeft(text, " \t")
		default:
			lines = append(lines, line{number: i + 1, text: text})
		}
	}
	for i, l := range lines {
		if l.text[0] != '|' {
			lines[i].text = repetition.ReplaceAllStringFunc(l.text, repeated)
		}
	}
	return lines, nil
}

var repetition = regexp.MustCompile(`\$\{(.*?)\*(\d+)\}`)

func repeated(text string) string {
	m := repetition.FindStringSubmatch(text)
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return text
	}
	return strings.Repeat(m[1], n)
}

// A replacement is the values of variables.
type replacement map[string]string

var variable = regexp.MustCompile(`\$([a-zA-Z]\w*)`)

// with returns r with one more value; name "" adds none.
func (r replacement) with(name, value string) replacement {
	if name == "" {
		return r
	}
	r = maps.Clone(r)
	if r == nil {
		r = replacement{}
	}
	r[name] = value
	return r
}

func (r replacement) in(text string) string {
	if len(r) == 0 || !strings.Contains(text, "$") {
		return text
	}
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := r[name[1:]]; ok {
			return value
		}
		return name
	})
}

// rowsOf returns the rows of a section's @for, nil if it has none.
func rowsOf(body []line) (rows []replacement, err error) {
	if len(body) == 0 {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(body[0].text, "@for ")
	if !ok {
		return nil, nil
	}
	heads, list, ok := strings.Cut(rest, " in ")
	values, err := Words(list)
	if !ok || err != nil {
		return nil, body[0].fail(errors.Join(err, errors.New("want @for names in rows")))
	}
	names := strings.Split(heads, ",")
	for _, row := range values {
		fields := strings.SplitN(string(row), ",", len(names))
		if len(fields) < len(names) {
			return nil, body[0].fail(fmt.Errorf("%s: want %s", row, heads))
		}
		r := replacement{}
		for i, name := range names {
			r[name] = fields[i]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// expand returns lines with variables, blocks and repetitions replaced.
func expand(lines []line, r replacement, blocks map[string][]line) (out []line, err error) {
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if l.text[0] != '|' {
			l.text = r.in(l.text)
		}
		word, rest, _ := strings.Cut(l.text, " ")
		switch word {
		case "@for":
			return nil, l.fail(errors.New("@for is not below a title"))
		case "@end":
			return nil, l.fail(errors.New("@end without @repeat"))
		case "@insert":
			block, ok := blocks[rest]
			if !ok {
				return nil, l.fail(fmt.Errorf("no lines %q above", rest))
			}
			more, err := expand(block, r, blocks)
			if err != nil {
				return nil, err
			}
			for _, m := range more {
				m.via = l.number
				out = append(out, m)
			}
		case "@repeat":
			times, counter, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(times)
			if err != nil {
				return nil, l.fail(err)
			}
			end := endOf(lines, i)
			if end < 0 {
				return nil, l.fail(errors.New("@repeat without @end"))
			}
			for k := range n {
				more, err := expand(lines[i+1:end], r.with(counter, strconv.Itoa(k)), blocks)
				if err != nil {
					return nil, err
				}
				out = append(out, more...)
			}
			i = end
		default:
			out = append(out, l)
		}
	}
	return out, nil
}

// endOf returns the place of the @end of the @repeat at from, -1 if there is none.
func endOf(lines []line, from int) int {
	depth := 0
	for i := from; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i].text, "@repeat "):
			depth++
		case lines[i].text == "@end":
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

var present = regexp.MustCompile(`\{(s|ms|us|ns)([+-]\d+)?\}`)

// withTimes replaces the times in braces.
func withTimes(text string, nowMs int64) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return present.ReplaceAllStringFunc(text, func(one string) string {
		m := present.FindStringSubmatch(one)
		now := map[string]int64{
			"s": nowMs / 1000, "ms": nowMs, "us": nowMs * 1000, "ns": nowMs * 1_000_000,
		}[m[1]]
		offset, _ := strconv.ParseInt(m[2], 10, 64) // 0 without one
		return strconv.FormatInt(now+offset, 10)
	})
}
