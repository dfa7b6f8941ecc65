package lua

// An instruction has a register in a, registers or small numbers in b and c,
// and in x a constant, a jump relative to the next instruction, or a count.
type instruction struct {
	op      opcode
	a, b, c uint8
	x       int32
}

type opcode uint8

// R is a register, K a constant, U an upvalue, G the function's globals.
const (
	opMove      opcode = iota // R[a] = R[b]
	opLoadK                   // R[a] = K[x]
	opLoadBool                // R[a] = b ≠ 0; if c ≠ 0, skip the next
	opLoadNil                 // R[a] to R[b] = nil
	opGetUpval                // R[a] = U[b]
	opSetUpval                // U[b] = R[a]
	opGetGlobal               // R[a] = G[K[x]]
	opSetGlobal               // G[K[x]] = R[a]
	opGetTable                // R[a] = R[b][R[c]]
	opGetField                // R[a] = R[b][K[x]]
	opGetInt                  // R[a] = R[b][x]
	opSetTable                // R[a][R[b]] = R[c]
	opSetInt                  // R[a][x] = R[c]
	opSetField                // R[a][K[x]] = R[c]
	opNewTable                // R[a] = {}, with room for x elements and b*256+c fields
	opSelf                    // R[a+1] = R[b]; R[a] = R[b][K[x]]
	opAdd                     // R[a] = R[b] + R[c]
	opSub
	opMul
	opDiv
	opMod
	opPow
	opAddK // R[a] = R[b] + K[x]
	opSubK
	opMulK
	opDivK
	opModK
	opPowK
	opKAdd // R[a] = K[x] + R[c]
	opKSub
	opKMul
	opKDiv
	opKMod
	opKPow
	opUnm        // R[a] = -R[b]
	opNot        // R[a] = not R[b]
	opLen        // R[a] = #R[b]
	opConcat     // R[a] = R[b] .. … .. R[c]
	opJump       // go to x
	opJumpBack   // the same, for a loop
	opClose      // detach the closures' variables in R[a] and above
	opEqual      // if (R[b] == R[c]) ≠ (a ≠ 0), skip the next, which is a jump
	opEqualK     // the same with K[x] for R[c]
	opLess       // <
	opLessK      // R[b] < K[x]
	opKLess      // K[x] < R[c]
	opLessEqual  // <=
	opLessEqualK // R[b] <= K[x]
	opKLessEqual // K[x] <= R[c]
	opTest       // if R[b] is true ≠ (c ≠ 0), skip the next
	opTestSet    // the same, but else R[a] = R[b]
	opCall       // R[a], … = R[a](R[a+1], …): b-1 arguments, c-1 results; 0 for those up to the top
	opTailCall   // return R[a](R[a+1], …)
	opReturn     // return R[a], …: b-1 values
	opForPrep    // prepare the loop at R[a] and go to x
	opForLoop    // the next turn, at x
	opTForLoop   // R[a+3], … = R[a](R[a+1], R[a+2]): c results; if none, skip the next
	opSetList    // R[a][x+1], … = R[a+1], …: b-1 values; 0 for those up to the top
	opClosure    // R[a] = closure of the xth inner function
	opVararg     // R[a], … = ...: b-1 values
	opBound      // R[a] = the value bound to x; see Bindings. b: it is a field
	opBoundInt   // R[a] = the value bound to x, a table, at b*256+c
	opDirect     // R[a] = the function bound to x (R[b]); c: it is a field
	opCallSite   // R[a], … = call of the xth site: c-1 results; 0 for those up to the top
	opcodes
)

// opShape tells which registers an instruction writes, for the names in errors.
type opShape uint8

const (
	writesNone opShape = iota
	writesB            // it tests R[b], which counts as writing in C Lua
	writesA
	writesAToB
	writesAAndNext
	writesFromA // and all above
	writesFromA2
)

var opShapes = func() (shapes [opcodes]opShape) {
	for op := range shapes {
		shapes[op] = writesA
	}
	for _, op := range []opcode{
		opSetUpval, opSetGlobal, opSetTable, opSetField, opSetInt, opJump, opJumpBack, opClose,
		opEqual, opEqualK, opLess, opLessK,
		opKLess, opLessEqual, opLessEqualK, opKLessEqual, opReturn, opSetList,
	} {
		shapes[op] = writesNone
	}
	shapes[opTest] = writesB
	shapes[opLoadNil] = writesAToB
	shapes[opSelf] = writesAAndNext
	for _, op := range []opcode{opCall, opTailCall, opVararg, opDirect, opCallSite} {
		shapes[op] = writesFromA
	}
	shapes[opTForLoop] = writesFromA2
	return shapes
}()
