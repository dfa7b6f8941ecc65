package scripting

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

var (
	generate = flag.Int("generate", 0, "how many random programs to compare with the -record server")
	seed     = flag.Uint64("seed", 1, "where the random programs begin")
)

// TestGeneratedPrograms compares random programs with a redis-server. Without
// one, testdata/generated.txt holds programs of the same generator.
func TestGeneratedPrograms(t *testing.T) {
	if *record == "" || *generate == 0 {
		t.Log("testdata/generated.txt stands in; -record and -generate compare live")
		return
	}
	client := dialRedis(t, *record)
	e, c := newTestEngine(t)
	bad, misnamed := 0, 0
	for i := range *generate {
		source := newGenerator(*seed + uint64(i)).program()
		want := client.call(t, evalArgs(source))
		got := evaluate(e, c, resp.RESP2, evalArgs(source))
		if got != want && anonymous(got) == anonymous(want) {
			misnamed++
			continue
		}
		if got != want {
			t.Errorf("seed %d\n%s\n got %q\nwant %q", *seed+uint64(i), source, got, want)
			if bad++; bad == 8 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d of %d name another variable in an error", misnamed, *generate)
	require.Less(t, misnamed, *generate/50+1)
}

var (
	named   = regexp.MustCompile(`(local|upvalue|global|field|method) '[^']*' \(([a-z ]*)\)`)
	details = regexp.MustCompile(`\$\d+\r\n|script: [0-9a-f]{40}`)
)

// anonymous removes variable names from errors. Whether Lua knows a name
// depends on how its compiler lays out `and` and `or`.
func anonymous(reply string) string {
	return details.ReplaceAllString(named.ReplaceAllString(reply, "$2"), "")
}

func TestAnonymousDistinguishesErrors(t *testing.T) {
	a := "attempt to index upvalue 's' (a nil value)"
	require.Equal(t, anonymous(a), anonymous("attempt to index a nil value"))
	require.NotEqual(t, anonymous(a), anonymous("attempt to index a number value"))
	require.NotEqual(t, anonymous(a), anonymous("attempt to call upvalue 's' (a nil value)"))
}

// TestWriteGenerated rewrites testdata/generated.txt when recording.
func TestWriteGenerated(t *testing.T) {
	const path = "testdata/generated.txt"
	if *record == "" {
		require.NotEmpty(t, readRecordings(t, path))
		return
	}
	var all []recording
	for i := range 300 {
		all = append(all, recording{proto: resp.RESP2, source: newGenerator(uint64(i) + 1).program()})
	}
	recordAll(t, all)
	writeRecordings(t, path, all)
}

// A generator writes programs that terminate, use no keys, and often fail.
// Their reply is what they have shown so far, or their error.
type generator struct {
	rand   *rand.Rand
	b      strings.Builder
	locals []string
	depth  int
	loops  int
	funcs  int
}

func newGenerator(seed uint64) *generator {
	return &generator{rand: rand.New(rand.NewPCG(seed, 7)), locals: []string{"t", "s", "n"}}
}

const prelude = `local out = {}
local function show(...)
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    local k = type(v)
    if v == 0 then k = '0' elseif v ~= v then k = 'nan'
    elseif k == 'number' or k == 'string' or k == 'boolean' then k = string.gsub(tostring(v), '0x%x+', '') end
    out[#out + 1] = k
  end
end
local t, s, n = {3, 1, 2, x = 'y', f = function(a, b) return b, a end}, 'a1b2', 7
`

func (g *generator) program() string {
	g.b.WriteString(prelude)
	protected := g.rand.IntN(3) > 0
	if protected {
		g.line("show(pcall(function(...)")
	}
	for range 3 + g.rand.IntN(6) {
		g.statement()
	}
	if protected {
		g.line("end, 1, 'two'))")
	}
	g.line("show(#out, n, s)")
	g.b.WriteString("return out")
	return g.b.String()
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, format+"\n", args...)
}

func (g *generator) pick(options ...string) string { return options[g.rand.IntN(len(options))] }

func (g *generator) name() string { return g.locals[g.rand.IntN(len(g.locals))] }

func (g *generator) block() {
	n := len(g.locals)
	for range 1 + g.rand.IntN(3) {
		g.statement()
	}
	g.locals = g.locals[:n]
}

func (g *generator) statement() {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		g.line("show(%s)", g.expr())
		return
	}
	switch g.rand.IntN(17) {
	case 0, 1, 2, 3:
		g.line("show(%s, %s)", g.expr(), g.expr())
	case 4, 5:
		name := fmt.Sprintf("v%d", len(g.locals))
		g.line("local %s = %s", name, g.expr())
		g.locals = append(g.locals, name)
	case 6:
		g.line("%s = %s", g.pick("n", "s", g.name()),
			g.pick(g.expr(), g.expr()+" and "+g.expr(), g.expr()+" or "+g.expr()))
	case 7:
		g.line("%s, %s = %s, %s", g.name(), g.name(), g.expr(), g.expr())
	case 8:
		g.line("if %s then", g.expr())
		g.block()
		if g.rand.IntN(2) == 0 {
			g.line("elseif %s then", g.expr())
			g.block()
		}
		if g.rand.IntN(2) == 0 {
			g.line("else")
			g.block()
		}
		g.line("end")
	case 9:
		g.loops++
		name := fmt.Sprintf("i%d", g.loops)
		g.line("for %s = %s, %s%s do", name, g.pick("1", "3", "'2'", "-1", "0.5"),
			g.pick("3", "'4'", "0", "n % 4", "#t", g.expr()+" and 2"), g.pick("", "", ", 1", ", -1", ", 2"))
		g.locals = append(g.locals, name)
		g.block()
		if g.rand.IntN(3) == 0 {
			g.line("if %s then break end", g.expr())
		}
		g.locals = g.locals[:len(g.locals)-1]
		g.line("end")
	case 10:
		g.line("for k, v in %s do show(k, v) end",
			g.pick("ipairs(t)", "ipairs({"+g.list()+"})", "pairs({"+g.list()+"})", "string.gmatch(s, '%a%d')",
				g.name()))
	case 11:
		g.loops++
		name := fmt.Sprintf("c%d", g.loops)
		g.line("local %s = 0", name)
		if g.rand.IntN(2) == 0 {
			g.line("while %s < 3 do %s = %s + 1", name, name, name)
			g.block()
			g.line("end")
		} else {
			g.line("repeat %s = %s + 1", name, name)
			g.block()
			g.line("until %s > 2 or %s", name, g.expr())
		}
	case 12:
		g.funcs++
		name := fmt.Sprintf("f%d", g.funcs)
		g.line("local %sfunction %s(a, b%s)", "", name, g.pick("", ", ..."))
		saved := g.locals
		g.locals = append(append([]string{}, saved...), "a", "b")
		g.block()
		g.line("%s = %s", g.pick("a", "b"), g.expr())
		g.line("b = %s",
			g.pick("tonumber(b) or 0", "a .. b", "b % 2", "(string.rep(b, 2))", "not b", "{b}",
				"b and a or b", g.expr()))
		g.line("return %s, b end", g.expr())
		g.locals = append(saved, name)
		g.line("show(%s(%s))", name, g.list())
	case 13:
		g.line("show(pcall(function() %s end))",
			g.pick("return "+g.expr(), "error("+g.expr()+")", "local q = "+g.expr()+" return q.z",
				"return "+g.name()+"."+g.pick("x", "y.z", "f(1, 2)")))
	case 14:
		g.line("t[%s] = %s", g.pick("1", "'x'", "#t + 1", "n", "2", g.expr()), g.expr())
	case 15:
		g.line("do")
		g.block()
		g.line("end")
	case 16:
		g.line("show(%s)", g.pick(
			"select('#', "+g.list()+")", "select(2, "+g.list()+")", "unpack({"+g.list()+"})",
			"coroutine.wrap(function(a) local b = coroutine.yield(a) return b end)("+g.expr()+")",
			"(function(...) return ..., "+g.expr()+" end)("+g.list()+")",
			"("+g.name()+")", "(t.f(1, 2))", "t.f(1, 2)", "#{t.f(1, 2)}", "#{t.f(1, 2), 3}",
			"setmetatable({}, {__add = function(a, b) return 'add' end}) + "+g.expr(),
			"setmetatable({}, {__concat = function(a, b) return type(b) end}) .. "+g.expr(),
			"setmetatable({}, {__index = function(_, k) return k end})["+g.expr()+"]",
			"setmetatable({}, {__call = function(_, a) return a end})("+g.expr()+")",
		))
	}
}

func (g *generator) list() string {
	var items []string
	for range g.rand.IntN(4) + 1 {
		items = append(items, g.expr())
	}
	return strings.Join(items, ", ")
}

func (g *generator) expr() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 7 || g.rand.IntN(3) == 0 {
		return g.atom()
	}
	switch g.rand.IntN(12) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", g.expr(), g.pick("+", "-", "*", "/", "%", "^"), g.expr())
	case 2:
		return fmt.Sprintf("%s .. %s", g.expr(), g.expr())
	case 3:
		return fmt.Sprintf("(%s %s %s)", g.expr(), g.pick("==", "~=", "<", "<=", ">", ">="), g.expr())
	case 4, 5:
		return fmt.Sprintf("(%s %s %s)", g.expr(), g.pick("and", "or"), g.expr())
	case 6:
		return fmt.Sprintf("%s%s", g.pick("not ", "-", "#"), g.atom())
	case 7:
		return fmt.Sprintf("%s(%s)",
			g.pick("tostring", "tonumber", "type", "math.floor", "string.len", "string.upper", "math.abs",
				"#", "string.reverse"), g.expr())
	case 8:
		return fmt.Sprintf("string.%s(%s, %s)", g.pick("rep", "sub", "find", "match", "byte", "format"),
			g.pick("s", "'x-y'", g.expr()), g.pick("1", "2", "'%a'", "'(%d)'", "-2", "'[a-c]+'", "'.-'"))
	case 9:
		return fmt.Sprintf("(string.gsub(%s, %s, %s))", g.pick("s", "'hello'"),
			g.pick("'l'", "'%w'", "'(%a)(%d)'", "'^a'", "''"),
			g.pick("'%0%0'", "'-'", "'%1'", "{a = 'A', l = 1}", "function(x) return x .. '!' end",
				"string.upper"))
	case 10:
		return fmt.Sprintf("string.format(%s, %s)",
			g.pick("'%d'", "'%5.2f'", "'%s'", "'%g'", "'%x'", "'%q'", "'%-5s|'", "'%05d'"), g.expr())
	}
	return fmt.Sprintf("%s%s", g.name(), g.pick(".x", "[1]", "[n]", ".f", ":upper()", "[#t]", ".x.y"))
}

func (g *generator) atom() string {
	switch g.rand.IntN(5) {
	case 0, 1:
		return g.name()
	case 2:
		return g.pick("1", "2", "0.5", "-3", "10", "1e15", "123456789012", "0x10", "1e-5", "7.25", "100",
			"2^53", "1/3")
	case 3:
		return g.pick("'a'", "'10'", "'0x1F'", "' 5 '", "'1e2'", "''", "'abc'", "'010'", "\"q\\\"z\"",
			"[[long]]")
	}
	return g.pick("nil", "true", "false", "{}", "{1, 2, 3}", "KEYS[1]", "ARGV[2]", "#ARGV", "(...)", "t.x",
		"function(a) return a end", "redis.pcall('nosuch').err", "undefined")
}
