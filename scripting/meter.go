package scripting

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/zlimit/zlimit/commands"
)

// A meter bounds one run of a script: how long it may go on after somebody
// asked it to end, and how much memory it may hold. Whoever runs a script
// (the interpreter, the compiled engine, a library function that loops) calls
// step for each small piece of work and grow before it allocates more than a
// little; a false answer means that the script has to end with the error that
// why names, without doing what it was about to do.
//
// Both cost a subtraction and a comparison. Every stepsPerBeat steps there is
// a beat, which looks whether somebody wants the script to end, tells watch
// that it runs, and compares what the process has allocated since the last
// measurement with the room that is left. Where that says that the script may
// have used its room up, and only there, measure counts what it holds. So a
// script of fewer than stepsPerBeat steps reads no clock, takes no lock and is
// known to nobody.
//
// The zero meter bounds nothing and need not be begun.
type meter struct {
	watch *watch
	kind  runKind
	// name and command are what FUNCTION STATS tells of a function.
	name    string
	command [][]byte
	follows bool // see commands.Ctx
	// measure returns about how many bytes the script can reach, or any number
	// above most. Where it is nil what was allocated counts as held.
	measure func(most int64) int64

	left     int   // steps to the next beat
	room     int64 // bytes that may be asked for before the next measurement
	granted  int64 // what room was after the last
	limit    int64 // lua-memory-limit; 0: none
	working  int64 // bytes that library functions hold where measure does not look
	alloted  int64 // what the process had allocated at the last measurement
	others   int64 // what was in the heap besides the script after the last collection; -1: there was none
	beats    int
	run      *running // nil until the first beat
	wrote    bool     // a write command was called
	why      string   // why step or grow answered false
	measured bool     // the run took more than garbage
	ended    runState // what has ended the run, stateClean: nobody
}

const (
	// stepsPerBeat is some tens of microseconds of the interpreter's time.
	stepsPerBeat = 1024
	// beatsPerLook is how many beats there are between two looks at what the
	// process has allocated, which cost about a microsecond each. What a step
	// may allocate without grow is some hundred bytes.
	beatsPerLook = 8
)

// begin makes the meter ready for a run. end must be called after it.
func (m *meter) begin(w *watch, kind runKind, limit int64) {
	measure := m.measure
	*m = meter{watch: w, kind: kind, measure: measure, left: stepsPerBeat, room: limit, granted: limit, limit: limit, others: -1}
}

// stopped reports whether somebody wants the script to end.
func (m *meter) stopped() bool { return m.run != nil && m.run.stopped() }

// end is the end of the run. What a large one leaves is garbage, and Go would
// keep it for as long as nobody else makes any.
func (m *meter) end() {
	if m.measured {
		go runtime.GC()
	}
	if m.run != nil {
		m.watch.leave(m.run)
		m.run = nil
	}
	m.command = nil
}

// step is to be called for each small piece of work. It reports whether the
// script may go on.
func (m *meter) step() bool {
	m.left--
	return m.left > 0 || m.beat()
}

// steps is n times step, for work that is done in one go.
func (m *meter) steps(n int) bool {
	m.left -= n
	return m.left > 0 || m.beat()
}

// grow is to be called before n bytes are allocated, where that may be many.
// It reports whether the script may have them.
func (m *meter) grow(n int) bool {
	m.room -= int64(n)
	return m.room >= 0 || m.collect(int64(n))
}

// hold is grow for what stays in the hands of a library function while it
// calls Lua, where measure does not see it. release gives it back.
func (m *meter) hold(n int) bool {
	m.working += int64(n)
	return m.grow(n)
}

func (m *meter) release(n int) { m.working -= int64(n) }

// dirty is to be called before a command that writes: from then on the script
// cannot be killed any more. It reports whether the script may go on.
func (m *meter) dirty() bool {
	if m.run != nil && !m.run.write() {
		m.halt()
		return false
	}
	m.wrote = true
	return true
}

// halt makes this and every later step answer false.
func (m *meter) halt() {
	m.left, m.ended = 0, m.run.now()
	if m.why = errKilled; m.kind == runLoad {
		m.why = errLoadTimeout
	}
}

// halted reports whether somebody has ended the script.
func (m *meter) halted() bool { return m.ended != stateClean }

// cut says what Ctx.Cut says of the run.
func (m *meter) cut() commands.Cut {
	switch m.ended {
	case stateEnded:
		return commands.CutClean
	case stateCut:
		return commands.CutHalf
	}
	return commands.CutNone
}

// beat is the end of a row of steps.
func (m *meter) beat() bool {
	if m.watch == nil {
		m.left = stepsPerBeat
		return true
	}
	if m.run == nil {
		m.run = m.watch.enter(m)
		m.alloted, _ = heap()
	}
	if m.watch.overdue(m.run, m.command); m.stopped() {
		m.halt()
		return false
	}
	m.left = stepsPerBeat
	if m.beats++; m.limit > 0 && m.beats%beatsPerLook == 0 {
		if now, _ := heap(); now-m.alloted >= m.granted {
			return m.collect(0)
		}
	}
	return true
}

// collect measures, and gives the script the room that is left: half of it
// until the next measurement, as what is measured is what lives, and garbage
// comes on top. Near the end that is a little more than there is, or a script
// that makes garbage there would be measured all the time. Where the heap could
// grow beyond the limit and twice garbage, the garbage goes first.
func (m *meter) collect(wanted int64) bool {
	if m.limit <= 0 {
		m.room = 1 << 62
		return true
	}
	held := wanted + m.working
	if m.measure == nil {
		held += m.limit - m.room
	} else if held <= m.limit {
		held += m.measure(m.limit - held)
	}
	if held > m.limit {
		m.room, m.granted = 0, 0 // measure again, once something was dropped
		m.why = errNoMemory
		return false
	}
	m.room = max((m.limit-held)/2, min(m.limit/8, garbage))
	m.granted = m.room
	now, inHeap := heap()
	m.alloted = now
	m.measured = m.measured || inHeap > garbage
	if inHeap+wanted+m.room-max(m.others, 0) > m.limit+garbage {
		debug.FreeOSMemory() // or a longer array would stand beside the holes of shorter ones
		m.alloted, inHeap = heap()
		m.others = max(inHeap-held, 0)
	}
	return true
}

// garbage is how much of it a script may leave in the heap while the process
// is small: Go's collector lets the heap double.
const garbage = 32 << 20

// heap returns how many bytes the process has allocated since it began, and how
// many it holds from the system, garbage and free ones included. Others' are among
// them: that causes a measurement or a collection which was not needed, and no
// error.
func heap() (allocated, now int64) {
	sample := [...]metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(sample[:])
	for i := range sample[1:] {
		now += int64(sample[1+i].Value.Uint64())
	}
	return int64(sample[0].Value.Uint64()), now
}
