package recorded

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errMonitor = errors.New("not a line of MONITOR")

// parseLine returns the words of a command in a line of MONITOR, without its "+", and whether a script ran
// it:
//
//	1700000000.123456 [0 127.0.0.1:50000] "GET" "key"
func parseLine(line string) (words []string, scripted bool, err error) {
	_, rest, ok := strings.Cut(line, " [")
	from, rest, closed := strings.Cut(rest, "] ")
	if !ok || !closed {
		return nil, false, fmt.Errorf("%w: %q", errMonitor, line)
	}
	for rest != "" {
		var word string
		if word, rest, err = unquote(rest); err != nil {
			return nil, false, fmt.Errorf("%w: %q", err, line)
		}
		words = append(words, word)
		rest = strings.TrimPrefix(rest, " ")
	}
	if len(words) == 0 {
		return nil, false, fmt.Errorf("%w: %q", errMonitor, line)
	}
	return words, strings.HasSuffix(from, " lua"), nil
}

// unquote returns the word at the begin of text, in double quotes and with Redis' escapes, and what follows.
func unquote(text string) (word, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errMonitor
	}
	var out []byte
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return string(out), text[i+1:], nil
		case c != '\\':
			out = append(out, c)
		case i+1 == len(text):
			return "", "", errMonitor
		case text[i+1] == 'x' && i+3 < len(text):
			v, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
			if err != nil {
				return "", "", errMonitor
			}
			out = append(out, byte(v))
			i += 3
		default:
			i++
			plain := strings.IndexByte("nrtab", text[i])
			if plain < 0 {
				out = append(out, text[i])
			} else {
				out = append(out, "\n\r\t\a\b"[plain])
			}
		}
	}
	return "", "", errMonitor
}
