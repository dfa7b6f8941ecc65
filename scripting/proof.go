package scripting

import (
	"fmt"
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"github.com/zlimit/zlimit/commands"
)

// A verdict says whether a script uses no keys but those in KEYS, so that it may
// run with their shards locked alone.
//
// The proof reads the syntax tree once, when the script is loaded, and knows no
// flow and no scopes: it looks at what may happen anywhere, whenever. Three
// things are to be shown.
//
//   - KEYS stays as it was. It may be indexed, measured with #, unpacked and
//     walked with ipairs or pairs in a for; nothing else may be done with it, so
//     no other name and no function ever holds the table.
//   - redis.call and redis.pcall are called under these names only, with a
//     constant command whose keys stand where the number of arguments says.
//   - What stands there is a key: an element of KEYS, or a local every value of
//     which is one. Locals are told apart by their names alone: all that share
//     a name anywhere in the script are one, whatever hides what.
//
// An element of KEYS is a declared key or nil, whatever the index, and a call
// with nil is refused before it reaches a command. So are tables and functions,
// but not numbers and strings, of which there must be none among a local's
// values.
//
// Whatever is not understood is not proven: unknown globals, those through which
// KEYS or redis could be had by another way (_G, load, rawget, metatables), and
// coroutines, of which limiters have none.
type verdict struct {
	why  string // what is in the way; "" where the keys are proven
	line int
}

func (v verdict) proven() bool { return v.why == "" }

// A proof is one in the making.
type proof struct {
	table *commands.Table
	verdict

	values map[string][]ast.Expr // what the locals of a name are given: expressions, or nil for anything
	used   map[string]int        // names that were read, with a line
	global map[string]int        // names that stand for functions of ours unless a local is called so
	keys   []ast.Expr            // arguments that name keys
}

// judge is a script's verdict.
func (e *Engine) judge(c *chunk) verdict {
	p := &proof{table: e.table, values: make(map[string][]ast.Expr), used: make(map[string]int), global: make(map[string]int)}
	p.stmts(c.stmts)
	p.conclude()
	return p.verdict
}

// fail notes the first thing that is in the way.
func (p *proof) fail(line position, format string, args ...any) {
	if p.proven() {
		p.why, p.line = fmt.Sprintf(format, args...), lineOf(line)
	}
}

// conclude looks at the names, now that all of them are known.
func (p *proof) conclude() {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if _, ok := p.global[name]; ok || untouchable[name] {
			p.fail(0, "a local is called %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.used)) {
		if _, ok := p.values[name]; !ok && !harmless[name] {
			p.fail(p.used[name], "%s is not known", name)
		}
	}
	locals := p.keyLocals()
	for _, e := range p.keys {
		if !isKey(e, locals) {
			p.fail(e.Line(), "a key is not from KEYS")
		}
	}
}

// keyLocals returns the names whose locals hold keys and nothing else: those
// that are left when every name given anything else was struck out, and then
// those given what was struck out.
func (p *proof) keyLocals() map[string]bool {
	locals := make(map[string]bool, len(p.values))
	for name := range p.values {
		locals[name] = !harmless[name] && !implicit[name]
	}
	for again := true; again; {
		again = false
		for name, values := range p.values {
			for _, v := range values {
				if locals[name] && !isKey(v, locals) {
					locals[name], again = false, true
				}
			}
		}
	}
	return locals
}

// isKey reports whether an expression yields an element of KEYS, or something
// that redis.call refuses as an argument.
func isKey(e ast.Expr, locals map[string]bool) bool {
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		return isName(e.Object, "KEYS")
	case *ast.IdentExpr:
		return locals[e.Value]
	case *ast.LogicalOpExpr:
		// What `and` passes on of its left side is nil or false.
		return isKey(e.Rhs, locals) && (e.Operator == "and" || isKey(e.Lhs, locals))
	case *ast.FuncCallExpr:
		return unpacksKeys(e)
	case *ast.NilExpr, *ast.FalseExpr:
		return true
	}
	return false
}

// unpacksKeys reports whether e is unpack(KEYS).
func unpacksKeys(e ast.Expr) bool {
	call, ok := e.(*ast.FuncCallExpr)
	return ok && call.Receiver == nil && isName(call.Func, "unpack") && len(call.Args) > 0 && isName(call.Args[0], "KEYS")
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.IdentExpr)
	return ok && id.Value == name
}

// yieldsMany reports whether an expression at the end of a list may yield any
// number of values.
func yieldsMany(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

// names makes a set.
func names(all ...string) map[string]bool {
	m := make(map[string]bool, len(all))
	for _, name := range all {
		m[name] = true
	}
	return m
}

var (
	// harmless are the globals by which neither KEYS nor redis can be reached.
	// A key is never held under such a name: outside of the local's scope it is
	// the global, and _VERSION is a string.
	harmless = names("ARGV", "_VERSION", "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring",
		"type", "unpack", "xpcall", "string", "table", "math", "bit", "cjson", "struct", "cmsgpack", "os")

	// implicit are the locals that Lua declares without being told to.
	implicit = names("self", "arg")

	// untouchable are the globals by which they can be. No local may be called
	// so either: outside of its scope the name is the global.
	untouchable = names("KEYS", "redis", "server", "_G", "collectgarbage", "coroutine", "debug", "dofile", "gcinfo", "getfenv",
		"getmetatable", "load", "loadfile", "loadstring", "module", "newproxy", "print", "rawequal", "rawget", "rawset", "require",
		"setfenv", "setmetatable")

	// keyless are the commands without keys that a proven script may call: those
	// that look at nothing that a lock protects.
	keyless = names("echo", "ping", "publish", "time")
)
