package scripting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// TestHostileScripts runs scripts that could crash a process at some time. Each must return a reply and not
// affect the next script.
func TestHostileScripts(t *testing.T) {
	race.OneGoroutine(t)
	e, c := newTestEngine(t)
	for _, s := range sources(t, "hostile") {
		t.Run(s.name, func(t *testing.T) {
			requireReply(t, e, c, s.text)
			next := evaluate(e, c, resp.RESP2, evalArgs("return {1 .. 'a', KEYS[1], #ARGV}"))
			require.Equal(t, "*3\r\n$2\r\n1a\r\n$1\r\nk\r\n:2\r\n", next)
		})
	}
}

func TestDeepSources(t *testing.T) {
	race.OneGoroutine(t)
	e, c := newTestEngine(t)
	const n = 100_000
	for name, source := range map[string]string{
		"parentheses": "return " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"braces":      "return " + strings.Repeat("{", n) + strings.Repeat("}", n),
		"not":         "return " + strings.Repeat("not ", n) + "1",
		"minus":       "return " + strings.Repeat("- ", n) + "1",
		"sum":         "return 1" + strings.Repeat("+1", n),
		"power":       "return 1" + strings.Repeat("^1", n),
		"concat":      "return 1" + strings.Repeat("..1", n),
		"and":         "return 1" + strings.Repeat(" and 1", n),
		"calls":       "local f return f" + strings.Repeat("()", n),
		"fields":      "local f return f" + strings.Repeat(".x", n),
		"methods":     "local f return f" + strings.Repeat(":x()", n),
		"elseif":      "if 1 then " + strings.Repeat("elseif 1 then ", n) + "end",
		"blocks":      strings.Repeat("do ", n) + strings.Repeat("end ", n),
		"functions":   strings.Repeat("return function() ", n) + strings.Repeat("end ", n),
		"locals":      strings.Repeat("local a ", n),
		"assignment":  "local a " + strings.Repeat("a,", n) + "a=1",
		"arguments":   "return f(" + strings.Repeat("1,", n) + "1)",
		"table":       "return #{" + strings.Repeat("1,", n) + "1}",
		"nothing":     strings.Repeat(" ", n),
		"quotes":      strings.Repeat("'", n),
		"brackets":    "return " + strings.Repeat("[", n),
		"equals":      "return [" + strings.Repeat("=", n),
		"dots":        "return " + strings.Repeat(".", n),
		"digits":      "return " + strings.Repeat("9", n),
		"name":        "return " + strings.Repeat("a", n),
		"params":      "return function(" + strings.Repeat("a,", n) + "a) end",
		"upvalues": "local a return function() " +
			strings.Repeat("return function() return a end,", 3) + "a end",
	} {
		t.Run(name, func(t *testing.T) { requireReply(t, e, c, source) })
	}
}

// requireReply evaluates a script, which does not crash the engine.
func requireReply(t *testing.T, e *Engine, c *commands.Ctx, source string) {
	reply := evaluate(e, c, resp.RESP2, evalArgs(source))
	require.NotEmpty(t, reply)
	require.NotContains(t, reply, internalError)
	t.Logf("%.300q", reply)
}
