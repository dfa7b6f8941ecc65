package introspection

import (
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
)

func TestSyntaxesAreValid(t *testing.T) { CheckSyntax(t, testTable()) }

// CheckSyntax checks that the syntax of every row of a table parses, and that the arity matches it.
func CheckSyntax(t *testing.T, table *commands.Table) {
	t.Helper()
	check := func(c *commands.Command) {
		require.True(t, looseArity[c.FullName()] != "" || arityMatches(c), c.FullName())
	}
	for _, c := range table.All() {
		check(c)
		for i := range c.Subs {
			check(&c.Subs[i])
		}
	}
}

// looseArity maps commands whose arity does not match their syntax, in Redis either,
// to the reason.
var looseArity = map[string]string{
	"client|kill": "every filter is optional, but one is required",
	"quit":        "accepts and ignores arguments",
}

// arityMatches reports whether the arity of a row is that of its syntax. It panics if the syntax does not
// parse.
func arityMatches(c *commands.Command) bool {
	least, most := syntaxArity(c)
	return c.Subs != nil || -c.Arity == least && most != least || c.Arity == least && most == least
}

// syntaxArity returns the minimum and maximum (-1 if unlimited) number of words of a
// call according to its syntax.
func syntaxArity(c *commands.Command) (least, most int) {
	least, most = 1, 1
	if strings.Contains(c.FullName(), "|") {
		least, most = 2, 2
	}
	l, m := wordCount(argumentsOf(c))
	if m < 0 {
		return least + l, -1
	}
	return least + l, most + m
}

func wordCount(arguments []argument) (least, most int) {
	for i := range arguments {
		a := &arguments[i]
		l, m := 1, 1
		switch a.kind {
		case "oneof":
			l, m = wordCount(a.members[:1])
			for j := range a.members[1:] {
				l2, m2 := wordCount(a.members[1+j : 2+j])
				l = min(l, l2)
				if m2 < 0 || m < 0 {
					m = -1
				} else {
					m = max(m, m2)
				}
			}
		case "block":
			l, m = wordCount(a.members)
		}
		if a.token != "" && a.kind != "pure-token" {
			l++
			if m >= 0 {
				m++
			}
		}
		if a.optional {
			l = 0
		}
		if a.multiple {
			m = -1
		}
		least += l
		if m < 0 || most < 0 {
			most = -1
		} else {
			most += m
		}
	}
	return least, most
}

// TestArityMatches finds arities that are not those of a syntax.
func TestArityMatches(t *testing.T) {
	for _, c := range []struct {
		arity  int
		syntax string
		want   bool
	}{
		{3, "key value", true},
		{2, "key value", false},
		{-3, "key value", false},
		{3, "key value [value ...]", false},
		{-3, "key value [value ...]", true},
	} {
		row := commands.Command{Name: "x", Arity: c.arity, Syntax: c.syntax}
		require.Equal(t, c.want, arityMatches(&row), c)
	}
}

// TestSyntaxErrors tests that malformed syntaxes panic.
func TestSyntaxErrors(t *testing.T) {
	for _, syntax := range []string{"key ]", "key [NX", "<a | b", "[key ...", "a > b", "..."} {
		require.Panics(t, func() { argumentsOf(&commands.Command{Syntax: syntax}) }, syntax)
	}
}

// TestFlagNames tests the flags that COMMAND INFO lists.
func TestFlagNames(t *testing.T) {
	flags := commands.AllowBusy | commands.Fast | commands.Write | commands.AllShards | commands.Random
	require.Equal(t, []string{"write", "fast", "allow_busy"}, namesOf(flags))
	require.Equal(t, len(flagNames), bits.Len32(uint32(commands.AllowBusy)))
}
