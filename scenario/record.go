package scenario

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Print writes the lines of a run, each with the reply that it got.
func (s Section) Print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "== %s\n", s.Title) // into a bytes.Buffer
	for _, step := range s.Steps {
		_, _ = fmt.Fprintf(w, "%s\n%s", step.Line, Print(step.Got))
	}
}

// Record writes the replies of runs into the file of their sections: each below its command's line, in place
// of the lines there that begin with "|". Other lines stay. It fails if a line has several replies, as in a
// repetition.
func Record(path string, runs []Section) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replies := map[int]string{}
	for _, s := range runs {
		for _, step := range s.Steps {
			if step.Failed != nil {
				return fmt.Errorf("%s:%d: %s: %w", path, step.Number, step.Line, step.Failed)
			}
			reply := Print(step.Got)
			if step.Action == Save || step.Action == Own {
				continue
			}
			if _, ok := replies[step.Number]; ok && replies[step.Number] != reply {
				return fmt.Errorf("%s:%d: %s: it has several replies", path, step.Number, step.Line)
			}
			replies[step.Number] = reply
		}
	}
	return os.WriteFile(path, []byte(insert(string(text), replies)), 0o644)
}

// insert returns a text with replies below the lines with their numbers.
func insert(text string, replies map[int]string) string {
	var out strings.Builder
	var reply string // goes below the line and those that continue it
	old := false     // lines with "|" are an old reply
	for i, line := range strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n") {
		continues := line != "" && (line[0] == ' ' || line[0] == '\t')
		if old && strings.HasPrefix(line, "|") {
			continue
		}
		if !continues {
			out.WriteString(reply)
			reply, old = replies[i+1], false
			if _, ok := replies[i+1]; ok {
				old = true
			}
		}
		out.WriteString(line)
	}
	out.WriteString(reply)
	return out.String()
}
