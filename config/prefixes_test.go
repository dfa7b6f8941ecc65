package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrefixes(t *testing.T) {
	const name = "rl-stats-prefix"
	set := func(c *Config, text string) error { return c.Set([][]byte{[]byte(name), []byte(text)}) }
	many := make([]string, maxPrefixes)
	for i := range many {
		many[i] = fmt.Sprint("t", i, ":")
	}
	all := strings.Join(many, " ")
	for _, tc := range []struct {
		set, text string
		want      []string
	}{
		{"", "", nil},
		{`""`, "", nil},
		{" b:  a: ", "b: a:", []string{"b:", "a:"}},
		{`"a b" 'c' "\x00\r\n\"\xff"`, `"a b" c "\x00\r\n\"\xff"`, []string{"a b", "c", "\x00\r\n\"\xff"}},
		{all, all, many},
	} {
		c := New()
		require.NoError(t, set(c, tc.set), "%q", tc.set)
		require.Equal(t, tc.want, c.Strings(name), "%q", tc.set)
		require.Equal(t, tc.text, c.Text(name), "%q", tc.set)
		again := New()
		require.NoError(t, again.ParseFile("f", strings.NewReader(c.File())), "%q", c.File())
		require.Equal(t, tc.want, again.Strings(name), "%q", c.File())
	}
	c := New()
	require.NoError(t, c.ParseFile("f", strings.NewReader(name+" a: b:\n"+name+" c:\n")))
	require.Equal(t, []string{"a:", "b:", "c:"}, c.Strings(name), "lines accumulate")
	for text, want := range map[string]string{
		"a a": `prefix "a" is given twice`, `a ""`: "prefix must not be empty", `"a`: "unbalanced quotes",
		all + " x": "there must be at most 64 prefixes", "a\x00": "must not contain a NUL byte",
	} {
		require.ErrorContains(t, set(c, text), want)
		require.Equal(t, "a: b: c:", c.Text(name), "nothing has changed")
	}
}
