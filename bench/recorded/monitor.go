package recorded

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/words"
)

var errMonitor = errors.New("not a line of MONITOR")

// parseLine returns a command with its arguments in a line of MONITOR, without its "+", and whether a script
// ran it:
//
//	1700000000.123456 [0 127.0.0.1:50000] "GET" "key"
func parseLine(line string) (args []string, scripted bool, err error) {
	_, rest, ok := strings.Cut(line, " [")
	from, rest, closed := strings.Cut(rest, "] ")
	split, matched := words.Split([]byte(rest), nil)
	var quoted []string
	for _, word := range split {
		args = append(args, string(word))
		quoted = append(quoted, words.Quote(string(word)))
	}
	if !ok || !closed || !matched || len(args) == 0 || strings.Join(quoted, " ") != rest {
		return nil, false, fmt.Errorf("%w: %q", errMonitor, line)
	}
	return args, strings.HasSuffix(from, " lua"), nil
}
