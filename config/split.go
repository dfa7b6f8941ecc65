package config

import (
	"errors"
	"strings"

	"github.com/zlimit/zlimit/words"
)

var errUnbalanced = errors.New("Unbalanced quotes in configuration line") //nolint:staticcheck // Redis' text

// splitLine splits a line of a configuration file into words. The line ends at a
// NUL, like a C string.
func splitLine(line string) ([]string, error) {
	line, _, _ = strings.Cut(line, "\x00")
	parts, ok := words.Split([]byte(line), nil)
	if !ok {
		return nil, errUnbalanced
	}
	var out []string
	for _, part := range parts {
		out = append(out, string(part))
	}
	return out, nil
}
