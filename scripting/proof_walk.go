package scripting

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/zlimit/zlimit/commands"
)

func (p *proof) stmts(list []ast.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *proof) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		for i, name := range s.Names {
			p.give(name, valueAt(s.Exprs, i))
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
		p.give(s.Name, nil)
		p.exprs([]ast.Expr{s.Init, s.Limit})
		if s.Step != nil {
			p.expr(s.Step)
		}
		p.stmts(s.Stmts)
	case *ast.GenericForStmt:
		p.genericFor(s)
	case *ast.FuncDefStmt:
		if s.Name.Method != "" {
			p.give("self", nil)
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

// anyKey stands for an element of KEYS.
var anyKey = &ast.AttrGetExpr{Object: &ast.IdentExpr{Value: "KEYS"}}

// valueAt is what the i-th variable of an assignment is given: an expression,
// or nil for anything.
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

// give notes what a local of that name is given.
func (p *proof) give(name string, value ast.Expr) {
	p.values[name] = append(p.values[name], value)
}

// target is the left side of an assignment.
func (p *proof) target(e, value ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		p.give(e.Value, value)
	case *ast.AttrGetExpr:
		p.expr(e.Object) // not KEYS then: by itself it may not stand anywhere
		p.expr(e.Key)
	default:
		p.fail(e.Line(), "an assignment of an unknown kind")
	}
}

// genericFor lets ipairs and pairs walk KEYS. What they return holds KEYS, but
// here nobody gets to see it.
func (p *proof) genericFor(s *ast.GenericForStmt) {
	walks := false
	if len(s.Exprs) == 1 {
		call, ok := s.Exprs[0].(*ast.FuncCallExpr)
		walks = ok && call.Receiver == nil && (isName(call.Func, "ipairs") || isName(call.Func, "pairs")) &&
			len(call.Args) == 1 && isName(call.Args[0], "KEYS")
		if walks {
			p.mustBeGlobal(call.Func)
		}
	}
	for i, name := range s.Names {
		if walks && i == 1 {
			p.give(name, anyKey)
		} else {
			p.give(name, nil)
		}
	}
	if !walks {
		p.exprs(s.Exprs)
	}
	p.stmts(s.Stmts)
}

func (p *proof) mustBeGlobal(e ast.Expr) { p.global[e.(*ast.IdentExpr).Value] = e.Line() }

func (p *proof) exprs(list []ast.Expr) {
	for _, e := range list {
		p.expr(e)
	}
}

func (p *proof) expr(e ast.Expr) {
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
			p.give(name, nil)
		}
		p.stmts(e.Stmts)
	default:
		p.fail(e.Line(), "an expression of an unknown kind")
	}
}

// name is a name that stands by itself.
func (p *proof) name(id *ast.IdentExpr) {
	lib, field, bound := unfold(id.Value)
	switch {
	case id.Value == hiddenGlobals:
		p.fail(id.Line(), "a global is written")
	case untouchable[id.Value]:
		p.fail(id.Line(), "%s is handed on", id.Value)
	case commandFunctions[id.Value]:
		p.fail(id.Line(), "%s is handed on", id.Value)
	case bound && (lib == "redis" || lib == "server" || harmless[lib]):
	case bound:
		p.fail(id.Line(), "%s.%s is not known", lib, field)
	case !strings.HasPrefix(id.Value, "("): // else hidden
		p.used[id.Value] = id.Line()
	}
}

// commandFunctions are the names under which the parser binds what runs
// commands.
var commandFunctions = names("redis.call", "redis.pcall", "server.call", "server.pcall")

// field is an index that is read.
func (p *proof) field(e *ast.AttrGetExpr) {
	switch {
	case isName(e.Object, "KEYS"):
		p.expr(e.Key)
	case isName(e.Object, "redis"), isName(e.Object, "server"):
		// Functions are bound by the parser, where nothing hides redis; what is
		// left are constants such as redis.LOG_NOTICE.
		if key, ok := e.Key.(*ast.StringExpr); !ok || commandFunctions["redis."+key.Value] {
			p.fail(e.Line(), "redis is indexed")
		}
	default:
		p.expr(e.Object)
		p.expr(e.Key)
	}
}

func (p *proof) call(e *ast.FuncCallExpr) {
	switch id, ok := e.Func.(*ast.IdentExpr); {
	case e.Receiver != nil:
		p.expr(e.Receiver)
	case ok && commandFunctions[id.Value]:
		p.command(e)
	case unpacksKeys(e):
		p.mustBeGlobal(e.Func)
		p.exprs(e.Args[1:])
		return
	default:
		p.expr(e.Func)
	}
	p.exprs(e.Args)
}

// command is a call of redis.call or redis.pcall.
func (p *proof) command(e *ast.FuncCallExpr) {
	line, fixed, more := e.Line(), len(e.Args), false
	if fixed > 0 && yieldsMany(e.Args[fixed-1]) {
		fixed, more = fixed-1, true
	}
	args := e.Args[:fixed]
	cmd := p.row(line, args)
	if cmd == nil {
		return
	}
	name := cmd.FullName()
	switch {
	case !more && !cmd.ArityOK(fixed):
		p.fail(line, "%s does not take %d arguments", name, fixed)
	case cmd.Handler == nil || cmd.Flags&(commands.NoScript|commands.Blocking|commands.Transaction|commands.Protected) != 0:
		p.fail(line, "%s is not for scripts", name)
	case cmd.Flags&(commands.AllShards|commands.MovableKeys) != 0 || len(cmd.Keys) == 0 && !keyless[name]:
		p.fail(line, "%s uses more than its keys", name)
	}
	at, tail, ok := cmd.KeyPositions(fixed, more)
	if !ok || tail && !unpacksKeys(e.Args[fixed]) {
		p.fail(line, "it depends on the arguments which of them are keys of %s", name)
		return
	}
	for _, i := range at {
		p.keys = append(p.keys, args[i])
	}
}

// row is the command that the first arguments name, nil where they name none.
func (p *proof) row(line position, args []ast.Expr) *commands.Command {
	var cmd *commands.Command
	if name, ok := constant(args, 0); !ok {
		p.fail(line, "a command's name is not a constant")
	} else if cmd = p.table.Lookup([]byte(name)); cmd == nil {
		p.fail(line, "there is no command %s", name)
	} else if cmd.Subs != nil {
		sub, ok := constant(args, 1)
		if cmd = cmd.Sub([]byte(sub)); !ok || cmd == nil {
			p.fail(line, "there is no command %s %s", name, sub)
		}
	}
	return cmd
}

// constant returns the i-th argument where it is a string that the source
// spells out.
func constant(args []ast.Expr, i int) (string, bool) {
	if i >= len(args) {
		return "", false
	}
	s, ok := args[i].(*ast.StringExpr)
	if !ok {
		return "", false
	}
	return s.Value, true
}
