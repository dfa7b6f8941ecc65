package lua

import (
	bin "encoding/binary"
	"math"
)

// stringDump is string.dump. The result has the form of a precompiled chunk of Lua 5.1. Nothing can load it
// (Load accepts sources only), so of this machine's instructions it has the first four bytes.
func stringDump(L *Thread) int {
	p := L.CheckFunction(1).proto
	if p == nil {
		L.Error("unable to dump given function")
	}
	d := chunkWriter{L: L, b: append(L.Buffer(), chunkHeader...)}
	d.function(p)
	return L.Return(L.FinishBuffer(d.b))
}

// chunkHeader stands for Lua 5.1, the official format, little endian, 4-byte int, 8-byte size, 4-byte
// instruction, and an 8-byte number that is not an integer.
const chunkHeader = "\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"

// A chunkWriter writes functions as Lua 5.1's string.dump does.
type chunkWriter struct {
	L *Thread
	b []byte
}

func (d *chunkWriter) bytes(values ...byte) {
	d.b = append(d.L.GrowBuffer(d.b, len(values)), values...)
}

func (d *chunkWriter) integers(values ...int) {
	for _, n := range values {
		d.b = bin.LittleEndian.AppendUint32(d.L.GrowBuffer(d.b, 4), uint32(n))
	}
}

// string writes a string with its size, which includes the NUL at the end.
func (d *chunkWriter) string(s string) {
	d.b = d.L.GrowBuffer(d.b, 8+len(s)+1)
	d.b = bin.LittleEndian.AppendUint64(d.b, uint64(len(s)+1))
	d.b = append(append(d.b, s...), 0)
}

func (d *chunkWriter) function(p *Proto) {
	d.string(p.Source)
	d.integers(p.LineDefined, p.lastLine())
	vararg := byte(0)
	if p.vararg {
		vararg = 2
	}
	d.bytes(byte(len(p.upvalueDesc)), byte(p.params), vararg, byte(p.registers))
	d.integers(len(p.code))
	for _, i := range p.code {
		d.bytes(byte(i.op), i.a, i.b, i.c)
	}
	d.integers(len(p.constants))
	for i := range p.constants {
		d.constant(&p.constants[i])
	}
	d.integers(len(p.protos))
	for _, inner := range p.protos {
		d.function(inner)
	}
	d.integers(len(p.lines))
	for _, line := range p.lines {
		d.integers(int(line))
	}
	d.integers(len(p.locals))
	for _, local := range p.locals {
		d.string(local.name)
		d.integers(local.start, local.end)
	}
	d.integers(len(p.upvalueDesc))
	for _, u := range p.upvalueDesc {
		d.string(u.name)
	}
}

// lastLine returns the line of the function's end, or 0 for a main chunk.
func (p *Proto) lastLine() int {
	if p.LineDefined == 0 {
		return 0
	}
	return int(p.lines[len(p.lines)-1])
}

func (d *chunkWriter) constant(v *Value) {
	d.bytes([...]byte{KindNil: 0, KindBool: 1, KindNumber: 3, KindString: 4}[v.kind])
	switch v.kind {
	case KindBool:
		d.bytes(byte(v.bits))
	case KindNumber:
		d.b = bin.LittleEndian.AppendUint64(d.L.GrowBuffer(d.b, 8), math.Float64bits(v.Num()))
	case KindString:
		d.string(v.Str())
	}
}
