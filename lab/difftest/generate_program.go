package main

import (
	"fmt"
	"strings"
)

// programScript sends a small Lua program generated from a grammar: locals, arithmetic, branches, bounded
// loops, tables, string functions and calls on the declared keys. Expressions are typed, so most programs run
// to their end. A divisor is never zero and no table is walked in hash order, so the result is the same on
// any correct interpreter.
func (g *generator) programScript() {
	p := &program{g: g}
	set := pick(g.r, g.keys["zset"]...)
	if g.chance(4) {
		set = pick(g.r, g.keys["log"]...) // programs add members that convert a log
	}
	keys := []string{set, pick(g.r, g.keys["counter"]...), pick(g.r, g.keys["string"]...)}
	for range g.between(1, 5) {
		p.statement(0)
	}
	p.result()
	argv := []string{
		itoa(g.between(-5, 40)), g.value("anyMember"), itoa(g.nowMs),
		pick(g.r, "0.5", "1e3", "17", "-3.25"),
	}
	g.add(step{args: g.eval(p.b.String(), keys, argv)})
}

type program struct {
	g                     *generator
	b                     strings.Builder
	indent                int
	numbers, texts, lists []string // locals in scope, by type
	locals                int
}

func (p *program) line(format string, a ...any) {
	p.b.WriteString(strings.Repeat("  ", p.indent))
	fmt.Fprintf(&p.b, format, a...)
	p.b.WriteByte('\n')
}

func (p *program) fresh() string {
	p.locals++
	return fmt.Sprintf("v%d", p.locals)
}

// scoped runs f with an indented block whose locals end with it.
func (p *program) scoped(f func()) {
	n, t, l := len(p.numbers), len(p.texts), len(p.lists)
	p.indent++
	f()
	p.indent--
	p.numbers, p.texts, p.lists = p.numbers[:n], p.texts[:t], p.lists[:l]
}

func (p *program) statement(depth int) {
	g := p.g
	switch n := g.r.IntN(100); {
	case n < 22:
		v := p.fresh()
		p.line("local %s = %s", v, p.number(2))
		p.numbers = append(p.numbers, v)
	case n < 38:
		v := p.fresh()
		p.line("local %s = %s", v, p.text(2))
		p.texts = append(p.texts, v)
	case n < 46:
		v := p.fresh()
		p.line("local %s = {%s, %s, %s}", v, p.text(1), p.number(1), p.text(1))
		p.lists = append(p.lists, v)
	case n < 52 && len(p.numbers) > 0:
		p.line("%s = %s", pick(g.r, p.numbers...), p.number(2))
	case n < 58 && len(p.lists) > 0:
		p.line("table.insert(%s, %s)", pick(g.r, p.lists...), p.text(1))
	case n < 70 && depth < 2:
		p.line("if %s then", p.condition(2))
		p.scoped(func() { p.statement(depth + 1) })
		if g.chance(30) {
			p.line("elseif %s then", p.condition(1))
			p.scoped(func() { p.statement(depth + 1) })
		}
		if g.chance(40) {
			p.line("else")
			p.scoped(func() { p.statement(depth + 1) })
		}
		p.line("end")
	case n < 78 && depth < 2:
		i := p.fresh()
		p.line("for %s = %d, %d do", i, g.between(-1, 2), g.between(1, 4))
		p.scoped(func() {
			p.numbers = append(p.numbers, i)
			p.statement(depth + 1)
			p.numbers = p.numbers[:len(p.numbers)-1]
		})
		p.line("end")
	case n < 82 && depth > 0:
		p.line("if %s then return %s end", p.condition(1), p.number(1))
	default:
		p.write()
	}
}

// write writes a call of a command that changes data.
func (p *program) write() {
	g := p.g
	call := pick(g.r, "redis.call", "redis.call", "redis.pcall")
	switch g.r.IntN(9) {
	case 0:
		p.line("%s('ZADD', KEYS[1], %s, %s)", call, p.small(), p.text(1))
	case 1:
		p.line("%s('ZADD', KEYS[1], ARGV[3], ARGV[3])", call)
	case 2:
		p.line("%s('ZREMRANGEBYSCORE', KEYS[1], '-inf', %s)", call,
			pick(g.r, "tonumber(ARGV[3]) - 60000", "tonumber(ARGV[1]) - 10", "'('..ARGV[1]", "-1"))
	case 3:
		p.line("%s('SET', KEYS[3], %s)", call, p.text(2))
	case 4:
		p.line("%s('INCRBY', KEYS[2], %s)", call, pick(g.r, "1", "ARGV[1]", "-3",
			"math.floor("+p.small()+")"))
	case 5:
		p.line("%s('EXPIRE', KEYS[%d], %s)", call, g.between(1, 3),
			pick(g.r, "100000", "'200000'", "300000.0", "ARGV[1] + 100000"))
	case 6:
		p.line("%s('ZREM', KEYS[1], %s)", call, p.text(1))
	case 7:
		p.line("%s('APPEND', KEYS[3], string.sub(%s, 1, 8))", call, p.text(1))
	default:
		p.line("%s('ZINCRBY', KEYS[1], %s, %s)", call, p.small(), p.text(1))
	}
}

// small returns a number whose decimal is the same on both sides even after arithmetic: an integer or a
// binary fraction.
func (p *program) small() string {
	return pick(p.g.r, "1", "0", "-2", "0.5", "1.25", "10", "tonumber(ARGV[1])", "ARGV[1] * 2",
		"tonumber(ARGV[3])", "ARGV[4]")
}

func (p *program) number(depth int) string {
	g := p.g
	if depth == 0 || g.chance(30) {
		if len(p.numbers) > 0 && g.chance(55) {
			return pick(g.r, p.numbers...)
		}
		return pick(g.r, "0", "1", "-1", "2", "10", "0.5", "3.25", "1e3", "1e15", "0x1F", "123456789012",
			"tonumber(ARGV[1])", "tonumber(ARGV[3])", "tonumber(ARGV[4])", "#ARGV", "#KEYS")
	}
	switch g.r.IntN(13) {
	case 0, 1:
		return fmt.Sprintf("%s + %s", p.number(depth-1), p.number(depth-1))
	case 2:
		return fmt.Sprintf("(%s - (%s))", p.number(depth-1), p.number(depth-1))
	case 3:
		// + 0 makes a negative zero a plain one, on both sides: the interpreter of our server caches small
		// integers without -0 (a deviation listed in EVAL's row).
		return fmt.Sprintf("((%s) * (%s) + 0)", p.number(depth-1), p.number(depth-1))
	case 4:
		return fmt.Sprintf("((%s) / %s + 0)", p.number(depth-1), pick(g.r, "2", "3", "7", "0.5", "-4",
			"1000"))
	case 5:
		return fmt.Sprintf("(%s) %% %s", p.number(depth-1), pick(g.r, "2", "3", "7", "10", "-5", "2.5", "60"))
	case 6:
		return fmt.Sprintf("math.%s(%s)", pick(g.r, "floor", "ceil", "abs"), p.number(depth-1))
	case 7:
		return fmt.Sprintf("math.%s(%s, %s)", pick(g.r, "max", "min"), p.number(depth-1), p.number(depth-1))
	case 8:
		return fmt.Sprintf("#(%s)", p.text(depth-1))
	case 9:
		return pick(g.r, "redis.call('ZCARD', KEYS[1])", "redis.call('EXISTS', KEYS[1], KEYS[2])",
			"redis.call('STRLEN', KEYS[3])", "redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[1])")
	case 10:
		return "(tonumber(redis.call('GET', KEYS[2])) or 0)"
	case 11:
		return fmt.Sprintf("(%s and %s or %s)", p.condition(depth-1), p.number(depth-1), p.number(depth-1))
	default:
		return fmt.Sprintf("(tonumber(%s) or %s)", p.text(depth-1), p.number(depth-1))
	}
}

func (p *program) text(depth int) string {
	g := p.g
	if depth == 0 || g.chance(30) {
		if len(p.texts) > 0 && g.chance(55) {
			return pick(g.r, p.texts...)
		}
		return pick(g.r, "'a'", "''", "'10'", "'x y'", "'0x10'", `"q\"uote"`, "'-1.5'", "ARGV[1]", "ARGV[2]",
			"ARGV[3]", "KEYS[1]", "[[long]]", "'\\0z'")
	}
	switch g.r.IntN(13) {
	case 0, 1:
		return fmt.Sprintf("(%s .. %s)", p.text(depth-1), p.text(depth-1))
	case 2:
		return fmt.Sprintf("((%s) .. ':' .. %s)", p.number(depth-1), p.text(depth-1))
	case 3, 4:
		return fmt.Sprintf("tostring(%s)", p.number(depth-1))
	case 5:
		return fmt.Sprintf("string.%s(%s)", pick(g.r, "upper", "lower", "reverse"), p.text(depth-1))
	case 6:
		return fmt.Sprintf("string.sub(%s, %d, %d)", p.text(depth-1), g.between(-4, 3), g.between(-3, 6))
	case 7:
		return fmt.Sprintf("string.format('%s', %s)", pick(g.r, "%d", "%5.2f", "%g", "%.14g", "%05d", "%s"),
			pick(g.r, "1", "17", "-3", "tonumber(ARGV[1])", "tonumber(ARGV[4])"))
	case 8:
		return fmt.Sprintf("string.rep(%s, %d)", p.text(depth-1), g.between(-1, 3))
	case 9:
		return fmt.Sprintf("redis.sha1hex(%s)", p.text(depth-1))
	case 10:
		return "(redis.call('GET', KEYS[3]) or 'none')"
	case 11:
		if len(p.lists) > 0 {
			return fmt.Sprintf("table.concat(%s, ',')", pick(g.r, p.lists...))
		}
		return fmt.Sprintf("type(%s)", p.number(depth-1))
	default:
		return "tostring(redis.call('ZSCORE', KEYS[1], ARGV[2]))"
	}
}

func (p *program) condition(depth int) string {
	g := p.g
	if depth == 0 {
		return fmt.Sprintf("%s < %s", p.number(0), p.number(0))
	}
	switch g.r.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("(%s) %s (%s)", p.number(depth-1), pick(g.r, "<", "<=", ">", ">=", "==", "~="),
			p.number(depth-1))
	case 2:
		return fmt.Sprintf("%s %s %s", p.text(depth-1), pick(g.r, "==", "~=", "<", ">"), p.text(depth-1))
	case 3:
		return fmt.Sprintf("not (%s)", p.condition(depth-1))
	case 4:
		return fmt.Sprintf("(%s %s %s)", p.condition(depth-1), pick(g.r, "and", "or"), p.condition(depth-1))
	case 5:
		return "redis.call('EXISTS', KEYS[1]) == 1"
	case 6:
		return "redis.call('GET', KEYS[3])"
	default:
		return pick(g.r, "true", "false", "nil", "ARGV[9]", "tonumber(ARGV[2])")
	}
}

func (p *program) result() {
	g := p.g
	switch g.r.IntN(9) {
	case 0, 1:
		p.line("return %s", p.number(2))
	case 2, 3:
		p.line("return %s", p.text(2))
	case 4:
		p.line("return {%s, %s, %s}", p.number(1), p.text(1), p.condition(1))
	case 5:
		if len(p.lists) > 0 {
			p.line("return %s", pick(g.r, p.lists...))
			return
		}
		p.line("return {%s, {%s}}", p.text(1), p.number(1))
	case 6:
		p.line("return redis.status_reply(%s)", p.text(1))
	case 7:
		p.line("return {tostring(%s), tostring(%s), tostring(%s)}", p.number(2), p.condition(1), p.number(1))
	default:
		p.line("return redis.call('ZRANGE', KEYS[1], 0, 3, 'WITHSCORES')")
	}
}
