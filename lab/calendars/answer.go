package calendars

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/zlimit/zlimit/calendar"
)

// An Answer is a slice.
type Answer struct{ StartMs, EndMs int64 }

// Serve answers queries from package calendar.
func Serve(in io.Reader, out io.Writer) error {
	w := bufio.NewWriter(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		q, err := parseQuery(lines.Text())
		if err != nil {
			return err
		}
		c, err := calendar.Parse([]byte(q.Window()))
		if err != nil {
			return fmt.Errorf("%s: %w", q.Window(), err)
		}
		start, end := c.Slice(q.NowMs)
		fmt.Fprintln(w, start, end)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return w.Flush()
}

// Ask has a program answer queries.
func Ask(queries []Query, command *exec.Cmd) ([]Answer, error) {
	var in strings.Builder
	for _, q := range queries {
		in.WriteString(q.line())
	}
	var out, failure bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(in.String()), &out, &failure
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", command.Args, err, failure.String())
	}
	answers := make([]Answer, len(queries))
	for i := range answers {
		if _, err := fmt.Fscan(&out, &answers[i].StartMs, &answers[i].EndMs); err != nil {
			return nil, fmt.Errorf("%v: answer %d: %w", command.Args, i, err)
		}
	}
	return answers, nil
}
