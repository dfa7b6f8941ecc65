package luaprograms

import (
	"fmt"
	"strings"
)

// list returns up to most expressions of any kind.
func (g *generator) list(most int) string {
	var items []string
	for range 1 + g.rand.IntN(most) {
		items = append(items, g.expr(kind(g.rand.IntN(int(kinds)))))
	}
	if g.vararg && g.oneIn(3) {
		items = append(items, "...")
	}
	return strings.Join(items, ", ")
}

// maxExprDepth bounds the nesting of statements and expressions together.
const maxExprDepth = 9

func (g *generator) expr(k kind) string {
	g.depth++
	defer func() { g.depth-- }()
	if g.wrong > 0 && g.oneIn(g.wrong) {
		if g.oneIn(3) {
			return "void"
		}
		k = kind(g.rand.IntN(int(kinds)))
	}
	if g.depth > maxExprDepth || g.oneIn(3) {
		if g.oneIn(2) {
			return g.variable(k)
		}
		return g.pick(constants[k]...)
	}
	return [kinds]func(*generator) string{
		(*generator).number, (*generator).text, (*generator).boolean, (*generator).table,
		(*generator).function,
	}[k](g)
}

var constants = [kinds][]string{
	{
		"1", "2", "3", "-3", "0.5", "10", "1e15", "123456789012", "0x10", "1e-5", "7.25", "2^53", "1/3",
		"'10'", "' 0x1F '", "-1e3",
	},
	{
		"'a'", "''", "'abc'", "'x-y_z'", "'10'", `"q\"z"`, "([[long]])", `'\0\255'`, "'a b c'", "12",
		"'hello world'", "'%d'",
	},
	{"true", "false", "nil", "1", "''", "void"},
	{"{}", "{1, 2, 3}", "{x = 1}", "{'b', 'a'}", "{{1}, {2}}", "t"},
	{"f", "function() end", "string.upper", "type", "function(...) return ... end", "str"},
}

func (g *generator) number() string {
	switch g.rand.IntN(11) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", g.expr(number), g.pick("+", "-", "*", "/", "%"), g.expr(number))
	case 3:
		return fmt.Sprintf("%s ^ %s", g.variable(number), g.pick("2", "3", "0.5", "-1"))
	case 4:
		return fmt.Sprintf("#%s", g.pick("s", "t", g.variable(text), g.variable(table)))
	case 5:
		return fmt.Sprintf("-%s", g.variable(number))
	case 6:
		return fmt.Sprintf("math.%s(%s)",
			g.pick("floor", "ceil", "abs", "sqrt", "max", "min"), g.expr(number))
	case 7:
		return fmt.Sprintf("(tonumber(%s) or %s)", g.expr(text), g.expr(number))
	case 8:
		return fmt.Sprintf("select('#', %s)", g.list(3))
	case 9:
		return fmt.Sprintf("(string.byte(%s) or 0)", g.expr(text))
	}
	return fmt.Sprintf("(%s and %s or %s)", g.expr(boolean), g.expr(number), g.expr(number))
}

func (g *generator) text() string {
	switch g.rand.IntN(13) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s .. %s)", g.expr(text), g.expr(kind(g.rand.IntN(2))))
	case 3:
		return fmt.Sprintf("%s:%s()", g.variable(text), g.pick("upper", "lower", "reverse"))
	case 4:
		return fmt.Sprintf("string.sub(%s, %s, %s)", g.expr(text), g.pick("1", "2", "-2", "0"),
			g.pick("-1", "3", "1", "-2"))
	case 5:
		return fmt.Sprintf("string.rep(%s, %s)", g.variable(text), g.pick("0", "1", "2", "3"))
	case 6:
		return fmt.Sprintf("string.format('%s', %s)",
			g.pick("%d", "%5.2f|", "%g", "%x", "%05d", "%+d", "%.3s"),
			g.expr(number))
	case 7:
		return fmt.Sprintf("string.format('%s', %s)",
			g.pick("%s", "%q", "%-8s|", "%8s|", "%.2s"), g.expr(text))
	case 8:
		return fmt.Sprintf("(string.gsub(%s, %s, %s))", g.expr(text), g.pick(patterns...), g.replacement())
	case 9:
		return fmt.Sprintf("(string.match(%s, %s) or %s)", g.expr(text), g.pick(patterns...), g.expr(text))
	case 10:
		return fmt.Sprintf("str(%s)", g.expr(kind(g.rand.IntN(3))))
	case 11:
		return fmt.Sprintf("type(%s)", g.expr(kind(g.rand.IntN(int(kinds)))))
	}
	return fmt.Sprintf("string.char(%s)", g.pick("65", "97, 98", "0", "49, 48"))
}

var patterns = []string{
	"'%a'", "'(%w)(%d?)'", "'^.'", "'.$'", "'[a-c]+'", "'%-'", "'(.-)%s'", "'%f[%w]%w+'", "'%b()'", "'()'",
	"'[^%w]'", "'(%a*)'", "'(a)%1'", "'x*'",
}

func (g *generator) replacement() string {
	return g.pick("'%0%0'", "'-'", "'<%1>'", "{a = 'A', b = 1, x = false}", "string.upper",
		"function(x, y) return y end", "function(x) step() return x .. '!' end", "'%%'", "t")
}

func (g *generator) boolean() string {
	switch g.rand.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", g.expr(number),
			g.pick("==", "~=", "<", "<=", ">", ">="), g.numeric())
	case 2:
		return fmt.Sprintf("(str(%s) %s str(%s))",
			g.expr(text), g.pick("==", "<", "<=", ">"), g.expr(text))
	case 3:
		return fmt.Sprintf("(%s %s %s)", g.expr(boolean), g.pick("and", "or"), g.expr(boolean))
	case 4:
		return "not " + g.expr(boolean)
	case 5:
		return fmt.Sprintf("%s == %s", g.variable(table), g.expr(table))
	case 6:
		return fmt.Sprintf("string.find(%s, %s)", g.expr(text), g.pick(patterns...))
	}
	return fmt.Sprintf("rawequal(%s, %s)", g.expr(number), g.expr(text))
}

// numeric returns an operand that can be compared with a number, most of the time.
func (g *generator) numeric() string {
	return fmt.Sprintf("(%s)", g.pick("n", "2", "#t", "n * 0.5", g.expr(number)))
}

func (g *generator) table() string {
	switch g.rand.IntN(5) {
	case 0:
		return fmt.Sprintf("{%s}", g.list(4))
	case 1:
		return fmt.Sprintf("{%s, x = %s, [%s] = %s}",
			g.expr(number), g.clipped(text), g.expr(number), g.expr(text))
	case 2:
		return fmt.Sprintf("{f(%s)}", g.list(2))
	case 3:
		return fmt.Sprintf("(%s and %s or %s)", g.expr(boolean), g.expr(table), g.expr(table))
	}
	return fmt.Sprintf("setmetatable(%s, {__index = %s})", g.pick("{}", "{1}", "{x = 2}"), g.variable(table))
}

func (g *generator) function() string {
	switch g.rand.IntN(4) {
	case 0:
		return fmt.Sprintf("function(a, ...) step() return ..., a, %s end", g.outside(number))
	case 1:
		return fmt.Sprintf("function(a) step() n = n + 1 return a or %s end", g.outside(text))
	case 2:
		return fmt.Sprintf("(%s and %s or %s)", g.expr(boolean), g.variable(function), g.expr(function))
	}
	return fmt.Sprintf("function() step() return %s end", g.outside(boolean))
}

// outside returns an expression for a function without varargs of its own.
func (g *generator) outside(k kind) string {
	vararg, yields := g.vararg, g.yields
	g.vararg, g.yields = false, false
	e := g.expr(k)
	g.vararg, g.yields = vararg, yields
	return e
}
