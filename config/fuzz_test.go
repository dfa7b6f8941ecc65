package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noFiles returns a parser that opens no files.
func noFiles() *parser {
	return &parser{values: slices.Clone(defaults), included: maxIncludes}
}

// FuzzFile: parsing does not panic, and what is accepted survives File and
// ParseFile.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"timeout 5\n", "bind \"a b\" 'c\\'d'\n# x\r\n",
		"client-output-buffer-limit normal 1gb 1k 5 pubsub 0 0 0",
		"save 60 1\nsave \"\"", "unixsocketperm 770", "requirepass \"\\x00\\xff\\\\\"", "bind \"",
		"include *", "proto-max-bulk-len 8gb\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := noFiles()
		if p.parse("", text) != nil || p.firstRefused() != nil {
			return
		}
		c := New()
		c.values = p.values
		again := New()
		require.NoError(t, again.ParseFile("f", strings.NewReader(c.File())), c.File())
		for i := range table {
			require.Equal(t, c.values[i].text, again.values[i].text, table[i].Name)
		}
	})
}

// FuzzArgs: parsing a command line does not panic.
func FuzzArgs(f *testing.F) {
	f.Add("--timeout\n5\n-")
	f.Add("--save\n--\n--\"")
	f.Add("-\n--a 'b\n\\")
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\n")
		lines, _ := optionLines(args)
		_ = noFiles().parse("", lines)
	})
}

// FuzzSet: an accepted value can be set again as it is shown, and a refused one
// changes nothing.
func FuzzSet(f *testing.F) {
	f.Add("timeout", "5")
	f.Add("PROTO-max-bulk-len", "9223372036854775807gb")
	f.Add("client-output-buffer-limit", "normal 1 2 3")
	f.Add("slave-read-only", "NO")
	f.Fuzz(func(t *testing.T, name, text string) {
		c := New()
		if err := c.Set(bytesOf([]string{name, text})); err != nil {
			require.Equal(t, defaults, c.values)
			return
		}
		n, ok := lookup(name)
		require.True(t, ok)
		shown := c.values[n.index]
		require.NoError(t, c.Set(bytesOf([]string{name, shown.text})))
		require.Equal(t, shown, c.values[n.index])
	})
}
