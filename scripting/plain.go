package scripting

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// Plain scripts run without the interpreter.
//
// A limiter's script is small: locals, arithmetic, comparisons, a few
// redis.call, a result. Boxed values, tables for KEYS and ARGV and calls by
// name cost it more than the commands do. Such a script is translated when it
// is loaded: plain_flow.go computes what each register can hold,
// plain_translate*.go resolve functions and commands from that, plain_emit.go
// removes dead instructions, and plain_run.go runs the result on values that
// are not boxed.
//
// The input is gopher-lua's bytecode, not the syntax tree. The order of
// evaluation, the lines of errors and the variables that they name are
// therefore the same as in the interpreter: they follow from instruction and
// register. See docs/adr/0009.
//
// If any part of a script has no translation, the interpreter runs the whole
// script. This is decided at load time.

// plainCode translates a script's main function. If the script is not plain, it
// returns nil and the reason.
func plainCode(e *Engine, proto *lua.FunctionProto) (program *plainProgram, why string) {
	p := &plainCompiler{engine: e, proto: proto}
	p.plainProgram.proto = proto
	// Loops write some registers beyond those that are counted.
	p.registers = int(proto.NumUsedRegisters) + 6
	const maxCode = 4000
	if p.registers > maxPlainRegisters || len(proto.Code) > maxCode {
		return nil, "it is too long"
	}
	defer func() {
		if r := recover(); r != nil {
			reason, ok := r.(notPlain)
			if !ok {
				panic(r)
			}
			program, why = nil, string(reason)
		}
	}()
	p.flow()
	p.emit()
	p.code, p.constants = slices.Clip(p.code), slices.Clip(p.constants)
	made := p.plainProgram
	return &made, ""
}
