package scripting

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A flowGenerator writes scripts similar to those of limiters and a little beyond, with operands and keys
// of the wrong type and missing arguments. They terminate, and their reply is what they have shown so far,
// or their error.
type flowGenerator struct {
	rand    *rand.Rand
	b       strings.Builder
	locals  []string
	tables  []string // locals that hold a table, as far as the generator knows
	fixed   int      // number of leading locals that are not assigned to
	depth   int
	names   int
	border  bool     // constructs that limiters lack may occur
	tame    bool     // most operands have the right type
	numbers []string // locals that hold a number
}

func newFlowGenerator(seed uint64) *flowGenerator {
	g := &flowGenerator{rand: rand.New(rand.NewPCG(seed, 11))}
	g.border = g.oneIn(6)
	g.tame = !g.oneIn(3)
	return g
}

// A flow is one EVAL.
type flow struct {
	source     string
	keys, args []string
}

var (
	flowKeys = []string{"s", "n", "z", "h", "l", "k", "m"}
	flowArgs = []string{
		"1", "5", "100", "2.5", "-3", "abc", "", "0x10", " 7 ", "1e3", "1795184400123",
		"60000", "z",
	}
)

func (g *flowGenerator) next() flow {
	var f flow
	for range g.rand.IntN(4) {
		f.keys = append(f.keys, g.pick(flowKeys...))
	}
	for range g.rand.IntN(5) {
		f.args = append(f.args, g.pick(flowArgs...))
	}
	f.source = g.program()
	return f
}

func (g *flowGenerator) oneIn(n int) bool { return g.rand.IntN(n) == 0 }

func (g *flowGenerator) pick(options ...string) string { return options[g.rand.IntN(len(options))] }

func (g *flowGenerator) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

func (g *flowGenerator) program() string {
	g.line("local out = {}")
	g.locals, g.tables, g.fixed = []string{"out"}, []string{"out"}, 1
	for range 3 + g.rand.IntN(8) {
		g.statement()
	}
	switch g.rand.IntN(4) {
	case 0:
		g.line("return %s", g.expr())
	case 1:
		g.line("return {%s}", g.list(4))
	case 2:
		g.line("return %s", g.call())
	default:
		g.line("out[#out + 1] = 'end'")
		g.line("return out")
	}
	return g.b.String()
}

func (g *flowGenerator) newName() string {
	g.names++
	return fmt.Sprintf("v%d", g.names)
}

func (g *flowGenerator) local() string { return g.locals[g.rand.IntN(len(g.locals))] }

func (g *flowGenerator) block() {
	n, m, k := len(g.locals), len(g.tables), len(g.numbers)
	for range 1 + g.rand.IntN(3) {
		g.statement()
	}
	g.locals, g.tables, g.numbers = g.locals[:n], g.tables[:m], g.numbers[:k]
}

// show appends the value of an expression to the output; for a table, its length.
func (g *flowGenerator) show(e string) {
	name := g.newName()
	g.line("local %s = %s", name, e)
	g.line("if type(%s) == 'table' then out[#out + 1] = #%s else out[#out + 1] = tostring(%s) end", name,
		name, name)
}

func (g *flowGenerator) statement() {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 3 {
		g.show(g.expr())
		return
	}
	if g.tame && g.oneIn(3) {
		name := g.newName()
		g.line("local %s = %s", name, g.number())
		g.numbers = append(g.numbers, name)
		return
	}
	switch g.rand.IntN(16) {
	case 0, 1, 2:
		name := g.newName()
		g.line("local %s = %s", name, g.expr())
		g.locals = append(g.locals, name)
	case 3:
		a, b := g.newName(), g.newName()
		g.line("local %s, %s = %s", a, b, g.list(3))
		g.locals = append(g.locals, a, b)
	case 4, 5:
		name := g.newName()
		g.line("local %s = %s", name, g.call())
		g.locals = append(g.locals, name)
		g.show(name)
	case 6:
		g.line("%s", g.call())
	case 7, 8:
		g.show(g.expr())
	case 9:
		if len(g.locals) > g.fixed {
			target := g.locals[g.fixed+g.rand.IntN(len(g.locals)-g.fixed)]
			g.line("%s = %s", target, g.expr())
			if g.oneIn(4) {
				g.line("%s, %s = %s", target, target, g.list(3))
			}
		}
	case 10, 11:
		g.line("if %s then", g.condition())
		g.block()
		if g.oneIn(3) {
			g.line("elseif %s then", g.condition())
			g.block()
		}
		switch g.rand.IntN(4) {
		case 0:
			g.line("else")
			g.block()
		case 1:
			if g.oneIn(2) {
				g.line("else return %s", g.expr())
			}
		}
		g.line("end")
	case 12:
		g.loop()
	case 13:
		name := g.newName()
		g.line("local %s = {%s}", name, g.fields())
		g.locals, g.tables = append(g.locals, name), append(g.tables, name)
	case 14:
		t := g.tables[g.rand.IntN(len(g.tables))]
		if t != "out" {
			g.line("%s[%s] = %s", t, g.pick("#"+t+" + 1", "1", "'a'", "'err'", "2.5", "0", g.expr()),
				g.expr())
		}
		if g.oneIn(2) {
			g.line("table.insert(%s, %s)", t, g.pick("1", "'x'", "1, 'y'", g.expr()))
		}
	case 15:
		g.unusual()
	}
}

func (g *flowGenerator) loop() {
	name := g.newName()
	n, m, k := len(g.locals), len(g.tables), len(g.numbers)
	defer func() { g.locals, g.tables, g.numbers = g.locals[:n], g.tables[:m], g.numbers[:k] }()
	switch g.rand.IntN(6) {
	case 0, 1:
		g.line("for %s = %s, %s%s do", name, g.pick("1", "3", "0.5", "#ARGV", "'2'", "-1"),
			g.pick("3", "#KEYS", "#ARGV", "'4'", "0", "tonumber(ARGV[1])", g.local()),
			g.pick("", "", ", 1", ", -1", ", 2", ", 'x'"))
		g.line("if math.abs(%s) > 5 then break end", name)
		g.locals = append(g.locals, name)
		g.block()
		if g.oneIn(3) {
			g.line("if %s then break end", g.condition())
		}
	case 2:
		g.line("for i, %s in ipairs(%s) do", name,
			g.pick("KEYS", "ARGV", g.tables[g.rand.IntN(len(g.tables))], g.local()))
		g.line("if i > 5 then break end")
		g.locals = append(g.locals, name, "i")
		g.block()
	case 3:
		g.line("for %s, w in pairs(%s) do", name, g.pick("KEYS", "ARGV", "{"+g.fields()+"}", g.local()))
		g.line("if #out > 30 then break end")
		g.locals = append(g.locals, name, "w")
		g.show(name)
	case 4:
		g.line("local %s = 0", name)
		g.line("while %s < 3 and (%s) do", name, g.condition())
		g.line("%s = %s + 1", name, name)
		g.block()
	case 5:
		g.line("local %s = 0", name)
		g.line("repeat %s = %s + 1", name, name)
		g.block()
		g.line("until %s > 2 or %s", name, g.condition())
		return
	}
	g.line("end")
}

// unusual writes a statement that limiters lack.
func (g *flowGenerator) unusual() {
	if !g.border {
		return
	}
	g.line("%s", g.pick(
		"local function f(a) return a end", "x = 1", "KEYS[1] = 'q'", "redis.call = nil", "out.f = tostring",
		"local r = redis", "local ok, e = pcall(redis.call, 'get', 'h') out[#out + 1] = tostring(ok)",
		"out[#out + 1] = string.format('%d', 3)", "out[#out + 1] = cjson.encode({1})", "redis.breakpoint()",
		"local k = KEYS out[#out + 1] = k[1]", "local c = redis.call out[#out + 1] = tostring(c('get', 'n'))",
		"local m = math out[#out + 1] = m.floor(2.5)", "out[#out + 1] = ('x'):rep(3)", "error('stop')",
		"error({err = 'MY stop'})",
		"error()", "redis.log(redis.LOG_DEBUG, 'x', 1)", "redis.log('x')",
		"out[#out + 1] = redis.sha1hex(ARGV[1])", "redis.replicate_commands()",
		"local t = out or KEYS", "local f = ARGV[1] and tostring or tonumber out[#out + 1] = f(1)",
	))
}

func (g *flowGenerator) list(most int) string {
	var items []string
	for range 1 + g.rand.IntN(most) {
		items = append(items, g.expr())
	}
	return strings.Join(items, ", ")
}

func (g *flowGenerator) fields() string {
	var items []string
	for range g.rand.IntN(5) {
		items = append(items, g.pick("", "", "", "a = ", "b = ", "[2] = ", "['x y'] = ")+g.expr())
	}
	if g.oneIn(6) {
		items = append(items, g.pick("unpack(ARGV)", "unpack(KEYS)", "unpack(out)"))
	}
	return strings.Join(items, ", ")
}

func (g *flowGenerator) condition() string {
	if g.tame && !g.oneIn(6) {
		return fmt.Sprintf("%s %s %s", g.number(), g.pick("==", "~=", "<", "<=", ">", ">="), g.number())
	}
	switch g.rand.IntN(5) {
	case 0, 1, 2:
		return fmt.Sprintf("%s %s %s", g.expr(), g.pick("==", "~=", "<", "<=", ">", ">="), g.expr())
	case 3:
		return g.pick("not ", "") + g.atom()
	}
	return fmt.Sprintf("%s %s %s", g.expr(), g.pick("and", "or"), g.expr())
}

// call returns a redis.call, usually a valid one.
func (g *flowGenerator) call() string {
	fn := g.pick("redis.call", "redis.call", "redis.call", "redis.pcall", "server.call")
	key := g.pick("KEYS[1]", "KEYS[2]", "'n'", "'z'", "'h'", "'s'", "'k'", "'l'", g.atom())
	if g.tame && !g.oneIn(20) {
		return fn + "(" + g.pick("'GET', 's'", "'INCR', 'n'", "'SET', 'k', "+g.number(), "'INCRBY', 'n', 3",
			"'ZADD', 'z', "+g.number()+", 'm'", "'ZCARD', 'z'",
			"'ZREMRANGEBYSCORE', 'z', 0, "+g.number(), "'HINCRBY', 'h', 'c', 2", "'HGETALL', 'h'",
			"'HMGET', 'h', 'f', 'no'", "'LLEN', 'l'", "'LRANGE', 'l', 0, -1",
			"'EXPIRE', 'z', 100", "'TTL', 'n'", "'SET', 'k', 'v', 'NX'", "'ZRANGE', 'z', 0, 0, 'WITHSCORES'",
			"'DEL', 'k', 'no'", "'EXISTS', 's'", "'PEXPIRE', 'n', "+g.number()+" + 100000") + ")"
	}
	if g.oneIn(12) {
		return fmt.Sprintf("%s(%s)", fn,
			g.pick("", "'nosuch'", "'get'", "'get', 'a', 'b'", "nil", "'GET', {}", "'set', 'k', true", "5",
				"'object', 'encoding', 'n'",
				"'config', 'get', 'x'", "'multi'", "'del', unpack(KEYS)", "'mget', unpack(ARGV)",
				"unpack(ARGV)", "'object'", "'object', 'nosuch'", g.list(3)))
	}
	return fmt.Sprintf("%s(%s)", fn, strings.ReplaceAll(g.pick(
		"'GET', @", "'SET', @, "+g.expr(), "'set', @, "+g.expr()+", 'EX', 100", "'INCR', @",
		"'INCRBY', @, "+g.expr(), "'DEL', @", "'EXISTS', @",
		"'EXPIRE', @, "+g.pick("100", g.expr()), "'TTL', @", "'TYPE', @", "'ZCARD', @",
		"'ZADD', @, "+g.expr()+", "+g.expr(),
		"'ZREMRANGEBYSCORE', @, 0, "+g.expr(), "'ZRANGE', @, 0, -1", "'ZRANGE', @, 0, -1, 'WITHSCORES'",
		"'ZSCORE', @, 'a'", "'ZINCRBY', @, 1, 'a'",
		"'HGET', @, 'f'", "'HSET', @, 'f', "+g.expr(), "'HINCRBY', @, 'c', "+g.expr(),
		"'HMGET', @, 'f', 'c', 'no'", "'HGETALL', @",
		"'LPUSH', @, "+g.expr(), "'LLEN', @", "'LRANGE', @, 0, 2", "'MGET', @, 'n', 'no'", "'STRLEN', @",
		"'SETNX', @, 1", "'GETSET', @, "+g.expr(),
	), "@", key))
}

func (g *flowGenerator) expr() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.tame && !g.oneIn(25) {
		return g.tameExpr()
	}
	if g.depth > 6 || g.oneIn(3) {
		return g.atom()
	}
	switch g.rand.IntN(13) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", g.number(), g.pick("+", "-", "*", "/", "%", "^"), g.number())
	case 3:
		return fmt.Sprintf("%s .. %s", g.atom(), g.expr())
	case 4:
		return fmt.Sprintf("(%s)", g.condition())
	case 5:
		return fmt.Sprintf("(%s %s %s)", g.expr(), g.pick("and", "or"), g.expr())
	case 6:
		return fmt.Sprintf("%s%s", g.pick("not ", "-", "#"), g.atom())
	case 7:
		return fmt.Sprintf("%s(%s)",
			g.pick("tonumber", "tonumber", "type", "math.floor", "math.ceil", "math.abs", "math.sqrt",
				"string.len",
				"string.upper", "string.lower", "redis.status_reply", "redis.error_reply", "table.getn",
				"math.floor", "tonumber"), g.pick(g.expr(), g.expr(), g.expr(), g.list(3), ""))
	case 8:
		return fmt.Sprintf("%s(%s, %s)",
			g.pick("math.max", "math.min", "math.fmod", "math.pow", "string.sub", "tonumber"), g.expr(),
			g.pick("1", "2", "-1", "10", "16", g.expr()))
	case 9:
		return fmt.Sprintf("%s[%s]", g.atom(), g.pick("1", "2", "'ok'", "'err'", "'a'", "0", "#out"))
	case 10:
		return g.call()
	case 11:
		return fmt.Sprintf("%s.%s", g.local(), g.pick("a", "b", "ok", "err", "ignore_error_stats_update"))
	}
	return fmt.Sprintf("tonumber(%s or %s)", g.call(), g.atom())
}

// tameExpr returns an expression that seldom fails.
func (g *flowGenerator) tameExpr() string {
	switch g.rand.IntN(9) {
	case 0, 1:
		return g.number()
	case 2:
		return "'x' .. " + g.number()
	case 3:
		return fmt.Sprintf("(%s)", g.condition())
	case 4:
		return g.pick("ARGV[1]", "KEYS[1]", "ARGV[9]", "'abc'", "nil", "true", "false", "not KEYS[1]")
	case 5:
		return fmt.Sprintf("(%s %s %s)", g.expr(), g.pick("and", "or"), g.expr())
	case 6:
		return g.pick("tostring", "type", "string.len") + "(" + g.number() + ")"
	case 7:
		return g.call()
	}
	return g.pick("{1, 'a', {2}}", "redis.status_reply('fine')", "redis.error_reply('MY error')",
		"{"+g.number()+", "+g.number()+"}", "#out", "tonumber('z')")
}

// number returns an expression that is usually a number.
func (g *flowGenerator) number() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.tame && !g.oneIn(40) {
		atom := g.pick("1", "2", "10", "0.5", "1000", "7", "3", "(tonumber(ARGV[1]) or 4)", "#KEYS", "#ARGV",
			"#out", "redis.call('INCR', 'c')", "redis.call('ZCARD', 'z')",
			"(tonumber(redis.call('GET', 'n')) or 0)")
		if len(g.numbers) > 0 && g.oneIn(2) {
			atom = g.numbers[g.rand.IntN(len(g.numbers))]
		}
		if g.depth > 6 || g.oneIn(2) {
			return atom
		}
		switch g.rand.IntN(4) {
		case 0:
			return fmt.Sprintf("%s(%s)", g.pick("math.floor", "math.ceil", "math.abs", "math.sqrt"),
				g.number())
		case 1:
			return fmt.Sprintf("%s(%s, %s)", g.pick("math.max", "math.min"), g.number(), g.number())
		}
		return fmt.Sprintf("(%s %s %s)", atom, g.pick("+", "-", "*", "/", "%"), g.number())
	}
	if g.oneIn(5) {
		return g.expr()
	}
	return g.pick("1", "2", "10", "0.5", "1000", "-7", "1e15", "3", "tonumber(ARGV[1])", "tonumber(ARGV[2])",
		"#KEYS", "#out", "tonumber('12')", "redis.call('INCR', 'c')", g.local())
}

func (g *flowGenerator) atom() string {
	switch g.rand.IntN(8) {
	case 0, 1, 2:
		return g.local()
	case 3:
		return g.pick("1", "2", "0", "0.5", "-3", "10", "1e15", "123456789012", "0x10", "1e-5", "100", "1/3",
			"2^53")
	case 4:
		return g.pick("'a'", "'10'", "' 5 '", "'1e2'", "''", "'abc'", "'limit:'")
	case 5:
		return g.pick("KEYS[1]", "KEYS[2]", "KEYS[9]", "#KEYS")
	case 6:
		return g.pick("ARGV[1]", "ARGV[2]", "ARGV[3]", "ARGV[9]", "#ARGV", "tonumber(ARGV[1])")
	}
	if g.oneIn(15) {
		return g.pick("undefined", "ARGV.x", "KEYS['1']", "KEYS[0]", "(KEYS[1])", "math.huge", "math.pi",
			"redis.LOG_WARNING")
	}
	return g.pick("nil", "true", "false", "{}", "{1, 2}", "{err = 'MY error'}", "{ok = 'fine'}")
}
