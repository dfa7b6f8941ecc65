// Package ast has the syntax tree of Lua 5.1, as package syntax makes it.
//
// A node's line is the one that an error in it names: where C Lua would emit the instruction. The tree says
// what the source says; only parentheses that truncate several values to one stay as nodes.
//
// This package is internal to zlimit: it may change in any release.
package ast

// A Chunk is a source.
type Chunk struct {
	Body []Stmt
}

// An Expr is an expression: one of the types below that end in Expr.
type Expr interface{ Position() int }

// A Stmt is a statement: one of the types below that end in Stmt.
type Stmt interface{ Position() int }

// A Pos is part of every node.
type Pos struct{ Line int }

// Position returns the line.
func (p Pos) Position() int { return p.Line }

// The expressions.
type (
	// NilExpr is nil.
	NilExpr struct{ Pos }
	// TrueExpr is true.
	TrueExpr struct{ Pos }
	// FalseExpr is false.
	FalseExpr struct{ Pos }
	// NumberExpr is a number in the source.
	NumberExpr struct {
		Pos
		Value float64
	}
	// StringExpr is a string in the source, without its quotes and escapes.
	StringExpr struct {
		Pos
		Value string
	}
	// VarargExpr is `...`.
	VarargExpr struct{ Pos }
	// NameExpr is a local variable, an upvalue, or a global.
	NameExpr struct {
		Pos
		Name   string
		Global bool
	}
	// IndexExpr is a field of a table.
	IndexExpr struct {
		Pos
		Object, Key Expr
		Dot         bool // written Object.Key
	}
	// CallExpr is a call.
	CallExpr struct {
		Pos
		Function Expr
		Args     []Expr
	}
	// MethodExpr is Receiver:Name(Args).
	MethodExpr struct {
		Pos
		NameLine int
		Receiver Expr
		Name     string
		Args     []Expr
	}
	// ParenExpr is an expression in parentheses.
	ParenExpr struct {
		Pos
		Inner Expr
	}
	// UnaryExpr is an operator with one operand.
	UnaryExpr struct {
		Pos
		Op      Op
		Operand Expr
	}
	// BinaryExpr is an operator with two operands.
	BinaryExpr struct {
		Pos
		Op          Op
		Left, Right Expr
	}
	// TableExpr is a table constructor.
	TableExpr struct {
		Pos
		Fields []Field
	}
	// FunctionExpr is a function.
	FunctionExpr struct {
		Pos
		EndLine int
		Params  []string // with self
		Vararg  bool
		// UsesVararg is set if the body has `...`. If not, a vararg function has the local `arg`.
		UsesVararg bool
		Body       []Stmt
	}
)

// A Field is an element of a table constructor, without a key if it is positional.
type Field struct {
	Line       int
	Key, Value Expr
}

// The statements.
type (
	// LocalStmt declares local variables.
	LocalStmt struct {
		Pos
		Names  []string
		Values []Expr
	}
	// LocalFunctionStmt declares a local function, which may call itself.
	LocalFunctionStmt struct {
		Pos
		Name     string
		Function *FunctionExpr
	}
	// FunctionStmt is function a.b:c() … end; the target is a name or a field.
	FunctionStmt struct {
		Pos
		Target   Expr
		Function *FunctionExpr
	}
	// AssignStmt is an assignment.
	AssignStmt struct {
		Pos
		Targets []Expr // NameExpr or IndexExpr
		Values  []Expr
	}
	// CallStmt has a CallExpr or MethodExpr.
	CallStmt struct {
		Pos
		Call Expr
	}
	// DoStmt is a block.
	DoStmt struct {
		Pos
		Body []Stmt
	}
	// WhileStmt is a while loop.
	WhileStmt struct {
		Pos
		Condition Expr
		Body      []Stmt
	}
	// RepeatStmt has a condition that sees the body's locals.
	RepeatStmt struct {
		Pos
		Body      []Stmt
		Condition Expr
	}
	// IfStmt is an if with its branches.
	IfStmt struct {
		Pos
		Clauses []Clause
		Else    []Stmt
	}
	// NumericForStmt is a for over numbers.
	NumericForStmt struct {
		Pos
		DoLine             int
		Name               string
		Start, Limit, Step Expr // Step may be nil
		Body               []Stmt
	}
	// GenericForStmt is a for over an iterator.
	GenericForStmt struct {
		Pos
		Names  []string
		Values []Expr
		Body   []Stmt
	}
	// ReturnStmt is a return.
	ReturnStmt struct {
		Pos
		Values []Expr
	}
	// BreakStmt is a break.
	BreakStmt struct{ Pos }
)

// A Clause is a condition of an if statement with what follows its then.
type Clause struct {
	Condition Expr
	Body      []Stmt
}

// An Op is an operator.
type Op uint8

// The operators. Those before Concat are arithmetic, those from Equal to GreaterEqual comparisons.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Mod
	Pow
	Concat
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	And
	Or
	Minus
	Not
	Len
)
