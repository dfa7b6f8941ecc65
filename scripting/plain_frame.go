package scripting

import (
	"runtime/debug"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A plainFrame is what one run of a plain script needs. Frames are pooled and
// carry nothing over but space, and the constants of the program that ran last.
type plainFrame struct {
	caller
	meter   meter
	program *plainProgram
	script  *script
	values  []plainValue // constants, then registers
	top     int32        // where the values of an open list end
	keys    [][]byte
	args    [][]byte

	call    [][]byte     // the arguments of a command
	spelt   []byte       // those that are numbers
	scratch []plainValue // the arguments of a function
	results []plainValue
	text    []byte
	joined  []byte        // where concat builds
	tables  []*plainTable // that this run may have, and has had
	inUse   int

	walk    uint32 // how often was measured
	pc      int32  // of the last instruction that may build something
	failed  bool
	problem string // with its code word
	counted bool   // it is a command's, and counted
	line    int
}

// runPlain runs a plain script to its end and returns its reply, which lives
// in c's scratch space.
func (e *Engine) runPlain(c *commands.Ctx, s *script, readOnly bool, keys, args [][]byte) (reply resp.Value) {
	f, _ := e.frames.Get().(*plainFrame)
	if f == nil {
		f = &plainFrame{caller: caller{engine: e}, text: make([]byte, 0, textSpace)}
		f.meter.measure = f.held
		f.caller.meter = &f.meter
	}
	defer func() {
		if r := recover(); r != nil { // and the frame is not used again
			f.meter.end()
			reply = resp.Error("ERR " + interpreterErrors)
			e.logf("script %s: panic: %v\n%s", s.sha, r, debug.Stack())
		}
	}()
	f.begin(c, readOnly)
	f.script, f.keys, f.args = s, keys, args
	f.meter.begin(e.watch, runScript, e.memoryLimit())
	f.meter.follows = c.Follows
	f.load(s.plain)
	result := f.run(s.plain)
	if f.failed {
		reply = failure{true, s.plain.proto.SourceName, f.line}.reply(f.problem, s)
		if !f.fence.missed {
			f.countError(f.counted, reply.Str())
		}
	} else {
		reply = f.toReply(c, &result, 0)
		if f.meter.why != "" { // the reply had no room
			reply = failure{}.reply("ERR "+f.meter.why, s)
			f.countError(false, reply.Str())
		}
	}
	reply = e.settle(c, s, &f.fence, reply)
	f.meter.end()
	f.finish()
	e.frames.Put(f)
	return reply
}

// load makes room for a program and puts its constants in place.
func (f *plainFrame) load(p *plainProgram) {
	if f.program == p {
		return
	}
	n := len(p.constants) + p.registers
	if cap(f.values) < n {
		f.values = make([]plainValue, n)
	}
	f.values = f.values[:n]
	copy(f.values, p.constants)
	clear(f.values[len(p.constants):])
	f.program = p
}

// finish leaves nothing of the script behind.
func (f *plainFrame) finish() {
	f.end()
	f.script, f.keys, f.args = nil, nil, nil
	f.failed, f.problem, f.counted = false, "", false
	for _, t := range f.tables[:f.inUse] {
		t.reset()
	}
	f.inUse = 0
	f.text = f.text[:0]
	// Values beyond the program's are an unpacked list's.
	f.values = f.values[:len(f.program.constants)+f.program.registers]
	clear(f.values[len(f.program.constants):])
	clear(f.call)
	clear(f.scratch)
	clear(f.results)
	f.call, f.scratch, f.results = f.call[:0], f.scratch[:0], f.results[:0]
	const keep = 4 << 10
	if cap(f.values) > keep || cap(f.call) > keep || cap(f.scratch) > keep || cap(f.results) > keep {
		f.program, f.values, f.call, f.scratch, f.results = nil, nil, nil, nil, nil
	}
	if cap(f.spelt) > keep {
		f.spelt = nil
	}
}

// Tables that a frame keeps for its next runs.
const (
	keptTables  = 16
	keptTableAt = 64 // values
)

func (f *plainFrame) newTable() *plainTable {
	f.built(plainTableSize)
	if f.inUse < len(f.tables) {
		f.inUse++
		return f.tables[f.inUse-1]
	}
	t := &plainTable{}
	if len(f.tables) < keptTables {
		f.tables = append(f.tables, t)
		f.inUse++
	}
	return t
}

// Sizes that count as built.
const (
	plainTableSize    = 96
	plainValueSize    = 24
	plainBytesPerStep = 128                   // are copied in the time of a step
	plainPairSize     = 2*plainValueSize + 64 // with its share of the index
)

// held returns about how many bytes the run can reach, or any number above
// most.
func (f *plainFrame) held(most int64) (size int64) {
	f.walk++
	var texts addresses
	var to []*plainTable
	visit := func(v *plainValue) {
		switch v.kind {
		case lua.LTString:
			if v.bits <= countedEach || texts.add(v.ref) {
				size += int64(v.bits+15) &^ 15
			}
		case lua.LTTable:
			if t := v.table(); t.walk != f.walk {
				t.walk = f.walk
				to = append(to, t)
			}
		}
	}
	for _, list := range [][]plainValue{f.values, f.scratch, f.results} {
		size += int64(cap(list)) * plainValueSize
		for i := range list {
			visit(&list[i])
		}
	}
	for len(to) > 0 && size <= most {
		t := to[len(to)-1]
		to = to[:len(to)-1]
		size += plainTableSize + int64(cap(t.array))*plainValueSize + int64(cap(t.pairs))*plainPairSize
		for i := range t.array {
			visit(&t.array[i])
		}
		for i := range t.pairs {
			visit(&t.pairs[i].key)
			visit(&t.pairs[i].value)
		}
	}
	return size
}

// extend is to be called before the nth element is put into a table's array: the
// old array and a longer one must fit into the memory together.
func (f *plainFrame) extend(t *plainTable, n int) {
	switch {
	case n <= len(t.array):
		return
	case n <= keptTableAt:
		f.built((n - len(t.array)) * plainValueSize)
		return
	case n <= cap(t.array):
		return // asked for when it grew
	}
	size := plainCapacity(cap(t.array), n)
	if f.built(size * plainValueSize); !f.failed {
		t.growArray(size)
	}
}

// extendPairs is extend for a key that may be new, outside of the array.
func (f *plainFrame) extendPairs(t *plainTable) {
	switch n := len(t.pairs); {
	case n < keptTableAt:
		f.built(plainPairSize)
		return
	case n < cap(t.pairs):
		return
	}
	size := plainCapacity(cap(t.pairs), len(t.pairs)+1)
	if f.built(size * plainPairSize); !f.failed {
		t.growPairs(size)
	}
}

// step is called once in each round of a loop. It reports false where the
// script must end.
func (f *plainFrame) step(pc int32) bool {
	if f.meter.step() {
		return true
	}
	f.fail(pc, "ERR "+f.meter.why)
	return false
}

// built is called before a run takes n bytes for strings and tables. Where it
// may not have them the run has failed, at the instruction f.pc.
func (f *plainFrame) built(n int) {
	if !f.meter.grow(n) || n > plainBytesPerStep && !f.meter.steps(n/plainBytesPerStep) {
		f.fail(f.pc, "ERR "+f.meter.why)
	}
}

// raise ends the run with an error of the instruction at pc.
func (f *plainFrame) raise(pc int32, text string) {
	f.fail(pc, "ERR "+f.where(pc)+text)
}

// where is the position that begins an error's text.
func (f *plainFrame) where(pc int32) string {
	return shortSource(f.program.proto.SourceName) + ":" + strconv.Itoa(f.lineAt(pc)) + ": "
}

func (f *plainFrame) lineAt(pc int32) int { return lineOf(f.program.proto.DbgSourcePositions[pc]) }

// fail ends the run with an error that is complete: its code word comes first.
func (f *plainFrame) fail(pc int32, text string) {
	f.failed, f.problem, f.line = true, text, f.lineAt(pc)
}

// typeError says that something cannot be done to a value which an instruction
// found in one of its operands.
func (f *plainFrame) typeError(pc int32, reg int, v *plainValue, what string) {
	f.raise(pc, "attempt to "+what+" "+describe(f.program.proto, int(pc), reg, v.typeName()))
}

// arithmeticError blames the first operand that is no number.
func (f *plainFrame) arithmeticError(i *plainInst, v, w *plainValue) {
	inst := f.program.proto.Code[i.pc]
	if _, ok := v.asNumber(); !ok {
		f.typeError(i.pc, opB(inst), v, "perform arithmetic on")
		return
	}
	f.typeError(i.pc, opC(inst), w, "perform arithmetic on")
}

// argumentError blames the nth argument of a function that an instruction
// calls.
func (f *plainFrame) argumentError(pc, n int, problem string) {
	f.raise(int32(pc), badArgument(f.program.proto, pc, n, problem))
}

// errorObject is the table that stands for an error reply.
func (f *plainFrame) errorObject(text string) plainValue {
	t := f.newTable()
	t.set(plainString("err"), f.copied(codedError(text)))
	return plainTableValue(t)
}
