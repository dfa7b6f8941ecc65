// Package proof decides, when a script is loaded, whether it can be shown to use
// no keys besides those in KEYS, so that it may run with only their shards
// locked.
//
// This package is internal to zlimit: it may change in any release.
package proof

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting/lua/ast"
)

// A Proof says whether a script is proven to use no keys besides those in
// KEYS, so that it may run with only their shards locked.
//
// The analysis reads the syntax tree once, when the script is loaded. It
// ignores control flow and scopes, and must show three things:
//
//   - KEYS does not change: it is only indexed, measured with #, unpacked, and
//     iterated with ipairs or pairs in a for. So no other name and no function
//     ever holds the table.
//   - redis.call and redis.pcall are only called under these names, with a
//     constant command whose key positions follow from the number of arguments.
//   - Each argument in such a position is an element of KEYS, or a local with no
//     other values. All locals of one name count as one.
//
// An element of KEYS is a declared key or nil, and redis.call refuses nil,
// tables and functions. It accepts numbers and strings, which a local for keys
// must therefore not hold.
//
// Everything else is not proven: unknown globals, globals that give access to
// KEYS or redis (_G, load, rawget, metatables), and coroutines.
type Proof struct {
	Reason string // why it is not proven; "" if it is
	Line   int
}

// Proven reports whether it is.
func (k Proof) Proven() bool { return k.Reason == "" }

// A prover analyzes one script.
type prover struct {
	table *commands.Table
	Proof

	values  map[string][]ast.Expr // expressions assigned to the locals of a name; nil for any value
	reads   map[string]int        // names that were read, with a line
	globals map[string]int        // names that must be our functions, so that no local may have them
	keyArgs []ast.Expr            // arguments in key positions
}

// Prove analyzes a script, whose commands are those of the table.
func Prove(c *ast.Chunk, commandTable *commands.Table) Proof {
	p := &prover{
		table: commandTable, values: make(map[string][]ast.Expr),
		reads: make(map[string]int), globals: make(map[string]int),
	}
	p.stmts(c.Body)
	p.checkNames()
	return p.Proof
}

func (p *prover) fail(line int, format string, args ...any) {
	if p.Proven() {
		p.Reason, p.Line = fmt.Sprintf(format, args...), line
	}
}

// checkNames runs once all names are known.
func (p *prover) checkNames() {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if _, ok := p.globals[name]; ok || unsafeGlobals[name] {
			p.fail(0, "a local is called %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.reads)) {
		if _, ok := p.values[name]; !ok && !safeGlobals[name] {
			p.fail(p.reads[name], "%s is not known", name)
		}
	}
	locals := p.keyLocals()
	for _, e := range p.keyArgs {
		if !isKey(e, locals) {
			p.fail(e.Position(), "a key is not from KEYS")
		}
	}
}

// keyLocals returns the names whose locals hold only keys. It removes names
// with another value until nothing changes.
func (p *prover) keyLocals() map[string]bool {
	locals := make(map[string]bool, len(p.values))
	for name := range p.values {
		locals[name] = !safeGlobals[name] && !implicitLocals[name]
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

// isKey reports whether an expression yields an element of KEYS or a value that
// redis.call refuses as an argument.
func isKey(e ast.Expr, locals map[string]bool) bool {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return isName(e.Object, "KEYS")
	case *ast.NameExpr:
		return locals[e.Name]
	case *ast.BinaryExpr:
		switch e.Op {
		case ast.And: // if it yields its left side, that is nil or false
			return isKey(e.Right, locals)
		case ast.Or:
			return isKey(e.Right, locals) && isKey(e.Left, locals)
		}
	case *ast.ParenExpr:
		return isKey(e.Inner, locals)
	case *ast.CallExpr:
		return unpacksKeys(e)
	case *ast.NilExpr, *ast.FalseExpr:
		return true
	}
	return false
}

// unpacksKeys reports whether e is unpack(KEYS).
func unpacksKeys(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && isName(call.Function, "unpack") && len(call.Args) > 0 && isName(call.Args[0], "KEYS")
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.NameExpr)
	return ok && id.Name == name
}

// yieldsMany reports whether an expression at the end of a list may yield any
// number of values.
func yieldsMany(e ast.Expr) bool {
	switch e.(type) {
	case *ast.CallExpr, *ast.MethodExpr, *ast.VarargExpr:
		return true
	}
	return false
}

// KnowsGlobal reports whether the analysis has decided about a global.
func KnowsGlobal(name string) bool { return safeGlobals[name] || unsafeGlobals[name] }

func nameSet(all ...string) map[string]bool {
	m := make(map[string]bool, len(all))
	for _, name := range all {
		m[name] = true
	}
	return m
}

var (
	// safeGlobals give no access to KEYS or redis. A local of such a name is
	// never a key: out of its scope the name is the global, and _VERSION is a
	// string.
	safeGlobals = nameSet("ARGV", "_VERSION", "assert", "error", "ipairs", "next", "pairs", "pcall",
		"select", "tonumber", "tostring", "type", "unpack", "xpcall",
		"string", "table", "math", "bit", "cjson", "struct", "cmsgpack", "os")

	// implicitLocals are declared by Lua itself.
	implicitLocals = nameSet("self", "arg")

	// unsafeGlobals give access to KEYS or redis. No local may have such a
	// name: out of its scope the name is the global.
	unsafeGlobals = nameSet("KEYS", "redis", "server", "_G", "collectgarbage", "coroutine", "debug",
		"dofile", "gcinfo", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "module",
		"newproxy", "print", "rawequal", "rawget", "rawset", "require", "setfenv", "setmetatable")

	// keylessCommands are the commands without keys that use nothing protected
	// by a shard lock.
	keylessCommands = nameSet("echo", "ping", "publish", "time")
)
