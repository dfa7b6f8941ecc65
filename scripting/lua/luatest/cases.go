package luatest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A Case is a source and the result of lua5.1. In a file, a line "===" stands between cases, and a line
// "---" between the source and the result, which is quoted.
type Case struct {
	Source string
	Result string
}

const caseSeparator, resultSeparator = "\n===\n", "\n---\n"

// ReadCases reads a file of cases. A case without a result has not been recorded yet.
func ReadCases(path string) (cases []Case, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, text := range strings.Split(strings.TrimSuffix(string(data), "\n"), caseSeparator) {
		c := Case{Source: text}
		if source, result, found := strings.Cut(text, resultSeparator); found {
			c.Source = source
			if c.Result, err = strconv.Unquote(result); err != nil {
				return nil, fmt.Errorf("luatest: %s: %w: %s", path, err, result)
			}
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// WriteCases writes a file that ReadCases reads.
func WriteCases(path string, cases []Case) error {
	var texts []string
	for _, c := range cases {
		texts = append(texts, c.Source+resultSeparator+strconv.Quote(c.Result))
	}
	return os.WriteFile(path, []byte(strings.Join(texts, caseSeparator)+"\n"), 0o644)
}
