package lua

import (
	"slices"

	"github.com/zlimit/zlimit/scripting/lua/ast"
)

// The code of this file uses what Bindings know about the functions and tables
// of a sandbox. Registers are those that ordinary code would take.

// boundKind returns what is known about what a description is bound to.
func (g *generator) boundKind(d *desc) boundKind {
	if d.kind != dBound {
		return boundOther
	}
	return g.bindings.kinds[d.info&boundMask]
}

// boundElement returns the description of an element of a bound table, if its
// index is a constant.
func (g *generator) boundElement(e *ast.IndexExpr) (d desc, ok bool) {
	const most = 1<<16 - 1
	table, isName := e.Object.(*ast.NameExpr)
	key, isNumber := e.Key.(*ast.NumberExpr)
	if !isName || !isNumber || !table.Global {
		return desc{}, false
	}
	n := int(int32(key.Value))
	if float64(n) != key.Value || n < 1 || n > most {
		return desc{}, false
	}
	object, ok := g.bound(table.Name, "", table.Line)
	if !ok || g.boundKind(&object) != boundTable {
		return desc{}, false
	}
	g.reserve(1, e.Line) // for the table
	g.free--
	d = desc{kind: dBoundInt, info: object.info & boundMask, key: n, line: e.Line}
	return d.noJumps(), true
}

// isDirect reports whether a call is one instruction: of a function with a
// directFunction, with one argument.
func (g *generator) isDirect(fn *desc, args []ast.Expr) bool {
	return g.boundKind(fn) == boundDirect && len(args) == 1 && !g.isOpen(args[0])
}

// isOpen reports whether an expression at the end of a list may be any number
// of values.
func (g *generator) isOpen(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.MethodExpr, *ast.VarargExpr:
		return true
	case *ast.CallExpr:
		var fn desc
		switch callee := e.Function.(type) {
		case *ast.NameExpr:
			if callee.Global {
				fn, _ = g.bound(callee.Name, "", e.Line)
			}
		case *ast.IndexExpr:
			fn, _ = g.boundField(callee)
		}
		return g.boundKind(&fn) < boundSingle
	}
	return false
}

func (g *generator) direct(fn *desc, arg ast.Expr, line int) desc {
	reg := g.free
	g.reserve(1, fn.line)
	g.requireBound(fn, reg, arg)
	from := g.siteArg(arg, true).Register
	g.emit(instruction{
		op: opDirect, a: uint8(reg), b: from, c: uint8(fn.key), x: int32(fn.info),
	}, line)
	g.free = reg + 1
	return desc{kind: dRegister, info: reg, line: line}.noJumps()
}

// isSite reports whether a call is a CallSite.
func (g *generator) isSite(fn *desc, args []ast.Expr) bool {
	n := len(args)
	return g.boundKind(fn) == boundSite && n > 0 && !g.isOpen(args[n-1])
}

func (g *generator) site(fn *desc, args []ast.Expr, line int) desc {
	site := CallSite{
		Args: make([]SiteArg, len(args)), bound: fn.info & boundMask,
		field: fn.key != 0, name: g.proto.constantName(fn.info >> boundBits),
	}
	reg := g.free
	g.reserve(1, fn.line)
	g.requireBound(fn, reg, args...)
	rest := len(args) // the arguments from here on change no local
	for rest > 0 && isPlain(args[rest-1]) {
		rest--
	}
	for i, e := range args {
		if c := constantArg(e); c.kind != KindNil {
			site.Args[i].Constant = c
			g.reserve(1, line)
		} else {
			site.Args[i] = g.siteArg(e, i >= rest)
		}
	}
	g.proto.sites = append(g.proto.sites, site)
	pc := g.emit(instruction{op: opCallSite, a: uint8(reg), c: 2, x: int32(len(g.proto.sites) - 1)}, line)
	g.free = reg + 1
	return desc{kind: dCall, info: pc, line: line}.noJumps()
}

// requireBound makes it an error that a function is missing before its arguments are evaluated, if that can
// be seen.
func (g *generator) requireBound(fn *desc, reg int, args ...ast.Expr) {
	if g.bindings.partial && slices.ContainsFunc(args, func(e ast.Expr) bool { return !isPlain(e) }) {
		g.emit(instruction{op: opBound, a: uint8(reg), b: uint8(fn.key), x: int32(fn.info)}, fn.line)
	}
}

// siteArg puts an argument into the next register, unless it is a local and may
// stay where it is.
func (g *generator) siteArg(e ast.Expr, stays bool) SiteArg {
	d := g.expr(e)
	if stays && d.kind == dLocal && !d.hasJumps() {
		g.reserve(1, d.line)
		return SiteArg{Register: uint8(d.info)}
	}
	g.toNextRegister(&d)
	return SiteArg{Register: uint8(d.info)}
}

// isPlain reports whether an expression has no code that could change a local.
func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NameExpr:
		return !e.Global
	case *ast.NumberExpr, *ast.StringExpr:
		return true
	}
	return false
}

func constantArg(e ast.Expr) Value {
	switch e := e.(type) {
	case *ast.NumberExpr:
		return Number(e.Value)
	case *ast.StringExpr:
		v := String(e.Value)
		v.stringHash()
		return v
	}
	return Nil
}
