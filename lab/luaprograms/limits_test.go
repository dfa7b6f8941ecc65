package luaprograms

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// numbered returns a format applied to 1, 2, ... n, joined.
func numbered(n int, format, separator string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i+1))
	}
	return strings.Join(texts, separator)
}

// upvalues returns a function that uses n variables of the one around it.
func upvalues(n int) string {
	half := n / 2
	return numbered(half, "local a%d = %d", " ") + " return (function() " +
		numbered(n-half, "local b%d = %d", " ") + " return (function() return " +
		numbered(half, "a%d", " + ") + " + " + numbered(n-half, "b%d", " + ") + " end)() end)()"
}

func nested(n int, before, inside, after string) string {
	return strings.Repeat(before, n) + inside + strings.Repeat(after, n)
}

// limits are sources at the limits of Lua 5.1's compiler and beyond, with the results of lua5.1.
var limits = []struct{ name, source, result string }{
	{"200 locals", numbered(200, "local v%d = %d", "\n") + " return v200", "ok 200"},
	{"201 locals", numbered(201, "local v%d = %d", "\n"), ""},
	{"201 locals in a function", "local function f()\n" + numbered(201, "local v%d", "\n") + "\nend", ""},
	{
		"200 locals in one statement", "local " + numbered(200, "v%d", ", ") + " = 1 return v1, v200",
		"ok 1 nil",
	},
	{"201 locals in one statement", "local " + numbered(201, "v%d", ", "), ""},
	{"200 parameters", "return (function(" + numbered(200, "p%d", ", ") + ") return p1 end)(5)", "ok 5"},
	{"201 parameters", "return (function(" + numbered(201, "p%d", ", ") + ") return p1 end)(5)", ""},
	{"60 upvalues", upvalues(60), "ok 930"},
	{"61 upvalues", upvalues(61), ""},
	{"190 parentheses", "return " + nested(190, "(", "1", ")"), "ok 1"},
	{"300 parentheses", "return " + nested(300, "(", "1", ")"), ""},
	{"100000 parentheses", "return " + nested(100000, "(", "1", ")"), ""},
	{"190 blocks", nested(190, "do ", "local x = 1", " end") + " return 2", "ok 2"},
	{"300 blocks", nested(300, "do ", "local x = 1", " end"), ""},
	{"300 loops", nested(300, "while true do ", "break", " end"), ""},
	{"100 functions", "return " + nested(100, "(function() return ", "1", " end)()"), ""},
	{"300 functions", "return " + nested(300, "function() return ", "1", " end"), ""},
	{"190 tables", "return #" + nested(190, "{", "1", "}"), "ok 1"},
	{"300 tables", "return #" + nested(300, "{", "1", "}"), ""},
	{"300 ifs", nested(300, "if true then ", "", " end"), ""},
	{"5000 elseifs", "local x = 5000 if x == 0 then return 0 " +
		numbered(5000, "elseif x == %d then return %d", " ") + " end", "ok 5000"},
	{"180 unary operators", "return " + strings.Repeat("not ", 180) + "nil", "ok false"},
	{"300 unary operators", "return " + strings.Repeat("not ", 300) + "nil", ""},
	{"300 minus signs", "return " + strings.Repeat("- ", 300) + "1", ""},
	{"190 concatenations", "return " + numbered(190, "'x'", " .. "), "ok " + strings.Repeat("x", 190)},
	{"300 concatenations", "return #(" + numbered(300, "'x'", " .. ") + ")", ""},
	{"300 powers", "return " + numbered(300, "1", " ^ "), ""},
	{"5000 additions", "return " + numbered(5000, "1", " + "), "ok 5000"},
	{"5000 ands", "local a = 1 return " + numbered(5000, "a", " and "), "ok 1"},
	{"5000 ors", "local a = nil return " + numbered(5000, "a", " or "), "ok nil"},
	{"1000 indexes", "local a = {} a.b = a return a" + strings.Repeat(".b", 1000) + " == a", "ok true"},
	{"1000 calls", "local function f() return f end f = f return type(f) " +
		"local function g() return g end return g" + strings.Repeat("()", 1000), ""},
	{
		"20000 elements", "local t = {" + numbered(20000, "%d", ", ") + "} return #t, t[20000]",
		"ok 20000 20000",
	},
	{"20000 fields", "local t = {" + numbered(20000, "f%d = %d", ", ") + "} return t.f20000", "ok 20000"},
	{"240 arguments", "return select('#', " + numbered(240, "%d", ", ") + ")", "ok 240"},
	{"260 arguments", "return select('#', " + numbered(260, "%d", ", ") + ")", ""},
	{"240 results", "return " + numbered(240, "nil", ", "), "ok" + strings.Repeat(" nil", 240)},
	{"260 results", "return " + numbered(260, "%d", ", "), ""},
	{"50 assignments", "local t = {} " + numbered(50, "t[%d]", ", ") + " = " + numbered(50, "%d", ", ") +
		" return t[50]", "ok 50"},
	{"300 assignments", "local t = {} " + numbered(300, "t[%d]", ", ") + " = 1", ""},
	{"a name of 100000 bytes", "local " + strings.Repeat("n", 100000) + " = 1 return 2", "ok 2"},
	{"a string of 1000000 bytes", "return #'" + strings.Repeat("s", 1000000) + "'", "ok 1000000"},
	{"a number of 10000 digits", "return " + strings.Repeat("9", 10000), "ok inf"},
	{"a script of 1 MB", numbered(60000, "x = %d + 1", "\n") + "\nreturn x", "ok 60001"},
	{"a comment of 1 MB", "--[[" + strings.Repeat("c", 1<<20) + "]] return 1", "ok 1"},
	{"a NUL", "return \x001", ""},
	{"a NUL after a number", "return 1\x00 + 1", "ok 2"},
	{"two NULs after a number", "return 1\x00\x005 + 1", "ok 2"},
	{"a NUL in a string", "return #'a\x00b'", "ok 3"},
	{"a NUL in a comment", "--\x00\nreturn 1", ""},
	{"a NUL in a long string", "return #[[a\x00b]]", ""},
	{"bytes that are no letters", "return \xff", ""},
	{"a letter of UTF-8", "local \u00e9 = 1", ""},
	{"a long token in an error", "x = " + strings.Repeat("y", 200) + " z", ""},
	{"a long string in an error", "x = '" + strings.Repeat("y", 200) + "' z", ""},
}

// variableText matches what an error about a limit need not say as lua5.1 does: the token at which its one
// pass over the source notices, and a number that depends on the depth of C's stack.
var variableText = regexp.MustCompile(`(too complex) near .*|(has more than )\d+( variables in assignment)`)

// withoutVariable shortens a result to what must be equal.
func withoutVariable(result string) string {
	result = variableText.ReplaceAllString(result, "$1$2$3")
	return result[:min(len(result), 300)]
}

// TestLimits compares sources at the compiler's limits with lua5.1.
func TestLimits(t *testing.T) {
	r := reference(t)
	for _, c := range limits {
		t.Run(c.name, func(t *testing.T) {
			want, err := r.Run(c.source)
			require.NoError(t, err)
			got := luatest.Run(c.source)
			require.Equal(t, withoutVariable(want), withoutVariable(got))
			if c.result != "" {
				require.Equal(t, c.result, got)
			}
		})
	}
}
