package scripting

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// A chain is a construct that repeats link n times between head and tail, and
// closing, if any, as often.
type chain struct{ name, head, link, middle, closing, tail string }

func (c chain) source(n int) string {
	return c.head + strings.Repeat(c.link, n) + c.middle + strings.Repeat(c.closing, n) + c.tail
}

// chains are the constructs that C Lua reads in a loop, at any length, and
// those that nest, up to 200 levels.
var chains = []chain{
	{"add", "local x=1 return x", "+x", "", "", ""},
	{"add of constants", "return 1", "+1", "", "", ""},
	{"add of fields", "local t={x=1} return t.x", "+t.x", "", "", ""},
	{"add of calls", "local function f() return 1 end return f()", "+f()", "", "", ""},
	{"add of keys", "local x=#KEYS return x", "+#KEYS", "", "", ""},
	{"add and subtract", "local x=1 return x", "+x-2", "", "", ""},
	{"add of a string", "local x='1' return x", "+x", "", "", ""},
	{"add of nil", "local x local y=1 return y", "+y", "", "", "+x"},
	{"add to nil", "local x return x", "+1", "", "", ""},
	{
		"add of metamethods",
		"local t,n n=0 t=setmetatable({},{__add=function(a,b) n=n+1 return a end}) local u=t", "+1", "", "",
		" return n",
	},
	{"subtract", "local x=1 return x", "-x", "", "", ""},
	{"multiply", "local x=1 return x", "*x", "", "", ""},
	{"divide", "local x=1 return x", "/x", "", "", ""},
	{"modulo", "local x=1 return x", "%x", "", "", ""},
	{"power", "local x=1 return x", "^x", "", "", ""},
	{"concatenation", "local x='a' return #(x", "..x", "", "", ")"},
	{"concatenation of constants", "return #('x'", "..'x'", "", "", ")"},
	{"equal", "local x=1 return x", "==x", "", "", ""},
	{"not equal", "local x=1 return x", "~=x", "", "", ""},
	{"less", "local x=1 return x", "<x", "", "", ""},
	{"and", "local x=1 return x", " and x", "", "", ""},
	{"and of comparisons", "local x=1 return x==1", " and x==1", "", "", ""},
	{"or", "local x=1 return x", " or x", "", "", ""},
	{"or of falsehood", "local x=false return x", " or x", "", "", " or 7"},
	{"and, or", "local x=1 return x", " and x or x", "", "", ""},
	{"if and", "local x=1 if x", " and x", "", "", " then return 1 end return 2"},
	{"not", "local x=1 return ", "not ", "", "", "x"},
	{"minus", "local x=1 return ", "- ", "", "", "x"},
	{"length", "local x='a' return ", "#", "", "", "x"},
	{"calls", "local f f=function() return f end return type(f", "()", "", "", ")"},
	{"calls with a string", "local f f=function() return f end return type(f", "''", "", "", ")"},
	{"calls of nil", "local f=function() end return f", "()", "", "", ""},
	{"call statement", "local f f=function() return f end f", "()", "", "", " return 1"},
	{"fields", "local a={} a.b=a return type(a", ".b", "", "", ")"},
	{"fields of nil", "local a={} return a", ".b", "", "", ""},
	{"fields assigned", "local a={} a.b=a a", ".b", "", "", ".c=7 return a.c"},
	{
		"fields of a function's name", "local a={} a.b=a function a", ".b", "", "",
		".c() return 7 end return a.c()",
	},
	{"indexes", "local a={} a[1]=a return type(a", "[1]", "", "", ")"},
	{"methods", "local a={} a.b=function(s) return s end return type(a", ":b()", "", "", ")"},
	{"methods of a string", "local s='x' return s", ":upper()", "", "", ""},
	{
		"fields, indexes, methods", "local a={} a.b=a a.f=function() return a end a[1]=a return type(a",
		".b[1]:f()", "", "", ")",
	},
	{"elseif", "local x=1 if x==2 then return 2 ", "elseif x==2 then return 3 ", "", "", "else return 4 end"},
	{
		"elseif without else", "local x=1 if x==2 then return 2 ", "elseif x==2 then return 3 ", "", "",
		"end return 5",
	},
	{"parentheses", "local x=1 return ", "(", "x", ")", ""},
	{"nested concatenation", "local x='a' return #(", "(x..", "x", ")", ")"},
	{"nested indexes", "local a={} a[1]=1 return ", "a[", "1", "]", ""},
	{"nested calls", "local f=function(x) return x end return ", "f(", "1", ")", ""},
	{"nested tables", "return type(", "{", "", "}", ")"},
	{"nested keys", "return type({", "[{", "", "}]=1", "})"},
	{"nested functions", "return type(", "function() return ", "1", " end", ")"},
	{"nested function statements", "", "local function f() ", "", "end ", "return 1"},
	{"nested if", "", "if true then ", "return 1 ", "end ", ""},
	{"nested else", "local x=1 ", "if x==2 then return 1 else ", "return 2 ", "end ", ""},
	{"nested do", "", "do ", "return 1 ", "end ", ""},
	{"nested while", "", "while true do ", "return 1 ", "end ", ""},
	{"nested for", "", "for i=1,1 do ", "local z=1 ", "end ", "return 1"},
	{"nested repeat", "", "repeat ", "local z=1 ", "until true ", "return 1"},
	{"statements", "local x=0 ", "x=x+1 ", "", "", "return x"},
	{"elements", "return #{1", ",1", "", "", "}"},
	{"arguments", "return select('#',1", ",1", "", "", ")"},
	{"results", "local function f() return 1", ",1", "", "", " end return select('#',f())"},
	{"targets", "local a a", ",a", "", "", "=1 return a"},
	{"targets in a function", "local a local function f() if 1 then a", ",a", "", "", "=1 end end return 1"},
	{"locals", "", "local a=1 ", "", "", "return 1"},
}

// lengths are close to the limits, and beyond them.
var lengths = []int{
	0, 1, 2, 49, 50, 63, 64, 65, 98, 99, 128, 195, 196, 197, 198, 199, 200, 201, 246, 247,
	248, 250, 255, 256, 1000, 5000,
}

// shorterLimits are the lengths from which this engine may run out of registers
// before C Lua does.
var shorterLimits = map[string]int{
	"modulo": 196, "arguments": 196, "results": 198, "targets": 198,
	"targets in a function": 196, "locals": 199,
}

const chainsPath = "testdata/chains/redis.txt"

var recordChains = flag.String("recordchains", "",
	"record what a redis-server at this address answers to chains")

// TestChains compares with recorded replies of redis-server. The file has a
// line for each construct and length: name, length, reply.
func TestChains(t *testing.T) {
	if *recordChains != "" {
		recordAllChains(t)
	}
	text, err := os.ReadFile(chainsPath)
	require.NoError(t, err)
	recorded := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, reply, ok := strings.Cut(strings.TrimSpace(line), ": ")
		require.True(t, ok, line)
		recorded[name], err = strconv.Unquote(reply)
		require.NoError(t, err)
	}
	require.Len(t, recorded, len(chains)*len(lengths))
	e, c := newTestEngine(t)
	for _, ch := range chains {
		for _, n := range lengths {
			name := fmt.Sprintf("%s %d", ch.name, n)
			want, known := recorded[name]
			require.True(t, known, name)
			got := evaluate(e, c, resp.RESP2, evalArgs(ch.source(n)))
			if limit, ok := shorterLimits[ch.name]; ok && n > limit && got != want {
				require.Contains(t, got, "function or expression too complex", name)
				continue
			}
			require.Equal(t, want, got, name)
		}
	}
}

func recordAllChains(t *testing.T) {
	client := dialRedis(t, *recordChains)
	var b strings.Builder
	for _, ch := range chains {
		for _, n := range lengths {
			fmt.Fprintf(&b, "%s %d: %q\n", ch.name, n, client.call(t, evalArgs(ch.source(n))))
		}
	}
	require.NoError(t, os.WriteFile(chainsPath, []byte(b.String()), 0o644))
}

// TestLongestChains covers the limit of chains, which are compiled by
// recursion.
func TestLongestChains(t *testing.T) {
	if race.Enabled {
		t.Skip("a single goroutine compiles them, for a minute under the race detector")
	}
	e, c := newTestEngine(t)
	for _, ch := range chains {
		for _, n := range []int{20000 + 2, 20 * 20000} {
			reply := evaluate(e, c, resp.RESP2, evalArgs(ch.source(n)))
			require.NotEmpty(t, reply, ch.name)
			require.NotContains(t, reply, internalError, ch.name)
		}
	}
	require.Contains(t,
		evaluate(e, c, resp.RESP2, evalArgs("local x=1 return x"+strings.Repeat("+x", 20000))),
		":20001\r\n")
	require.Contains(t,
		evaluate(e, c, resp.RESP2, evalArgs("local x=1 return x"+strings.Repeat("+x", 20000+1))),
		"chunk has too many syntax levels")
}
