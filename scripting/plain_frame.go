package scripting

import (
	"runtime/debug"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A plainFrame is the state of one run of a plain script. Frames are pooled;
// between runs they keep capacity, and the constants of the last program.
type plainFrame struct {
	caller
	meter   meter
	program *plainProgram
	script  *script
	values  []plainValue // constants, then registers
	top     int32        // end of the values of an open list
	keys    [][]byte
	args    [][]byte

	commandArgs [][]byte     // arguments of a command
	argText     []byte       // text of its numeric arguments
	funcArgs    []plainValue // arguments of a function
	results     []plainValue
	arena       []byte
	concatBuf   []byte        // where concat builds
	tables      []*plainTable // pooled; this run uses the first tablesInUse
	tablesInUse int

	measurements uint32 // number of measurements so far
	pc           int32  // of the last instruction that may allocate
	failed       bool
	errText      string // with its code word
	errCounted   bool   // a command failed and has counted the error
	line         int
}

// runPlain runs a plain script and returns its reply, which is in c's scratch
// space.
func (e *Engine) runPlain(c *commands.Ctx, s *script, readOnly bool, keys, args [][]byte) (reply resp.Value) {
	f, _ := e.frames.Get().(*plainFrame)
	if f == nil {
		f = &plainFrame{caller: caller{engine: e}, arena: make([]byte, 0, arenaSize)}
		f.meter.measure = f.reachableBytes
		f.caller.meter = &f.meter
	}
	defer func() {
		if r := recover(); r != nil { // the frame is not used again
			f.meter.end()
			reply = resp.Error("ERR " + interpreterErrors)
			f.countError(false, reply.Str())
			f.end()
			e.logf("script %s: panic: %v\n%s", s.sha, r, debug.Stack())
		}
	}()
	f.begin(c, readOnly)
	f.script, f.keys, f.args = s, keys, args
	f.meter.begin(e.runs, runScript, e.memoryLimit())
	f.meter.follows = c.Follows
	f.load(s.plain)
	result := f.run(s.plain)
	if f.failed {
		reply = errorPosition{true, s.plain.proto.SourceName, f.line}.reply(f.errText, s)
		if !f.locks.violated {
			f.countError(f.errCounted, reply.Str())
		}
	} else {
		reply = f.toReply(c, &result, 0)
		if f.meter.errText != "" { // no memory for the reply
			reply = errorPosition{}.reply("ERR "+f.meter.errText, s)
			f.countError(false, reply.Str())
		}
	}
	reply = e.handleViolation(c, s, &f.locks, reply)
	f.meter.end()
	f.finish()
	e.frames.Put(f)
	return reply
}

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

// finish removes every trace of the script.
func (f *plainFrame) finish() {
	f.end()
	f.script, f.keys, f.args = nil, nil, nil
	f.failed, f.errText, f.errCounted = false, "", false
	for _, t := range f.tables[:f.tablesInUse] {
		t.reset()
	}
	f.tablesInUse = 0
	f.arena = f.arena[:0]
	// Values beyond the program's are those of an unpacked list.
	f.values = f.values[:len(f.program.constants)+f.program.registers]
	clear(f.values[len(f.program.constants):])
	clear(f.commandArgs)
	clear(f.funcArgs)
	clear(f.results)
	f.commandArgs, f.funcArgs, f.results = f.commandArgs[:0], f.funcArgs[:0], f.results[:0]
	const keep = 4 << 10
	if cap(f.values) > keep || cap(f.commandArgs) > keep || cap(f.funcArgs) > keep || cap(f.results) > keep {
		f.program, f.values, f.commandArgs, f.funcArgs, f.results = nil, nil, nil, nil, nil
	}
	if cap(f.argText) > keep {
		f.argText = nil
	}
}

// Limits of the tables that a frame keeps for its next runs.
const (
	maxPooledTables   = 16
	maxPooledTableLen = 64 // array elements and entries
)

func (f *plainFrame) newTable() *plainTable {
	f.grow(plainTableSize)
	if f.tablesInUse < len(f.tables) {
		f.tablesInUse++
		return f.tables[f.tablesInUse-1]
	}
	t := &plainTable{}
	if len(f.tables) < maxPooledTables {
		f.tables = append(f.tables, t)
		f.tablesInUse++
	}
	return t
}

// Sizes charged to the meter.
const (
	plainTableSize    = 96
	plainValueSize    = 24
	plainBytesPerStep = 128                   // copied in the time of a step
	plainEntrySize    = 2*plainValueSize + 64 // with its share of the index
)

// reachableBytes estimates the bytes that the run can reach, or stops above
// limit.
func (f *plainFrame) reachableBytes(limit int64) (size int64) {
	f.measurements++
	var seen addressSet
	var pending []*plainTable
	visit := func(v *plainValue) {
		switch v.kind {
		case lua.LTString:
			if v.bits <= maxUnsharedString || seen.add(v.ref) {
				size += int64(v.bits+15) &^ 15
			}
		case lua.LTTable:
			if t := v.table(); t.measurement != f.measurements {
				t.measurement = f.measurements
				pending = append(pending, t)
			}
		}
	}
	for _, list := range [][]plainValue{f.values, f.funcArgs, f.results} {
		size += int64(cap(list)) * plainValueSize
		for i := range list {
			visit(&list[i])
		}
	}
	for len(pending) > 0 && size <= limit {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		size += plainTableSize + int64(cap(t.array))*plainValueSize + int64(cap(t.entries))*plainEntrySize
		for i := range t.array {
			visit(&t.array[i])
		}
		for i := range t.entries {
			visit(&t.entries[i].key)
			visit(&t.entries[i].value)
		}
	}
	return size
}

// reserveArray must be called before the nth element is stored in a table's
// array. The old and the new array must fit into the memory together.
func (f *plainFrame) reserveArray(t *plainTable, n int) {
	switch {
	case n <= len(t.array):
		return
	case n <= maxPooledTableLen:
		f.grow((n - len(t.array)) * plainValueSize)
		return
	case n <= cap(t.array):
		return // charged when the array grew
	}
	size := plainCapacity(cap(t.array), n)
	if f.grow(size * plainValueSize); !f.failed {
		t.growArray(size)
	}
}

// reserveEntry is reserveArray for a key outside of the array that may be new.
func (f *plainFrame) reserveEntry(t *plainTable) {
	switch n := len(t.entries); {
	case n < maxPooledTableLen:
		f.grow(plainEntrySize)
		return
	case n < cap(t.entries):
		return
	}
	size := plainCapacity(cap(t.entries), len(t.entries)+1)
	if f.grow(size * plainEntrySize); !f.failed {
		t.growEntries(size)
	}
}

// step is called once per iteration of a loop. It returns false if the script
// must end.
func (f *plainFrame) step(pc int32) bool {
	if f.meter.step() {
		return true
	}
	f.fail(pc, "ERR "+f.meter.errText)
	return false
}

// grow charges n bytes before their allocation. If they are refused, the run
// has failed at the instruction f.pc.
func (f *plainFrame) grow(n int) {
	if !f.meter.grow(n) || n > plainBytesPerStep && !f.meter.steps(n/plainBytesPerStep) {
		f.fail(f.pc, "ERR "+f.meter.errText)
	}
}

func (f *plainFrame) raise(pc int32, text string) {
	f.fail(pc, "ERR "+f.where(pc)+text)
}

func (f *plainFrame) where(pc int32) string {
	return shortSource(f.program.proto.SourceName) + ":" + strconv.Itoa(f.lineAt(pc)) + ": "
}

func (f *plainFrame) lineAt(pc int32) int { return lineOf(f.program.proto.DbgSourcePositions[pc]) }

// fail ends the run with a complete error, including its code word.
func (f *plainFrame) fail(pc int32, text string) {
	f.failed, f.errText, f.line = true, text, f.lineAt(pc)
}

func (f *plainFrame) typeError(pc int32, reg int, v *plainValue, what string) {
	f.raise(pc, "attempt to "+what+" "+describe(f.program.proto, int(pc), reg, v.typeName()))
}

func (f *plainFrame) arithmeticError(i *plainInst, v, w *plainValue) {
	inst := f.program.proto.Code[i.pc]
	if _, ok := v.asNumber(); !ok {
		f.typeError(i.pc, opB(inst), v, "perform arithmetic on")
		return
	}
	f.typeError(i.pc, opC(inst), w, "perform arithmetic on")
}

// argumentError raises the error about the nth argument of the function called
// at pc.
func (f *plainFrame) argumentError(pc, n int, problem string) {
	f.raise(int32(pc), badArgument(f.program.proto, pc, n, problem))
}

func (f *plainFrame) errorObject(text string) plainValue {
	t := f.newTable()
	t.set(plainString("err"), f.copyString(codedError(text)))
	return plainTableValue(t)
}
