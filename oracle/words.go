package oracle

import (
	"fmt"
	"strconv"
	"strings"
)

// Words splits a line of a recording into the words of a command. Spaces separate
// words; a word that begins with a double quote is quoted as in Go.
func Words(line string) (words [][]byte, err error) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word, rest, _ := strings.Cut(line, " ")
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("oracle: %s: %w", line, err)
			}
			rest = line[len(quoted):]
			if rest != "" && rest[0] != ' ' {
				return nil, fmt.Errorf("oracle: %s: no space behind a quoted word", line)
			}
			word, _ = strconv.Unquote(quoted)
		}
		words, line = append(words, []byte(word)), rest
	}
	return words, nil
}
