package scripting

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
)

// A plainProgram is a script that runs without the interpreter. It is
// read-only.
type plainProgram struct {
	proto     *lua.FunctionProto // for lines and names in errors
	code      []plainInst
	constants []plainValue
	registers int
	calls     []plainCall
}

// A plainInst is an instruction. Its operands are slots of a frame: constants
// first, then registers.
type plainInst struct {
	op      plainOp
	when    bool  // the outcome on which a branch goes to `to`
	a, b, c int32 // a is the destination
	to, alt int32 // branch targets
	x       int32 // a call, a function, a count
	pc      int32 // the gopher-lua instruction that it implements
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
	plainSetList // a gets the operands of call x, from index c on
	plainAdd
	plainSub
	plainMul
	plainDiv
	plainPow
	plainMod
	plainMinus
	plainNot
	plainLen
	plainConcat // a = the concatenated operands of call x
	plainForOperand
	plainForPrep
	plainForLoop
	plainIterate // starts ipairs (x is 0) or pairs (1) of b
	plainEach    // one step of it
	plainEachKey
	plainEachArg
	plainJump
	plainBack // the backward jump of a loop
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
	plainNoGlobal // constant b names a global that does not exist
	plainReturn
	plainReturnFirst // the first of the values from b to the top
)

// A plainCall is a call, with what is known of it at load time.
type plainCall struct {
	operands []int32
	open     int32 // if ≥ 0, the values from this register to the top come last
	results  int   // number of results wanted; -1 for all
	fn       *plainFunction

	// redis.call and redis.pcall:
	protected bool
	resolved  bool              // cmd is the command, or nil if it does not exist
	cmd       *commands.Command // else named by the first arguments
	fixed     [][]byte          // the operands that are constants, formatted; nil for others
}

// A plainFunction is a library function that compiled scripts can call. It
// appends its results to f.results, or fails.
type plainFunction struct {
	name            string
	op              plainOp // instruction for arity arguments and one result
	arity           int8
	number          int32 // operand of plainMath, plainForOperand or plainIterate
	call            func(f *plainFrame, pc int, args []plainValue)
	variableResults bool               // the number of results varies
	ofKeys          *[2]*plainFunction // variants for KEYS and for ARGV
}
