package scripting

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// Plain scripts run without the interpreter.
//
// A limiter's script is small: locals, arithmetic, comparisons, a few
// redis.call. Boxed values, tables for KEYS and ARGV and calls by name cost it
// more than the commands do. Such a script is translated when it is loaded:
// plain_flow.go computes what each register can hold, plain_translate*.go
// resolve functions and commands, plain_emit.go removes dead instructions, and
// plain_run.go runs the result on values that are not boxed. A script with any
// part that has no translation is left to the interpreter.
//
// The input is gopher-lua's bytecode. The order of evaluation, the lines of
// errors and the variables that they name are therefore those of the
// interpreter. See docs/adr/0009.

// plainCode translates a script's main function. If the script is not plain, it
// returns nil and the reason.
func plainCode(e *Engine, proto *lua.FunctionProto) (program *plainProgram, reason string) {
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
			cause, ok := r.(notPlain)
			if !ok {
				panic(r)
			}
			program, reason = nil, string(cause)
		}
	}()
	p.computeFacts()
	p.emit()
	p.code, p.constants = slices.Clip(p.code), slices.Clip(p.constants)
	result := p.plainProgram
	return &result, ""
}
