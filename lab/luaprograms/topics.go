package luaprograms

import (
	"fmt"
	"strings"
)

// topics are pieces of programs about one feature each.
var topics = []func(*generator){
	(*generator).counters, (*generator).loopClosures, (*generator).sharedUpvalue, (*generator).varargs,
	(*generator).varargs, (*generator).metamethods, (*generator).metamethods, (*generator).class,
	(*generator).indexChain, (*generator).coroutine, (*generator).coroutine, (*generator).coroutineIterator,
	(*generator).pipeline, (*generator).protectedCall, (*generator).protectedCall,
	(*generator).protectedCall, (*generator).errorHandler, (*generator).recursion, (*generator).deepRecursion,
	(*generator).stringMethods, (*generator).sorting, (*generator).tableFunctions, (*generator).loadedChunk,
	(*generator).nestedLoops,
}

func (g *generator) counters() {
	maker, add, get := g.newName("make"), g.newName("add"), g.newName("get")
	g.line("local function %s(from, by)", maker)
	g.line("local count = from * %s", g.outside(number))
	g.line("return function(x) step() count = count + (x or by) return count end,")
	g.line("function() return count, by end")
	g.line("end")
	g.line("local %s, %s = %s(%s, %s)", add, get, maker, g.expr(number), g.expr(number))
	g.line("show(%s(%s), %s(), %s(), %s(%s))", add, g.expr(number), get, add, add, g.expr(number))
	g.line("show(%s())", get)
	g.declare(add, function)
}

func (g *generator) loopClosures() {
	fs, i, j := g.newName("fs"), g.newName("i"), g.newName("j")
	g.line("local %s = {}", fs)
	switch g.rand.IntN(3) {
	case 0:
		g.line("for %s = 1, %s do", i, g.pick("2", "3", "4"))
	case 1:
		g.line("for %s in ipairs({%s}) do", i, g.list(3))
	default:
		g.line("local %s = 0", i)
		g.line("while %s < 3 do %s = %s + 1", i, i, i)
	}
	g.scope(func() {
		g.declare(i, number)
		g.line("local %s = %s * %s", j, i, g.expr(number))
		g.line("%s[#%s + 1] = function(x) step() %s = %s + (tonumber(x) or 1) return %s, %s end",
			fs, fs, j, j, g.pick(i, "n"), j)
		g.declare(j, number)
		if g.oneIn(2) {
			g.line("if %s then break end", g.expr(boolean))
		}
		if g.oneIn(2) {
			g.line("%s = %s + 1", j, j)
		}
	})
	g.line("end")
	g.line("for _, each in ipairs(%s) do show(each(%s)) show(each()) end", fs, g.expr(number))
}

func (g *generator) sharedUpvalue() {
	a, b := g.newName("a"), g.newName("b")
	g.line("local %s, %s", a, b)
	g.line("do")
	g.line("local both = %s", g.expr(number))
	g.line("%s = function(...) both = ... return both end", a)
	g.line("%s = function() return function() both = (tonumber(both) or 0) + 1 return both end end", b)
	g.line("end")
	g.line("show(%s(%s), %s()(), %s()(), %s())", a, g.list(2), b, b, a)
	g.line("show(%s()())", b)
}

func (g *generator) varargs() {
	name := g.newName("f")
	g.line("local function %s(%s)", name, g.pick("...", "a, ...", "a, b, ..."))
	g.line("local c, d = ...")
	g.line("show(c, d, select('#', ...))")
	g.inside(true, func() { g.body() })
	g.line("if select('#', ...) > 0 then show(select(%s, ...)) end", g.pick("1", "-1", "'1'"))
	g.line("local all = {%s}", g.pick("...", "1, ...", "..., 2", "(...)", "n = select('#', ...), ..."))
	g.line("show(#all, unpack(all))")
	g.line("return %s", g.pick("...", "(...)", "..., 1", "unpack(all, 1, 2)", "f(...)"))
	g.line("end")
	g.line("show(%s(%s))", name, g.list(4))
	g.line("show((%s(%s)), %s())", name, g.list(2), name)
	g.declare(name, function)
}

var metamethods = []string{
	"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm", "__concat", "__eq", "__lt", "__le",
	"__index", "__newindex", "__call", "__tostring", "__len", "__metatable",
}

func (g *generator) metamethods() {
	mt, x, y := g.newName("mt"), g.newName("x"), g.newName("y")
	var fields []string
	for _, name := range metamethods {
		if !g.oneIn(2) {
			continue
		}
		value := fmt.Sprintf("function(a, b) step() return %s end", g.pick(
			"'"+name+"'", "type(a) .. type(b)", g.outside(number), "b", "nil", "true", g.outside(text)))
		switch {
		case name == "__tostring" && !g.oneIn(8):
			value = "function(a) return '" + x + "' end"
		case name == "__metatable":
			value = g.pick("false", "'locked'", "1")
		case name == "__index" && g.oneIn(3):
			value = g.expr(table)
		case name == "__newindex":
			value = g.pick("function(a, k, v) step() rawset(a, k, 1) end", "t", "rawset",
				"function(a, k, v) show(k, v) end")
		}
		fields = append(fields, name+" = "+value)
	}
	g.line("local %s = {%s}", mt, strings.Join(fields, ", "))
	g.line("local %s, %s = setmetatable({%s}, %s), setmetatable({1, 2}, %s)", x, y, g.list(1), mt,
		g.pick(mt, mt, "{__add = function() return 'other' end, __lt = "+mt+".__lt}"))
	g.scope(func() {
		g.declare(x, kinds) // no operand elsewhere
		for range 2 + g.rand.IntN(4) {
			operand := g.pick(y, y, x, g.expr(number), g.expr(text))
			operation := g.pick(
				x+" "+g.pick("+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", "<=", ">",
					">=")+" "+operand,
				operand+" "+g.pick("+", "-", "..", "<", "<=", "==")+" "+x,
				"-"+x, "#"+x, x+"("+g.list(2)+")", x+"["+g.expr(number)+"]", x+".field", "tostring("+x+")",
				"getmetatable("+x+") == "+mt, x+":method("+g.expr(number)+")", "rawget("+x+", 1)")
			if g.oneIn(5) {
				operation = fmt.Sprintf("(function() %s[%s] = %s return 'set' end)()", x,
					g.pick("'new'", "1", "7"), g.outside(number))
			}
			if g.oneIn(15) {
				g.line("show(%s)", operation)
			} else {
				g.line("show(pcall(function(...) return %s end))", operation)
			}
		}
	})
}

func (g *generator) class() {
	base, derived, o := g.newName("Base"), g.newName("Derived"), g.newName("o")
	g.line("local %s = {}", base)
	g.line("%s.__index = %s", base, base)
	g.line("function %s.new(class, v) return setmetatable({v = v}, class) end", base)
	g.line("function %s:get(...) step() return self.v, ... end", base)
	g.line("function %s:add(x) self.v = self.v + x return self end", base)
	g.line("local %s = setmetatable({}, {__index = %s})", derived, base)
	g.line("%s.__index = %s", derived, derived)
	g.line("function %s:get() return 'derived', %s.get(self, %s) end", derived, base, g.outside(number))
	g.line("local %s = %s.new(%s, %s)", o, g.pick(base, derived), g.pick(base, derived), g.expr(number))
	g.line("show(%s:add(%s):add(1):get(%s))", o, g.expr(number), g.list(2))
	g.line("show(pcall(%s.%s, %s))", o, g.pick("get", "add", "missing"), g.pick(o, o+", 1", "1, 2"))
	g.line("show(%s.%s)", o, g.pick("v", "missing", "new == "+base+".new"))
}

func (g *generator) indexChain() {
	a := g.newName("chain")
	g.line("local %s = {deep = %s}", a, g.expr(text))
	g.line("for i = 1, %s do %s = setmetatable({[i] = i}, {__index = %s, __newindex = %s}) end",
		g.pick("1", "3", "20"), a, a, g.pick("nil", a))
	g.line("%s.set = %s", a, g.expr(number))
	g.line("show(%s.deep, %s[1], %s[2], rawget(%s, 'set'), %s.set)", a, a, a, a, a)
}

// coroutineBody generates a function to run in a coroutine.
func (g *generator) coroutineBody() {
	yields := g.yields
	g.yields = true
	p := g.newName("p")
	g.line("function(%s, ...)", p)
	g.line("show(%s, select('#', ...))", p)
	g.inside(true, func() {
		g.body(variable{p, number})
		g.line("local r = {coroutine.yield(%s)}", g.list(2))
		g.line("show(#r, r[1])")
		if g.oneIn(2) {
			g.line("for i = 1, %s do show(coroutine.yield(i)) end", g.pick("1", "2", "3"))
		}
		if g.oneIn(4) {
			g.line("show(pcall(coroutine.yield, 1))")
		}
		if g.oneIn(5) {
			g.line("error(%s)", g.pick("'inside'", "{}", "nil", "'no position', 0"))
		}
		g.line("return %s", g.list(2))
	})
	g.line("end")
	g.yields = yields
}

func (g *generator) coroutine() {
	co := g.newName("co")
	g.line("local %s = coroutine.create(", co)
	g.coroutineBody()
	g.line(")")
	for range 2 + g.rand.IntN(4) {
		g.line("show(coroutine.status(%s))", co)
		g.line("show(coroutine.resume(%s, %s, %s))", co, g.expr(number), g.list(2))
	}
	g.line("show(coroutine.status(%s), coroutine.running() == nil)", co)
}

func (g *generator) coroutineIterator() {
	v := g.newName("v")
	yields := g.yields
	g.yields = true
	g.line("for %s in coroutine.wrap(function()", v)
	g.line("for i = 1, %s do coroutine.yield(%s(i)) end", g.pick("0", "2", "3"), g.pick("", "str", "f"))
	if g.oneIn(2) {
		g.inside(false, func() { g.body() })
	}
	g.line("end) do")
	g.yields = yields
	g.scope(func() {
		g.declare(v, number)
		g.line("show(%s)", v)
		g.loopBody()
	})
	g.line("end")
}

func (g *generator) pipeline() {
	source, filter := g.newName("source"), g.newName("filter")
	g.line("local %s = coroutine.wrap(function() for i = 1, %s do coroutine.yield(i * %s) end end)", source,
		g.pick("1", "3", "4"), g.outside(number))
	g.line("local %s = coroutine.wrap(function()", filter)
	g.line("while true do step() local x = %s() if not x then %s end coroutine.yield(%s) end end)", source,
		g.pick("return", "return 'end'", "error('end')", "break"), g.pick("x", "x + 1", "x, x"))
	g.line("for _ = 1, %s do show(%s()) end", g.pick("1", "2", "4"), filter)
	if g.oneIn(4) {
		g.line("show(pcall(%s))", filter)
	}
}

func (g *generator) protectedCall() {
	switch g.rand.IntN(6) {
	case 0:
		g.line("show(pcall(%s))",
			g.pick("error", "error, nil", "error, 'text', 0", "error, 'text', 2", "f, 1, 2",
				"void", "1", "pcall, error", "pcall, f, 1", "string.rep", "string.rep, 'x', 2",
				"setmetatable, 1", "setmetatable, {}, 1", "tostring", "ipairs", "next, {}, 1", "select, 0",
				"string.char, 256", "table.concat, {1, {}, 2}", "('x').rep, 'x', {}", "unpack, {}, 1, 9000",
				"coroutine.resume, 1", "coroutine.wrap, 1", "loadstring, 'x ='", "tonumber, '1', 99"))
	case 1:
		g.line("show(pcall(function(...) return pcall(error, {%s}) end))", g.expr(number))
	case 2:
		g.line("local ok, e = pcall(error, setmetatable({}, {__tostring = function() return 'object' end}))")
		g.line("show(ok, tostring(e))")
	default:
		g.line("show(pcall(function(...)")
		g.inside(true, func() { g.body() })
		g.line(g.pick("error(%[1]s)", "error(%[1]s, 2)", "error(%[1]s, 0)", "return %[1]s",
			"local q = %[1]s return q.z.y",
			"return %[1]s + {}", "return #%[1]s", "return f(%[1]s) .. nil"), g.expr(text))
		g.line("end, %s))", g.list(2))
	}
}

func (g *generator) errorHandler() {
	g.line("show(xpcall(function()")
	g.inside(false, func() { g.body() })
	g.line("%s", g.pick("error('x')", "error({1})", "return 1, 2", "local q = nil; return q.z",
		"return void()", "error()"))
	g.line("end, function(%s) %s end))", g.pick("e", "e, ..."), g.pick("return 'handled ' .. str(e)",
		"return e, 2", "error('again')", "return nil", "show(e) return type(e)", "return pcall(error, e)"))
}

func (g *generator) recursion() {
	name := g.newName("r")
	switch g.rand.IntN(5) {
	case 0:
		g.line("local function %s(i) step() if i < 2 then return i end", name)
		g.line("return %s(i - 1) + %s(i - 2) end", name, name)
		g.line("show(%s(%s))", name, g.pick("5", "8", "0.5"))
	case 1:
		g.line("local function %s(i, j) step()", name)
		g.line("if i == 0 then return j + 1 elseif j == 0 then return %s(i - 1, 1) end", name)
		g.line("return %s(i - 1, %s(i, j - 1)) end", name, name)
		g.line("show(%s(2, %s))", name, g.pick("1", "2", "3"))
	case 2:
		even, odd := g.newName("even"), g.newName("odd")
		g.line("local %s, %s", even, odd)
		g.line("%s = function(i) step() if i == 0 then return true end return %s(i - 1) end", even, odd)
		g.line("%s = function(i) step() if i == 0 then return false end return %s(i - 1) end", odd, even)
		g.line("show(%s(%s), %s(%s))", even, g.pick("0", "7", "20"), odd, g.pick("1", "8"))
	case 3:
		g.line("local function %s(v, i) step()", name)
		g.line("if type(v) ~= 'table' or i > 3 then return str(v) end")
		g.line("local parts = {}")
		g.line("for k, each in ipairs(v) do parts[k] = %s(each, i + 1) end", name)
		g.line("return '{' .. table.concat(parts, ';') .. '}' end")
		g.line("show(%s({1, {2, {%s}}, '%s'}, 1))", name, g.expr(number), "x")
	default:
		g.line("local function %s(i, ...) step() if i == 0 then return ... end", name)
		g.line("return %s(i - 1, i, ...) end", name)
		g.line("show(%s(%s))", name, g.pick("3", "10, 'x'", "0, nil, nil"))
	}
}

func (g *generator) deepRecursion() {
	name := g.newName("r")
	switch g.rand.IntN(4) {
	case 0:
		g.line("local function %s(i) if i == 0 then return 0 end return 1 + %s(i - 1) end", name, name)
		g.line("show(%s(%s))", name, g.pick("100", "190", "700"))
	case 1: // tail calls need no stack
		g.line("local function %s(i, sum) if i == 0 then return sum end return %s(i - 1, sum + i) end",
			name, name)
		g.line("steps = steps - 300")
		g.line("show(%s(%s, 0))", name, g.pick("1000", "30000"))
	case 2:
		g.line("steps = steps - 300")
		g.line("local function %s(i) return 1 + %s(i + 1) end", name, name)
		g.line("local ok, text = pcall(%s, 1)", name)
		g.line("show(ok, string.match(text, 'stack overflow'))")
	default:
		g.line("steps = steps - 300")
		g.line("local %s = 0", name)
		g.line("local function nest() %s = %s + 1 local ok, text = pcall(nest) return ok, text end", name,
			name)
		g.line("nest() show(%s > 150)", name)
	}
}

func (g *generator) stringMethods() {
	v := g.newName("v")
	g.line("local %s = %s", v, g.clipped(text))
	for range 2 + g.rand.IntN(3) {
		g.line("show((%s):%s)", g.pick(v, v, "'a,b,,c'", "'key = value'", "('x'):rep(3)"), g.pick(
			"len()", "upper():lower()", "rep(3)", "rep(2):reverse()", "byte(1, -1)", "sub(2, -2)", "sub(-3)",
			"find('a', 1, true)", "find('%a+', 2)", "find('')", "find('', 10)", "find('(%w)(%w)')",
			"match('(%w+) = (%w+)')", "match('()%s*$')", "gsub(',', ';')", "gsub('%w', '%0%0', 2)",
			"gsub('(%w)(.)', '%2%1')", "gsub('', '-')", "format("+g.expr(number)+")", "find('[%a-z]')",
			"gsub('%w+', {key = 1, a = 'b'})", "gsub('.', function(c) if c == 'a' then return 'A' end end)",
			"match('^(.-),(.*)$')", "rep(-1)", "byte(100)", "gsub('%f[%a]', '|')", "find('%b==')",
			"sub(2, 3):upper()", "match('.-(%d*)$')"))
	}
	g.line("for word, at in string.gmatch(%s, '(%%w+)()') do show(word, at) end", g.pick(v, "'one two'"))
	g.declare(v, text)
}

func (g *generator) sorting() {
	v := g.newName("v")
	g.line("local %s = {%s}", v, g.pick("3, 1, 2", "5, 3, 9, 1, 1, 8, 2", "'b', 'a', 'c'", "2, 'x'", "1",
		"9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2", g.expr(number)+", "+g.expr(number)+", 3"))
	g.line("show(pcall(table.sort, %s%s))", v, g.pick("", "", ", function(x, y) step() return x > y end",
		", function(x, y) step() return str(x) < str(y) end", ", function() return true end",
		", function(x, y) error('compared') end", ", 1"))
	if !g.oneIn(4) {
		g.line("show(unpack(%s))", v)
	}
}

func (g *generator) tableFunctions() {
	v := g.newName("v")
	g.line("local %s = {%s}", v, g.pick("1, 2, 3", "", "'a', 'b'", "1, nil, 3"))
	g.scope(func() {
		g.declare(v, table)
		for range 1 + g.rand.IntN(4) {
			g.line("show(pcall(%s))", g.pick(
				"table.insert, "+v+", "+g.clipped(text), "table.insert, "+v+", 1, "+g.expr(number),
				"table.remove, "+v, "table.remove, "+v+", 1", "table.concat, "+v+", '-'",
				"table.concat, "+v+", '', 2", "table.maxn, "+v, "table.getn, "+v, "unpack, "+v,
				"table.insert, "+v, "table.insert, "+v+", 1, 2, 3", "rawset, "+v+", nil, 1", "next, "+v,
				"table.foreachi, "+v+", show", "rawget, "+v+", 2", "rawset, "+v+", 'k', 1", "#"+v))
		}
	})
	g.line("show(#%s, %s[1], %s[2])", v, v, v)
	g.declare(v, table)
}

func (g *generator) loadedChunk() {
	g.line("show(pcall(loadstring(%s)))", g.pick("'return 1, ...', 'x'", "'local a = ... return a'", "'x ='",
		"'return function() return 1 end'", "'error(1)', '=name'", "'error(\"e\")'",
		"'return #\"abc\"', '@file'",
		"'local t = nil; return t.x'", "''"))
}

func (g *generator) nestedLoops() {
	i, j := g.newName("i"), g.newName("j")
	g.line("for %s = 1, 3 do", i)
	g.line("local %s = %s", j, i)
	g.line("while true do step() %s = %s - 1", j, j)
	g.line("if %s < 1 or %s then break end", j, g.expr(boolean))
	g.line("for k = %s, 2 do if k == %s then break end show(k) end", j, g.expr(number))
	g.line("end")
	g.line("if %s == %s then break end", i, g.pick("1", "2", "4"))
	g.line("end")
}
