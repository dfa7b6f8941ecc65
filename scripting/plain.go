package scripting

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// Plain scripts run without the interpreter.
//
// A limiter's script is small: locals, arithmetic, comparisons, a few
// redis.call, an answer. Boxed values, tables for KEYS and ARGV and calls by
// name cost it more than the commands do. Such a script is translated when it
// is loaded: plain_flow.go follows what each register can hold, plain_translate*.go
// resolve functions and commands with that knowledge, plain_emit.go drops what
// nobody reads, and plain_run.go runs the rest over values that are not boxed.
//
// What is translated is gopher-lua's bytecode, not the syntax tree. The order
// of evaluation, the line of an error and the variable that it names are then
// the interpreter's without being written again: they follow from instruction
// and register. docs/adr/0009 says more.
//
// A script with anything that has no translation is the interpreter's as a
// whole, which is decided when it is loaded.

// plainCode translates a script's main function; nil where it is not plain,
// and then why says what stands in the way.
func plainCode(e *Engine, proto *lua.FunctionProto) (program *plainProgram, why string) {
	p := &plainCompiler{engine: e, proto: proto}
	p.plainProgram.proto = proto
	// The slack is what loops write beyond the registers that are counted.
	p.registers = int(proto.NumUsedRegisters) + 6
	const mostCode = 4000
	if p.registers > mostRegisters || len(proto.Code) > mostCode {
		return nil, "it is too long"
	}
	defer func() {
		if r := recover(); r != nil {
			reason, ok := r.(leaves)
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
