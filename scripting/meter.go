package scripting

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/zlimit/zlimit/commands"
)

// A meter limits the memory of one run of a script, and its time once somebody
// has asked it to stop. The code that runs a script (the interpreter, the
// compiled engine, a library function with a loop) calls step for each small
// unit of work and grow before each larger allocation. If they return false,
// the script must fail with errText instead.
//
// Both cost a subtraction and a comparison. Every stepsPerPoll steps the meter
// polls: it checks for a request to stop, reports the run to the tracker, and
// compares the bytes that the process has allocated since the last measurement
// with the room left. Only if the script may have used up its room does measure
// count what the script holds. A script of fewer than stepsPerPoll steps reads
// no clock and takes no lock.
//
// The zero meter has no limits and needs no begin.
type meter struct {
	tracker *runTracker
	kind    runKind
	// name and command are shown by FUNCTION STATS.
	name    string
	command [][]byte
	follows bool // as in commands.Ctx
	// measure estimates the bytes that the script can reach, up to limit. If
	// nil, all bytes allocated count.
	measure func(limit int64) int64

	stepsLeft    int   // steps until the next poll
	room         int64 // bytes that may be allocated before the next measurement
	granted      int64 // room after the last measurement
	limit        int64 // lua-memory-limit; 0 for none
	scratchBytes int64 // bytes in library functions, which measure does not see
	allocated    int64 // bytes allocated by the process as of the last measurement
	otherBytes   int64 // bytes in the heap besides the script after the last collection; -1 before it
	polls        int
	run          *activeRun // nil until the first poll
	wrote        bool       // a write command was called
	errText      string     // why step or grow returned false
	measured     bool       // the heap has grown beyond garbage
	stopState    runState   // the state that stopped the run; stateClean if none did
}

const (
	// stepsPerPoll takes the interpreter some tens of microseconds.
	stepsPerPoll = 1024
	// pollsPerHeapRead is the number of polls for each read of the process'
	// allocation counter, which takes about a microsecond. A step may allocate
	// some hundred bytes without grow.
	pollsPerHeapRead = 8
)

// begin prepares the meter for a run, which end must follow.
func (m *meter) begin(t *runTracker, kind runKind, limit int64) {
	measure := m.measure
	*m = meter{
		tracker: t, kind: kind, measure: measure, stepsLeft: stepsPerPoll,
		room: limit, granted: limit, limit: limit, otherBytes: -1,
	}
}

// stopRequested reports whether the script has been asked to stop.
func (m *meter) stopRequested() bool { return m.run != nil && m.run.mustStop() }

// end ends the run. It collects the garbage of a large run, which Go would keep
// until others allocate as much.
func (m *meter) end() {
	if m.measured {
		go runtime.GC()
	}
	if m.run != nil {
		m.tracker.remove(m.run)
		m.run = nil
	}
	m.command = nil
}

// step charges one unit of work. It reports whether the script may go on.
func (m *meter) step() bool {
	m.stepsLeft--
	return m.stepsLeft > 0 || m.poll()
}

// steps charges n units of work that are done at once.
func (m *meter) steps(n int) bool {
	m.stepsLeft -= n
	return m.stepsLeft > 0 || m.poll()
}

// grow charges an allocation of n bytes before it is made. It reports whether
// the script may go on.
func (m *meter) grow(n int) bool {
	m.room -= int64(n)
	return m.room >= 0 || m.collect(int64(n))
}

// growScratch is grow for memory that a library function holds while it calls
// Lua, where measure does not see it. releaseScratch gives it back.
func (m *meter) growScratch(n int) bool {
	m.scratchBytes += int64(n)
	return m.grow(n)
}

func (m *meter) releaseScratch(n int) { m.scratchBytes -= int64(n) }

// markWrite is called before a command that writes. From then on the script
// cannot be killed. It reports whether the script may go on.
func (m *meter) markWrite() bool {
	if m.run != nil && !m.run.markWrite() {
		m.stop()
		return false
	}
	m.wrote = true
	return true
}

func (m *meter) stop() {
	m.stepsLeft, m.stopState = 0, m.run.load()
	if m.errText = errKilled; m.kind == runLoad {
		m.errText = errLoadTimeout
	}
}

func (m *meter) stopped() bool { return m.stopState != stateClean }

// cut returns the value of Ctx.Cut for the run.
func (m *meter) cut() commands.Cut {
	switch m.stopState {
	case stateExiting:
		return commands.CutClean
	case stateExitingDirty:
		return commands.CutHalf
	}
	return commands.CutNone
}

// poll runs when the steps to the next poll are used up.
func (m *meter) poll() bool {
	if m.tracker == nil {
		m.stepsLeft = stepsPerPoll
		return true
	}
	if m.run == nil {
		m.run = m.tracker.add(m)
		m.allocated, _ = heap()
	}
	if m.tracker.checkThreshold(m.run, m.command); m.stopRequested() {
		m.stop()
		return false
	}
	m.stepsLeft = stepsPerPoll
	if m.polls++; m.limit > 0 && m.polls%pollsPerHeapRead == 0 {
		if now, _ := heap(); now-m.allocated >= m.granted {
			return m.collect(0)
		}
	}
	return true
}

// collect measures the script and gives it half of the remaining room until the
// next measurement, because garbage adds to what is measured. Close to the
// limit it gives a little more than there is, or a script that makes garbage
// would be measured all the time. It collects the garbage if the heap could
// grow beyond the limit and twice garbage.
func (m *meter) collect(wanted int64) bool {
	if m.limit <= 0 {
		m.room = 1 << 62
		return true
	}
	total := wanted + m.scratchBytes
	if m.measure == nil {
		total += m.limit - m.room
	} else if total <= m.limit {
		total += m.measure(m.limit - total)
	}
	if total > m.limit {
		m.room, m.granted = 0, 0 // measure again after something was dropped
		m.errText = errNoMemory
		return false
	}
	m.room = max((m.limit-total)/2, min(m.limit/8, garbage))
	m.granted = m.room
	now, inHeap := heap()
	m.allocated = now
	m.measured = m.measured || inHeap > garbage
	if inHeap+wanted+m.room-max(m.otherBytes, 0) > m.limit+garbage {
		debug.FreeOSMemory() // else a longer array would be placed beside the holes of shorter ones
		m.allocated, inHeap = heap()
		m.otherBytes = max(inHeap-total, 0)
	}
	return true
}

// garbage is how many bytes of it a script may leave while the process is
// small: Go's collector lets the heap double.
const garbage = 32 << 20

// heap returns the bytes that the process has allocated since it started and
// those that it holds from the system. Both include the memory of others, which
// may cause a needless measurement or collection, but no error.
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
