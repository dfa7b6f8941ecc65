package scripting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// TestScriptsAreBounded checks the memory limit.
func TestScriptsAreBounded(t *testing.T) {
	const limit = 1 << 20
	scripts := []struct {
		source string
		ends   bool
	}{
		{"local s = 'x' while true do s = s .. s end", false},
		{"local t = {} while true do t[#t + 1] = 'abcdefgh' end", false},
		{"local t = {} local i = 0 while true do i = i + 1 t['k' .. i] = i end", false},
		{"local t = {} while true do t = {t} end", false},
		{"return #string.rep('x', 1e8)", false},
		{"local t = {} while true do table.insert(t, ARGV[1]) end", false},
		{"local n = 0 for i = 1, 3000 do n = n + #string.rep('x', 5000) end return n", true}, // garbage
		{"local t for i = 1, 20000 do t = {i, i, i} end return t[1]", true},
	}
	for _, s := range scripts {
		e, c := newTestEngine(t)
		e.SetLimits(0, limit)
		reply := evaluate(e, c, resp.RESP2, evalArgs(s.source))
		require.Equal(t, s.ends, !strings.HasPrefix(reply, "-ERR "+errNoMemory+" script: "), "%s\n%s",
			s.source, reply)
		// The next script is not affected.
		require.Equal(t, ":2\r\n", evaluate(e, c, resp.RESP2, evalArgs("return #ARGV")))
	}
}

// TestScriptsEnd checks that every loop can be stopped.
func TestScriptsEnd(t *testing.T) {
	for _, source := range []string{
		"while true do end", "for i = 1, 1e15 do end", "repeat until false",
		"local i = 0 while i < 1e15 do i = i + 1 end",
		"while true do for i, k in ipairs(KEYS) do local x = k end end",
	} {
		e, c := newTestEngine(t)
		var now int64
		e.runs = newRunTracker(func() int64 { now += 1e6; return now }, 1)
		e.StopAll()
		require.Contains(t, evaluate(e, c, resp.RESP2, evalArgs(source)), errKilled, source)
	}
}
