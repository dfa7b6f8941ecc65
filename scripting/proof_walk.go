package scripting

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/zlimit/zlimit/commands"
)

func (p *keyProver) stmts(list []ast.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *keyProver) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		for i, name := range s.Names {
			p.assign(name, valueAt(s.Exprs, i))
		}
		p.exprs(s.Exprs)
	case *ast.AssignStmt:
		for i, target := range s.Lhs {
			p.target(target, valueAt(s.Rhs, i))
		}
		p.exprs(s.Rhs)
	case *ast.FuncCallStmt:
		p.expr(s.Expr)
	case *ast.DoBlockStmt:
		p.stmts(s.Stmts)
	case *ast.WhileStmt:
		p.expr(s.Condition)
		p.stmts(s.Stmts)
	case *ast.RepeatStmt:
		p.stmts(s.Stmts)
		p.expr(s.Condition)
	case *ast.IfStmt:
		p.expr(s.Condition)
		p.stmts(s.Then)
		p.stmts(s.Else)
	case *ast.NumberForStmt:
		p.assign(s.Name, nil)
		p.exprs([]ast.Expr{s.Init, s.Limit})
		if s.Step != nil {
			p.expr(s.Step)
		}
		p.stmts(s.Stmts)
	case *ast.GenericForStmt:
		p.genericFor(s)
	case *ast.FuncDefStmt:
		if s.Name.Method != "" {
			p.assign("self", nil)
			p.expr(s.Name.Receiver)
		} else {
			p.target(s.Name.Func, nil)
		}
		p.expr(s.Func)
	case *ast.ReturnStmt:
		p.exprs(s.Exprs)
	case *ast.BreakStmt:
	default:
		p.fail(s.Line(), "a statement of an unknown kind")
	}
}

// anyKey represents an element of KEYS.
var anyKey = &ast.AttrGetExpr{Object: &ast.IdentExpr{Value: "KEYS"}}

// valueAt returns the expression assigned to the i-th variable, or nil for any
// value.
func valueAt(exprs []ast.Expr, i int) ast.Expr {
	last := len(exprs) - 1
	switch {
	case i < last:
		return exprs[i]
	case last < 0:
		return &ast.NilExpr{}
	case unpacksKeys(exprs[last]):
		return anyKey
	case i == last:
		return exprs[i]
	case yieldsMany(exprs[last]):
		return nil
	}
	return &ast.NilExpr{}
}

func (p *keyProver) assign(name string, value ast.Expr) {
	p.values[name] = append(p.values[name], value)
}

func (p *keyProver) target(e, value ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		p.assign(e.Value, value)
	case *ast.AttrGetExpr:
		p.expr(e.Object) // fails for KEYS
		p.expr(e.Key)
	default:
		p.fail(e.Line(), "an assignment of an unknown kind")
	}
}

// genericFor permits ipairs and pairs over KEYS. Their results include KEYS,
// but the script cannot access them here.
func (p *keyProver) genericFor(s *ast.GenericForStmt) {
	iteratesKeys := false
	if len(s.Exprs) == 1 {
		call, ok := s.Exprs[0].(*ast.FuncCallExpr)
		iteratesKeys = ok && call.Receiver == nil &&
			(isName(call.Func, "ipairs") || isName(call.Func, "pairs")) &&
			len(call.Args) == 1 && isName(call.Args[0], "KEYS")
		if iteratesKeys {
			p.requireGlobal(call.Func)
		}
	}
	for i, name := range s.Names {
		if iteratesKeys && i == 1 {
			p.assign(name, anyKey)
		} else {
			p.assign(name, nil)
		}
	}
	if !iteratesKeys {
		p.exprs(s.Exprs)
	}
	p.stmts(s.Stmts)
}

func (p *keyProver) requireGlobal(e ast.Expr) { p.globals[e.(*ast.IdentExpr).Value] = e.Line() }

func (p *keyProver) exprs(list []ast.Expr) {
	for _, e := range list {
		p.expr(e)
	}
}

func (p *keyProver) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NumberExpr, *ast.StringExpr, *ast.Comma3Expr:
	case *ast.IdentExpr:
		p.name(e)
	case *ast.AttrGetExpr:
		p.field(e)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if f.Key != nil {
				p.expr(f.Key)
			}
			p.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		p.call(e)
	case *ast.LogicalOpExpr:
		p.exprs([]ast.Expr{e.Lhs, e.Rhs})
	case *ast.RelationalOpExpr:
		p.exprs([]ast.Expr{e.Lhs, e.Rhs})
	case *ast.ArithmeticOpExpr:
		p.exprs([]ast.Expr{e.Lhs, e.Rhs})
	case *ast.UnaryMinusOpExpr:
		p.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		p.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		if !isName(e.Expr, "KEYS") {
			p.expr(e.Expr)
		}
	case *ast.FunctionExpr:
		for _, name := range e.ParList.Names {
			p.assign(name, nil)
		}
		p.stmts(e.Stmts)
	default:
		p.fail(e.Line(), "an expression of an unknown kind")
	}
}

func (p *keyProver) name(id *ast.IdentExpr) {
	lib, field, bound := splitBoundName(id.Value)
	switch {
	case id.Value == hiddenGlobals:
		p.fail(id.Line(), "a global is written")
	case unsafeGlobals[id.Value]:
		p.fail(id.Line(), "%s is handed on", id.Value)
	case commandFunctions[id.Value]:
		p.fail(id.Line(), "%s is handed on", id.Value)
	case bound && (lib == "redis" || lib == "server" || safeGlobals[lib]):
	case bound:
		p.fail(id.Line(), "%s.%s is not known", lib, field)
	case !strings.HasPrefix(id.Value, "("): // else hidden
		p.reads[id.Value] = id.Line()
	}
}

// commandFunctions are the names to which the parser binds the functions that
// run commands.
var commandFunctions = nameSet("redis.call", "redis.pcall", "server.call", "server.pcall")

// field analyzes an index expression.
func (p *keyProver) field(e *ast.AttrGetExpr) {
	switch {
	case isName(e.Object, "KEYS"):
		p.expr(e.Key)
	case isName(e.Object, "redis"), isName(e.Object, "server"):
		// The parser binds functions unless a local hides redis. What remains
		// are constants such as redis.LOG_NOTICE.
		if key, ok := e.Key.(*ast.StringExpr); !ok || commandFunctions["redis."+key.Value] {
			p.fail(e.Line(), "redis is indexed")
		}
	default:
		p.expr(e.Object)
		p.expr(e.Key)
	}
}

func (p *keyProver) call(e *ast.FuncCallExpr) {
	switch id, ok := e.Func.(*ast.IdentExpr); {
	case e.Receiver != nil:
		p.expr(e.Receiver)
	case ok && commandFunctions[id.Value]:
		p.command(e)
	case unpacksKeys(e):
		p.requireGlobal(e.Func)
		p.exprs(e.Args[1:])
		return
	default:
		p.expr(e.Func)
	}
	p.exprs(e.Args)
}

func (p *keyProver) command(e *ast.FuncCallExpr) {
	line, fixed, more := e.Line(), len(e.Args), false
	if fixed > 0 && yieldsMany(e.Args[fixed-1]) {
		fixed, more = fixed-1, true
	}
	args := e.Args[:fixed]
	cmd := p.lookupCommand(line, args)
	if cmd == nil {
		return
	}
	const notForScripts = commands.NoScript | commands.Blocking | commands.Transaction | commands.Protected
	name := cmd.FullName()
	switch {
	case !more && !cmd.ArityOK(fixed):
		p.fail(line, "%s does not take %d arguments", name, fixed)
	case cmd.Handler == nil || cmd.Flags&notForScripts != 0:
		p.fail(line, "%s is not for scripts", name)
	case cmd.Flags&(commands.AllShards|commands.MovableKeys) != 0,
		len(cmd.Keys) == 0 && !keylessCommands[name]:
		p.fail(line, "%s uses more than its keys", name)
	}
	at, tail, ok := cmd.KeyPositions(fixed, more)
	if !ok || tail && !unpacksKeys(e.Args[fixed]) {
		p.fail(line, "it depends on the arguments which of them are keys of %s", name)
		return
	}
	for _, i := range at {
		p.keyArgs = append(p.keyArgs, args[i])
	}
}

// lookupCommand returns the command named by the first arguments, or nil.
func (p *keyProver) lookupCommand(line position, args []ast.Expr) *commands.Command {
	var cmd *commands.Command
	if name, ok := stringConstant(args, 0); !ok {
		p.fail(line, "a command's name is not a constant")
	} else if cmd = p.table.Lookup([]byte(name)); cmd == nil {
		p.fail(line, "there is no command %s", name)
	} else if cmd.Subs != nil {
		sub, ok := stringConstant(args, 1)
		if cmd = cmd.Sub([]byte(sub)); !ok || cmd == nil {
			p.fail(line, "there is no command %s %s", name, sub)
		}
	}
	return cmd
}

// stringConstant returns the i-th argument if it is a string literal.
func stringConstant(args []ast.Expr, i int) (string, bool) {
	if i >= len(args) {
		return "", false
	}
	s, ok := args[i].(*ast.StringExpr)
	if !ok {
		return "", false
	}
	return s.Value, true
}
