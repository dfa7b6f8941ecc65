// Package ast has the syntax tree of Lua 5.1, as scripting/lua's parser makes it.
//
// A node's line is the one that an error in it names: where C Lua would emit the
// instruction. The tree says what the source says; only parentheses that
// truncate several values to one stay as nodes.
//
// This package is internal to zlimit: it may change in any release.
package ast

// A Chunk is a source.
type Chunk struct {
	Body []Stmt
}

// An Expr is an expression: one of the types below that end in Expr.
type Expr interface {
	expr()
	// Position returns the line.
	Position() int
}

// A Stmt is a statement: one of the types below that end in Stmt.
type Stmt interface{ stmt() }

// The expressions.
type (
	// NilExpr is nil.
	NilExpr struct{ Line int }
	// TrueExpr is true.
	TrueExpr struct{ Line int }
	// FalseExpr is false.
	FalseExpr struct{ Line int }
	// NumberExpr is a number in the source.
	NumberExpr struct {
		Line  int
		Value float64
	}
	// StringExpr is a string in the source, without its quotes and escapes.
	StringExpr struct {
		Line  int
		Value string
	}
	// VarargExpr is `...`.
	VarargExpr struct{ Line int }
	// NameExpr is a local variable, an upvalue, or a global.
	NameExpr struct {
		Line   int
		Name   string
		Global bool
	}
	// IndexExpr is a field of a table.
	IndexExpr struct {
		Line        int
		Object, Key Expr
		Dot         bool // written Object.Key
	}
	// CallExpr is a call.
	CallExpr struct {
		Line     int
		Function Expr
		Args     []Expr
	}
	// MethodExpr is Receiver:Name(Args).
	MethodExpr struct {
		Line     int
		NameLine int
		Receiver Expr
		Name     string
		Args     []Expr
	}
	// ParenExpr is an expression in parentheses.
	ParenExpr struct {
		Line  int
		Inner Expr
	}
	// UnaryExpr is an operator with one operand.
	UnaryExpr struct {
		Line    int
		Op      Op
		Operand Expr
	}
	// BinaryExpr is an operator with two operands.
	BinaryExpr struct {
		Line        int
		Op          Op
		Left, Right Expr
	}
	// TableExpr is a table constructor.
	TableExpr struct {
		Line   int
		Fields []Field
	}
	// FunctionExpr is a function.
	FunctionExpr struct {
		Line, EndLine int
		Params        []string // with self
		Vararg        bool
		// UsesVararg is set if the body has `...`. If not, a vararg function has
		// the local `arg`.
		UsesVararg bool
		Body       []Stmt
	}
)

// A Field is an element of a table constructor, without a key if it is
// positional.
type Field struct {
	Line       int
	Key, Value Expr
}

// The statements.
type (
	// LocalStmt declares local variables.
	LocalStmt struct {
		Line   int
		Names  []string
		Values []Expr
	}
	// LocalFunctionStmt declares a local function, which may call itself.
	LocalFunctionStmt struct {
		Line     int
		Name     string
		Function *FunctionExpr
	}
	// FunctionStmt is function a.b:c() … end; the target is a name or a field.
	FunctionStmt struct {
		Line     int
		Target   Expr
		Function *FunctionExpr
	}
	// AssignStmt is an assignment.
	AssignStmt struct {
		Line    int
		Targets []Expr // NameExpr or IndexExpr
		Values  []Expr
	}
	// CallStmt has a CallExpr or MethodExpr.
	CallStmt struct {
		Line int
		Call Expr
	}
	// DoStmt is a block.
	DoStmt struct {
		Line int
		Body []Stmt
	}
	// WhileStmt is a while loop.
	WhileStmt struct {
		Line      int
		Condition Expr
		Body      []Stmt
	}
	// RepeatStmt has a condition that sees the body's locals.
	RepeatStmt struct {
		Line      int
		Body      []Stmt
		Condition Expr
	}
	// IfStmt is an if with its branches.
	IfStmt struct {
		Line    int
		Clauses []Clause
		Else    []Stmt
	}
	// NumericForStmt is a for over numbers.
	NumericForStmt struct {
		Line, DoLine       int
		Name               string
		Start, Limit, Step Expr // Step may be nil
		Body               []Stmt
	}
	// GenericForStmt is a for over an iterator.
	GenericForStmt struct {
		Line   int
		Names  []string
		Values []Expr
		Body   []Stmt
	}
	// ReturnStmt is a return.
	ReturnStmt struct {
		Line   int
		Values []Expr
	}
	// BreakStmt is a break.
	BreakStmt struct{ Line int }
)

// A Clause is a condition of an if statement with what follows its then.
type Clause struct {
	Condition Expr
	Body      []Stmt
}

// An Op is an operator.
type Op uint8

// The operators. Those before Concat are arithmetic, those from Equal to
// GreaterEqual comparisons.
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

func (*NilExpr) expr()      {}
func (*TrueExpr) expr()     {}
func (*FalseExpr) expr()    {}
func (*NumberExpr) expr()   {}
func (*StringExpr) expr()   {}
func (*VarargExpr) expr()   {}
func (*NameExpr) expr()     {}
func (*IndexExpr) expr()    {}
func (*CallExpr) expr()     {}
func (*MethodExpr) expr()   {}
func (*ParenExpr) expr()    {}
func (*UnaryExpr) expr()    {}
func (*BinaryExpr) expr()   {}
func (*TableExpr) expr()    {}
func (*FunctionExpr) expr() {}

func (*LocalStmt) stmt()         {}
func (*LocalFunctionStmt) stmt() {}
func (*FunctionStmt) stmt()      {}
func (*AssignStmt) stmt()        {}
func (*CallStmt) stmt()          {}
func (*DoStmt) stmt()            {}
func (*WhileStmt) stmt()         {}
func (*RepeatStmt) stmt()        {}
func (*IfStmt) stmt()            {}
func (*NumericForStmt) stmt()    {}
func (*GenericForStmt) stmt()    {}
func (*ReturnStmt) stmt()        {}
func (*BreakStmt) stmt()         {}

// Position returns the line.
func (e *NilExpr) Position() int { return e.Line }

// Position returns the line.
func (e *TrueExpr) Position() int { return e.Line }

// Position returns the line.
func (e *FalseExpr) Position() int { return e.Line }

// Position returns the line.
func (e *NumberExpr) Position() int { return e.Line }

// Position returns the line.
func (e *StringExpr) Position() int { return e.Line }

// Position returns the line.
func (e *VarargExpr) Position() int { return e.Line }

// Position returns the line.
func (e *NameExpr) Position() int { return e.Line }

// Position returns the line.
func (e *IndexExpr) Position() int { return e.Line }

// Position returns the line.
func (e *CallExpr) Position() int { return e.Line }

// Position returns the line.
func (e *MethodExpr) Position() int { return e.Line }

// Position returns the line.
func (e *ParenExpr) Position() int { return e.Line }

// Position returns the line.
func (e *UnaryExpr) Position() int { return e.Line }

// Position returns the line.
func (e *BinaryExpr) Position() int { return e.Line }

// Position returns the line.
func (e *TableExpr) Position() int { return e.Line }

// Position returns the line.
func (e *FunctionExpr) Position() int { return e.Line }
