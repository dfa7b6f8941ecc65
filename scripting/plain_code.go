package scripting

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
)

// A plainProgram is a script that runs without the interpreter. It is only
// read once it is made.
type plainProgram struct {
	proto     *lua.FunctionProto // whose lines and names errors show
	code      []plainInst
	constants []plainValue
	registers int
	calls     []plainCall
}

// A plainInst is one instruction. Operands are slots of a frame: constants
// first, then registers.
type plainInst struct {
	op      plainOp
	when    bool  // branches: the outcome that goes to `to`
	a, b, c int32 // a is the destination
	to, alt int32 // where branches go, instructions
	x       int32 // a call, a function, a count
	pc      int32 // the instruction of gopher-lua's that it does the work of
}

type plainOp uint8

const (
	plainNop plainOp = iota
	plainMove
	plainSetNil // a to a+x
	plainKey    // a = KEYS[x]
	plainArg    // a = ARGV[x]
	plainKeyAt  // a = KEYS[b]
	plainArgAt
	plainKeyCount
	plainArgCount
	plainIndex    // a = b[c]
	plainSetIndex // a[b] = c
	plainNewTable
	plainSetList // a gets the operands of call x, from place c on
	plainAdd
	plainSub
	plainMul
	plainDiv
	plainPow
	plainMod
	plainMinus
	plainNot
	plainLen
	plainConcat // a = the operands of call x
	plainForOperand
	plainForPrep
	plainForLoop
	plainIterate // what ipairs (x is 0) or pairs (1) of b begins
	plainEach    // one step of it
	plainEachKey
	plainEachArg
	plainJump
	plainBack // a jump that a loop ends with
	plainEqual
	plainLess
	plainLessEqual
	plainTest
	plainTestSet
	plainCommand // redis.call and redis.pcall
	plainFunctionCall
	plainToNumber
	plainToString
	plainMath
	plainNoGlobal // constant b is no global
	plainReturn
	plainReturnFirst // the first of the values from b up to the top
)

// A plainCall is a call as far as it is known when the script is loaded.
type plainCall struct {
	operands []int32
	open     int32 // ≥ 0: the values from this register up to the top come last
	results  int   // how many are wanted; -1 for all
	fn       *plainFunction

	// redis.call and redis.pcall:
	protected bool
	resolved  bool              // cmd is the command, nil where there is none
	cmd       *commands.Command // else the first arguments name it
	fixed     [][]byte          // the spelled operands that are constants; nil ones are not
}

// A plainFunction is a library function that compiled scripts can call. It
// appends its results to f.results, or fails.
type plainFunction struct {
	name   string
	op     plainOp // an instruction of its own, for arity arguments and one result
	arity  int8
	number int32 // plainMath, plainForOperand, plainIterate: which
	call   func(f *plainFrame, pc int, args []plainValue)
	open   bool               // it may give more results than one, or none
	ofKeys *[2]*plainFunction // what it is for KEYS and for ARGV
}
