package scripting

import (
	bin "encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// stringDump is string.dump. The result has the form of a precompiled chunk of
// Lua 5.1, with the instructions of this interpreter. As in Redis, nothing can
// load it: loadstring accepts sources only.
func (in *interp) stringDump(L *lua.LState) int {
	fn := in.checkFunction(L, 1)
	if fn.IsG {
		in.fail(L, "unable to dump given function")
	}
	d := chunkWriter{in: in, L: L, b: []byte(chunkHeader)}
	scratch := in.meter.scratchBytes
	d.function(fn.Proto)
	L.Push(text(d.b))
	in.meter.scratchBytes = scratch
	return 1
}

// chunkHeader stands for Lua 5.1, the official format, little endian, 4-byte
// int, 8-byte size, 4-byte instruction, and an 8-byte number that is not an
// integer.
const chunkHeader = "\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"

const (
	chunkNil    = 0
	chunkBool   = 1
	chunkNumber = 3
	chunkString = 4
)

// A chunkWriter writes functions as Lua 5.1's string.dump does.
type chunkWriter struct {
	in *interp
	L  *lua.LState
	b  []byte
}

func (d *chunkWriter) bytes(values ...byte) {
	d.b = append(d.in.growBuffer(d.L, d.b, len(values)), values...)
}

func (d *chunkWriter) integer(n int) {
	d.b = bin.LittleEndian.AppendUint32(d.in.growBuffer(d.L, d.b, 4), uint32(n))
}

// string writes a string with its size, which includes the NUL at the end.
func (d *chunkWriter) string(s string) {
	d.b = d.in.growBuffer(d.L, d.b, 8+len(s)+1)
	d.b = bin.LittleEndian.AppendUint64(d.b, uint64(len(s)+1))
	d.b = append(append(d.b, s...), 0)
}

func (d *chunkWriter) function(p *lua.FunctionProto) {
	d.string(p.SourceName)
	d.integer(lineOf(p.LineDefined))
	d.integer(lineOf(p.LastLineDefined))
	d.bytes(p.NumUpvalues, p.NumParameters, p.IsVarArg, p.NumUsedRegisters)
	d.integer(len(p.Code))
	for _, inst := range p.Code {
		d.integer(int(inst))
	}
	d.integer(len(p.Constants))
	for _, v := range p.Constants {
		d.constant(v)
	}
	d.integer(len(p.FunctionPrototypes))
	for _, inner := range p.FunctionPrototypes {
		d.function(inner)
	}
	d.integer(len(p.DbgSourcePositions))
	for _, at := range p.DbgSourcePositions {
		d.integer(lineOf(at))
	}
	d.integer(len(p.DbgLocals))
	for _, local := range p.DbgLocals {
		d.string(local.Name)
		d.integer(local.StartPc)
		d.integer(local.EndPc)
	}
	d.integer(len(p.DbgUpvalues))
	for _, name := range p.DbgUpvalues {
		d.string(name)
	}
}

func (d *chunkWriter) constant(v lua.LValue) {
	switch v := v.(type) {
	case lua.LBool:
		d.bytes(chunkBool, 0)
		if v {
			d.b[len(d.b)-1] = 1
		}
	case lua.LNumber:
		d.bytes(chunkNumber)
		d.b = bin.LittleEndian.AppendUint64(d.in.growBuffer(d.L, d.b, 8), math.Float64bits(float64(v)))
	case lua.LString:
		d.bytes(chunkString)
		d.string(string(v))
	default:
		d.bytes(chunkNil)
	}
}
