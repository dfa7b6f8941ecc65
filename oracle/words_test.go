package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                              nil,
		"  PING ":                       {"PING"},
		"SET k  v":                      {"SET", "k", "v"},
		`SET "a b" "" "\x00\v\"\u00fc"`: {"SET", "a b", "", "\x00\v\"\u00fc"},
		`SET it's a"b`:                  {"SET", "it's", `a"b`},
	} {
		words, err := Words(line)
		require.NoError(t, err, line)
		var got []string
		for _, w := range words {
			got = append(got, string(w))
		}
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{`SET "k`, `SET "k"v`, `"\q"`} {
		_, err := Words(line)
		require.Error(t, err, line)
	}
}
