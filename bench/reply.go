package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A rest is what may follow the fixed text of a reply line.
type rest uint8

const (
	nothing rest = iota // the line is the text and no more
	integer             // a decimal integer
	verdict             // an integer: the units admitted, 0 if denied
	below               // an integer: admitted if below the limit (counted before adding)
	within              // an integer: admitted if at most the limit (counted after adding)
	orZero              // nothing, but the reply may be the integer 0 instead of this line and those after it
)

// A line is a line of an expected reply. Values must not contain line feeds, which
// holds for all rows: the number of lines is then known, and a reply of another kind
// (above all an error) differs in its first bytes.
type line struct {
	text string
	rest rest
}

// rests are the kinds as expect names them.
var rests = map[string]rest{
	"integer": integer, "verdict": verdict, "below": below, "within": within, "/0": orZero,
}

// expect returns the lines of a reply, given with blanks between: each is a text, after which the name of a
// kind may stand, as in ":integer".
func expect(reply string) (lines []line) {
	for _, text := range strings.Fields(reply) {
		l := line{text: text}
		for name, kind := range rests {
			if before, ok := strings.CutSuffix(text, name); ok {
				l = line{before, kind}
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// A checker checks the replies to a batch, which are the same lines repeatedly. It
// compares every line. reset must be called before use.
type checker struct {
	lines []line // one flow's reply
	at    int    // index of the next line
	left  int    // flows not yet answered
	limit int64  // for below and within

	admitted, denied int64 // decisions since the checker was made
}

// reset makes the checker expect lines, repeated for so many flows.
func (c *checker) reset(lines []line, flows int) {
	c.lines, c.at, c.left = lines, 0, flows
}

// feed reads the complete lines of buf and returns their length in bytes. An incomplete
// line is left for the next call. It is done when the batch has been answered in full.
// Bytes after the last expected line are an error, because nothing can have caused
// them.
func (c *checker) feed(buf []byte) (used int, done bool, err error) {
	for used < len(buf) {
		if c.left == 0 {
			return used, true, fmt.Errorf("a reply to nothing: %q", head(buf[used:]))
		}
		n := c.quick(buf[used:])
		if n == 0 {
			end := bytes.IndexByte(buf[used:], '\n')
			if end < 0 {
				break
			}
			if err := c.check(buf[used : used+end]); err != nil {
				return used, false, err
			}
			n = end + 1
		}
		used += n
		if c.at++; c.at == len(c.lines) {
			c.at = 0
			c.left--
		}
	}
	return used, c.left == 0, nil
}

// quick compares a line in one pass and returns its length if it is complete, as
// expected and of a common kind. On 0 the caller uses check, which knows every kind and
// explains failures. The client's core has to stay ahead of the server's, and a reply
// of RL.ALLOW has six lines.
func (c *checker) quick(buf []byte) int {
	want := &c.lines[c.at]
	n := len(want.text)
	if len(buf) < n+2 || string(buf[:n]) != want.text {
		return 0
	}
	var value int64
	if want.rest != nothing && want.rest != orZero {
		first := n
		for n < len(buf) && n-first < 18 && buf[n]-'0' <= 9 {
			value = value*10 + int64(buf[n]-'0')
			n++
		}
		if n == first {
			return 0
		}
	}
	if n+2 > len(buf) || buf[n] != '\r' || buf[n+1] != '\n' {
		return 0
	}
	c.judge(want.rest, value)
	return n + 2
}

// check compares a line, given without its line feed, with the expected one.
func (c *checker) check(got []byte) error {
	want := &c.lines[c.at]
	if want.rest == orZero && string(got) == ":0\r" {
		c.at = len(c.lines) - 1
		return nil
	}
	n := len(want.text)
	if len(got) < n+1 || got[len(got)-1] != '\r' || string(got[:n]) != want.text {
		return c.unexpected(got)
	}
	got, whole := got[n:len(got)-1], got
	if want.rest == nothing || want.rest == orZero {
		if len(got) != 0 {
			return c.unexpected(whole)
		}
		return nil
	}
	value, err := strconv.ParseInt(string(got), 10, 64)
	if err != nil || want.rest != integer && value < 0 {
		return c.unexpected(whole)
	}
	c.judge(want.rest, value)
	return nil
}

// judge counts an integer if it is a decision.
func (c *checker) judge(r rest, value int64) {
	var admitted bool
	switch r {
	case verdict:
		admitted = value > 0
	case below:
		admitted = value < c.limit
	case within:
		admitted = value <= c.limit
	default:
		return
	}
	if admitted {
		c.admitted++
	} else {
		c.denied++
	}
}

func (c *checker) unexpected(got []byte) error {
	want := c.lines[c.at]
	return fmt.Errorf("reply line %d of %d is %q, want %q%s",
		c.at+1, len(c.lines), head(bytes.TrimSuffix(got, []byte("\r"))), want.text, [...]string{
			nothing: "", integer: "<integer>", verdict: "<integer>", below: "<integer>",
			within: "<integer>", orZero: " or :0",
		}[want.rest])
}

// head returns the beginning of b for an error message.
func head(b []byte) []byte { return b[:min(len(b), 120)] }
