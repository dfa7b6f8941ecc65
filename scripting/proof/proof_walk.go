package proof

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting/lua/ast"
)

func (p *prover) stmts(list []ast.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *prover) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LocalStmt:
		for i, name := range s.Names {
			p.assign(name, valueAt(s.Values, i))
		}
		p.exprs(s.Values)
	case *ast.LocalFunctionStmt:
		p.assign(s.Name, s.Function)
		p.expr(s.Function)
	case *ast.AssignStmt:
		for i, target := range s.Targets {
			p.target(target, valueAt(s.Values, i))
		}
		p.exprs(s.Values)
	case *ast.CallStmt:
		p.expr(s.Call)
	case *ast.DoStmt:
		p.stmts(s.Body)
	case *ast.WhileStmt:
		p.expr(s.Condition)
		p.stmts(s.Body)
	case *ast.RepeatStmt:
		p.stmts(s.Body)
		p.expr(s.Condition)
	case *ast.IfStmt:
		for i := range s.Clauses {
			p.expr(s.Clauses[i].Condition)
			p.stmts(s.Clauses[i].Body)
		}
		p.stmts(s.Else)
	case *ast.NumericForStmt:
		p.assign(s.Name, nil)
		p.exprs([]ast.Expr{s.Start, s.Limit})
		if s.Step != nil {
			p.expr(s.Step)
		}
		p.stmts(s.Body)
	case *ast.GenericForStmt:
		p.genericFor(s)
	case *ast.FunctionStmt:
		p.target(s.Target, nil)
		p.expr(s.Function)
	case *ast.ReturnStmt:
		p.exprs(s.Values)
	case *ast.BreakStmt:
	default:
		p.fail(0, "a statement of an unknown kind")
	}
}

// anyKey represents an element of KEYS.
var anyKey = &ast.IndexExpr{Object: &ast.NameExpr{Name: "KEYS"}}

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

func (p *prover) assign(name string, value ast.Expr) {
	p.values[name] = append(p.values[name], value)
}

func (p *prover) target(e, value ast.Expr) {
	switch e := e.(type) {
	case *ast.NameExpr:
		if e.Global {
			p.fail(e.Line, "a global is written")
		}
		p.assign(e.Name, value)
	case *ast.IndexExpr:
		p.expr(e.Object) // fails for KEYS
		p.expr(e.Key)
	default:
		p.fail(e.Position(), "an assignment of an unknown kind")
	}
}

// genericFor permits ipairs and pairs over KEYS. Their results include KEYS,
// but the script cannot access them here.
func (p *prover) genericFor(s *ast.GenericForStmt) {
	iteratesKeys := false
	if len(s.Values) == 1 {
		call, ok := s.Values[0].(*ast.CallExpr)
		iteratesKeys = ok && (isName(call.Function, "ipairs") || isName(call.Function, "pairs")) &&
			len(call.Args) == 1 && isName(call.Args[0], "KEYS")
		if iteratesKeys {
			p.requireGlobal(call.Function)
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
		p.exprs(s.Values)
	}
	p.stmts(s.Body)
}

func (p *prover) requireGlobal(e ast.Expr) { p.globals[e.(*ast.NameExpr).Name] = e.Position() }

func (p *prover) exprs(list []ast.Expr) {
	for _, e := range list {
		p.expr(e)
	}
}

func (p *prover) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NumberExpr, *ast.StringExpr, *ast.VarargExpr:
	case *ast.NameExpr:
		p.name(e)
	case *ast.IndexExpr:
		p.field(e)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if f.Key != nil {
				p.expr(f.Key)
			}
			p.expr(f.Value)
		}
	case *ast.CallExpr:
		p.call(e)
	case *ast.MethodExpr:
		p.expr(e.Receiver)
		p.exprs(e.Args)
	case *ast.ParenExpr:
		p.expr(e.Inner)
	case *ast.BinaryExpr:
		p.expr(e.Left)
		p.expr(e.Right)
	case *ast.UnaryExpr:
		if e.Op != ast.Len || !isName(e.Operand, "KEYS") {
			p.expr(e.Operand)
		}
	case *ast.FunctionExpr:
		for _, name := range e.Params {
			p.assign(name, nil)
		}
		p.stmts(e.Body)
	default:
		p.fail(e.Position(), "an expression of an unknown kind")
	}
}

func (p *prover) name(e *ast.NameExpr) {
	if unsafeGlobals[e.Name] {
		p.fail(e.Line, "%s is handed on", e.Name)
		return
	}
	p.reads[e.Name] = e.Line
}

// isRedis reports whether e is the table of Redis' functions.
func isRedis(e ast.Expr) bool { return isName(e, "redis") || isName(e, "server") }

// isCommandFunction reports whether e is redis.call or redis.pcall.
func isCommandFunction(e ast.Expr) bool {
	field, ok := e.(*ast.IndexExpr)
	return ok && field.Dot && isRedis(field.Object) &&
		field.Object.(*ast.NameExpr).Global && isCall(field.Key)
}

func isCall(key ast.Expr) bool {
	s, ok := key.(*ast.StringExpr)
	return ok && (s.Value == "call" || s.Value == "pcall")
}

// field analyzes an index expression.
func (p *prover) field(e *ast.IndexExpr) {
	key, constant := e.Key.(*ast.StringExpr)
	switch {
	case isName(e.Object, "KEYS"):
		p.expr(e.Key)
	case isCommandFunction(e):
		p.fail(e.Line, "%s.%s is handed on", e.Object.(*ast.NameExpr).Name, key.Value)
	case isRedis(e.Object) && (!constant || isCall(e.Key)):
		p.fail(e.Line, "redis is indexed")
	case isRedis(e.Object): // another function, or a constant
	case isName(e.Object, "coroutine") && constant:
		p.fail(e.Line, "coroutine.%s is not known", key.Value)
	default:
		p.expr(e.Object)
		p.expr(e.Key)
	}
}

func (p *prover) call(e *ast.CallExpr) {
	switch {
	case isCommandFunction(e.Function):
		p.command(e)
	case unpacksKeys(e):
		p.requireGlobal(e.Function)
		p.exprs(e.Args[1:])
		return
	default:
		p.expr(e.Function)
	}
	p.exprs(e.Args)
}

func (p *prover) command(e *ast.CallExpr) {
	line, fixed, more := e.Line, len(e.Args), false
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
func (p *prover) lookupCommand(line int, args []ast.Expr) *commands.Command {
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
