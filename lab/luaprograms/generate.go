package luaprograms

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Program returns a random program. It always terminates, uses no globals but the standard library, and
// returns one string: what it has shown so far. About one in three fails instead, with an error that has a
// position.
func Program(seed uint64) string {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 17)), simple: simpleStatements, topics: topics}
	g.wrong = g.pickInt(0, 0, 0, 150)
	g.b.WriteString(prelude)
	g.vars = []variable{{"n", number}, {"s", text}, {"b", boolean}, {"t", table}, {"f", function}}
	for range 4 + g.rand.IntN(8) {
		g.statement()
	}
	g.line("show(n, s, b, #t)")
	g.line("return table.concat(out, ',')")
	return g.b.String()
}

// prelude declares what programs use. step bounds the calls and iterations, so that every program ends;
// clip bounds strings. They leave out what differs between machines: addresses, the sign of a NaN, and that
// of a zero.
const prelude = `local out, steps, void = {}, 3000, nil
local function step()
  steps = steps - 1
  if steps < 0 then error('no steps left', 0) end
end
local function clip(v)
  if type(v) == 'string' then return string.sub(v, 1, 40) end
  if v ~= v then return 0 end
  return v
end
local function str(v) return (string.gsub(tostring(v), '0x%x+', 'address')) end
local function show(...)
  step()
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    local k = type(v)
    if v == 0 then k = '0'
    elseif v ~= v then k = 'nan'
    elseif k == 'number' or k == 'boolean' then k = tostring(v)
    elseif k == 'string' then k = clip((string.gsub(v, '0x%x+', 'address'))) end
    out[#out + 1] = k
  end
end
local n, s, b, t = 7, 'a1-b2', true, {3, 1, 2, x = 'y'}
local function f(x, y) return y, x end
`

// A kind is the type that an expression has, unless the generator puts a wrong one in its place.
type kind int

const (
	number kind = iota
	text
	boolean
	table
	function
	kinds
)

type variable struct {
	name string
	kind kind
}

type generator struct {
	rand   *rand.Rand
	b      strings.Builder
	vars   []variable
	names  int
	depth  int
	wrong  int  // one in so many operands has a wrong type; 0 for none
	vararg bool // the innermost function has varargs
	yields bool // the code runs in a coroutine

	simple, topics []func(*generator)
}

func (g *generator) oneIn(n int) bool { return g.rand.IntN(n) == 0 }

func (g *generator) pick(options ...string) string { return options[g.rand.IntN(len(options))] }

func (g *generator) pickInt(options ...int) int { return options[g.rand.IntN(len(options))] }

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

func (g *generator) newName(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// declare adds a local variable to the scope.
func (g *generator) declare(name string, k kind) { g.vars = append(g.vars, variable{name, k}) }

// scope generates code in a block of its own.
func (g *generator) scope(body func()) {
	vars := len(g.vars)
	body()
	g.vars = g.vars[:vars]
}

func (g *generator) block() {
	g.scope(func() {
		for range 1 + g.rand.IntN(3) {
			g.statement()
		}
	})
}

// inside generates code in a function with or without varargs.
func (g *generator) inside(vararg bool, code func()) {
	outer := g.vararg
	g.vararg = vararg
	g.scope(code)
	g.vararg = outer
}

// body generates statements of a function.
func (g *generator) body(params ...variable) {
	g.vars = append(g.vars, params...)
	g.line("step()")
	g.block()
}

// variable returns the name of a variable of a kind, the nearest ones more often.
func (g *generator) variable(k kind) string {
	for i := len(g.vars) - 1; i >= 0; i-- {
		if g.vars[i].kind == k && g.oneIn(3) {
			return g.vars[i].name
		}
	}
	return [kinds]string{"n", "s", "b", "t", "f"}[k]
}

// maxDepth bounds the nesting of statements.
const maxDepth = 5

func (g *generator) statement() {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > maxDepth {
		g.line("show(%s)", g.list(2))
		return
	}
	if g.oneIn(3) {
		g.topics[g.rand.IntN(len(g.topics))](g)
		return
	}
	g.simple[g.rand.IntN(len(g.simple))](g)
}

// simpleStatements are the statements of the language, the frequent ones more than once.
var simpleStatements = []func(*generator){
	(*generator).showValues, (*generator).showValues, (*generator).showValues,
	(*generator).local, (*generator).local, (*generator).assignment, (*generator).assignment,
	(*generator).multipleAssignment, (*generator).field, (*generator).condition, (*generator).condition,
	(*generator).numericFor, (*generator).genericFor, (*generator).while, (*generator).repeatUntil,
	(*generator).doBlock, (*generator).functionStatement, (*generator).yieldStatement,
}

func (g *generator) showValues() { g.line("show(%s)", g.list(3)) }

func (g *generator) local() {
	k := kind(g.rand.IntN(int(kinds)))
	name := g.newName("v")
	if g.oneIn(5) {
		name = g.variable(k) // hides another
	}
	g.line("local %s = %s", name, g.clipped(k))
	g.declare(name, k)
}

// clipped returns an expression to assign: its value does not grow if that happens again and again.
func (g *generator) clipped(k kind) string {
	if k == text || k == number {
		return "clip(" + g.expr(k) + ")"
	}
	return g.expr(k)
}

// assignable returns the name of a variable that is not a table or function, because those are kept as
// they are.
func (g *generator) assignable() (name string, k kind) {
	k = kind(g.rand.IntN(int(table)))
	return g.variable(k), k
}

func (g *generator) assignment() {
	name, k := g.assignable()
	g.line("%s = %s", name, g.clipped(k))
}

func (g *generator) multipleAssignment() {
	a, ka := g.assignable()
	b, kb := g.assignable()
	switch g.rand.IntN(4) {
	case 0:
		g.line("%s, %s = %s, %s", a, b, g.clipped(ka), g.clipped(kb))
	case 1:
		g.line("n, t[n] = %s, %s", g.expr(number), g.expr(number))
	case 2:
		g.line("t[1], t[2], t[1] = %s, %s", g.expr(number), g.expr(number))
	default:
		x, y := g.newName("v"), g.newName("v")
		g.line("local %s, %s = f(%s, %s)", x, y, g.clipped(number), g.clipped(text))
		g.declare(y, number)
		g.declare(x, text)
	}
}

func (g *generator) field() {
	g.line("%s[%s] = %s", g.variable(table),
		g.pick("1", "2", "'x'", "'"+g.newName("k")+"'", "#t + 1", g.expr(text), g.expr(number)),
		g.clipped(kind(g.rand.IntN(int(table)))))
}

func (g *generator) condition() {
	g.line("if %s then", g.expr(boolean))
	g.block()
	for g.oneIn(3) {
		g.line("elseif %s then", g.expr(boolean))
		g.block()
	}
	if g.oneIn(2) {
		g.line("else")
		g.block()
	}
	g.line("end")
}

// loopBody generates the inside of a loop, with a break now and then.
func (g *generator) loopBody() {
	g.line("step()")
	g.block()
	if g.oneIn(3) {
		g.line("if %s then break end", g.expr(boolean))
	}
}

func (g *generator) numericFor() {
	i := g.newName("i")
	g.line("for %s = %s, %s%s do", i,
		g.pick("1", "3", "-1", "0.5", "'2'", "10"), g.pick("3", "#t", "0", "n % 4", "1.75", "'4'", "-2"),
		g.pick("", "", ", 1", ", -1", ", 2", ", 0.25", ", -3"))
	g.scope(func() {
		g.declare(i, number)
		g.loopBody()
	})
	g.line("end")
}

func (g *generator) genericFor() {
	k, v := g.newName("k"), g.newName("v")
	g.scope(func() {
		switch g.rand.IntN(4) {
		case 0:
			g.line("for %s, %s in ipairs(%s) do", k, v, g.expr(table))
			g.declare(k, number)
		case 1: // only an array has an order
			g.line("for %s, %s in pairs({%s}) do", k, v, g.list(4))
			g.declare(k, number)
		case 2:
			g.line("for %s, %s in string.gmatch(%s, %s) do", k, v, g.expr(text),
				g.pick("'(%w)(%W)'", "'(%a+)()'", "'(.)(.)'", "'()(%d*)'"))
			g.declare(k, text)
		default:
			g.line("for %s, %s in function(limit, i) if i < limit then return i + 1, i * 2 end end, %s, 0 do",
				k, v, g.pick("3", "0", "n % 5"))
			g.declare(k, number)
			g.declare(v, number)
		}
		if g.oneIn(3) {
			g.line("show(%s, %s)", k, v)
		}
		g.loopBody()
	})
	g.line("end")
}

func (g *generator) while() {
	i := g.newName("i")
	g.line("local %s = %s", i, g.pick("0", "1", "-1"))
	g.declare(i, kinds) // is not assigned to
	g.line("while %s < 3 do", i)
	g.line("%s = %s + 1", i, i)
	g.loopBody()
	g.line("end")
}

func (g *generator) repeatUntil() {
	i, last := g.newName("i"), g.newName("v")
	g.line("local %s = 0", i)
	g.line("repeat %s = %s + 1", i, i)
	g.scope(func() {
		g.loopBody()
		g.line("local %s = %s > %s", last, i, g.pick("0", "2", "3"))
		if g.oneIn(3) {
			g.line("f(function() return %s end)", last)
		}
		g.line("until %s or %s", last, g.expr(boolean))
	})
}

func (g *generator) doBlock() {
	g.line("do")
	g.block()
	g.line("end")
}

func (g *generator) functionStatement() {
	name := g.newName("f")
	vararg := g.oneIn(2)
	params := []variable{{g.newName("p"), number}, {g.newName("p"), text}}
	g.line("local function %s(%s, %s%s)", name, params[0].name, params[1].name,
		map[bool]string{true: ", ..."}[vararg])
	g.inside(vararg, func() {
		g.body(params...)
		g.line("return %s", g.list(3))
	})
	g.line("end")
	g.line("show(%s(%s, %s, %s))", name, g.expr(number), g.expr(text), g.list(2))
	g.declare(name, function)
}

func (g *generator) yieldStatement() {
	if !g.yields {
		g.showValues()
		return
	}
	name := g.newName("v")
	g.line("local %s = coroutine.yield(%s)", name, g.list(2))
	g.line("show(%s)", name)
}
