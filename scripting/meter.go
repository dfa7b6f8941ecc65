package scripting

import (
	"runtime/debug"
	"runtime/metrics"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting/lua"
)

// A meter limits the memory of one run of a script, and its time once somebody has asked it to stop. The
// Lua machine counts work and allocations down (lua.Meter), and calls poll and collect at zero.
//
// At a poll the meter checks for a request to stop and reports the run to the tracker. A script of fewer
// than stepsPerPoll steps reads no clock and takes no lock. Only if a script may have used up its room does
// collect count what it holds.
type meter struct {
	state   *lua.State
	tracker *runTracker
	// measure estimates the bytes that the script can reach, up to limit.
	measure func(limit int64) int64

	info      runInfo
	command   [][]byte // shown by FUNCTION STATS
	limit     int64    // lua-memory-limit; 0 for none
	heap      heapWatch
	run       *activeRun // nil until the first poll
	wrote     bool       // a write command was called
	errText   string     // why the script was stopped or refused memory
	collected bool       // collect was called, so that Room no longer tells what was allocated
	stopState runState   // the state that stopped the run; stateClean if none did
}

// stepsPerPoll takes the machine some tens of microseconds.
const stepsPerPoll = 1024

// unlimited is the room of a script without a limit.
const unlimited = 1 << 62

// begin prepares the meter for a run, which end must follow.
func (m *meter) begin(kind runKind, limit int64) {
	m.info, m.limit, m.heap = runInfo{kind: kind}, limit, heapWatch{otherBytes: -1}
	m.wrote, m.stopState, m.errText, m.collected = false, stateClean, "", false
	room := limit
	if limit <= 0 {
		room = unlimited
	}
	m.state.Steps, m.state.Room, m.state.Granted = stepsPerPoll, room, room
}

// allocated returns how many bytes the run has allocated, garbage included, if that is known.
func (m *meter) allocated() (bytes int64, known bool) {
	return m.state.Granted - m.state.Room, !m.collected
}

// end ends the run. It collects the garbage of a large run, which Go would keep
// until others allocate as much.
func (m *meter) end() {
	if m.heap.grown {
		go debug.FreeOSMemory() // the caller may hold locks
	}
	if m.run != nil {
		m.tracker.remove(m.run)
		m.run = nil
	}
	m.command = nil
}

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
	m.state.Steps, m.stopState = 0, m.run.load()
	if m.errText = errKilled; m.info.kind == runLoad {
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

// poll is lua.Meter.Poll.
func (m *meter) poll() (stop string) {
	if m.run == nil {
		m.run = m.tracker.add(m)
	}
	if m.tracker.checkThreshold(m.run, m.command); m.run.mustStop() {
		m.stop()
		return m.errText
	}
	m.state.Steps = stepsPerPoll
	return ""
}

// collect is lua.Meter.Measure. It measures the script and gives it half of the remaining room until the
// next measurement, because garbage adds to what is measured. Close to the limit it gives a little more
// than there is, or a script that makes garbage would be measured all the time. It collects the garbage if
// the heap could grow beyond the limit and twice garbage.
func (m *meter) collect(wanted int64) (failure string) {
	m.collected = true
	if m.limit <= 0 {
		m.state.Room = unlimited
		return ""
	}
	total := wanted + m.state.Scratch()
	if total <= m.limit {
		total += m.measure(m.limit - total)
	}
	if total > m.limit {
		m.state.Room = 0 // measure again after something was dropped
		return m.outOfMemory()
	}
	m.state.Room = max((m.limit-total)/2, min(m.limit/8, garbage))
	m.heap.collect(m.limit, total, wanted, wanted+m.state.Room)
	return ""
}

// A heapWatch collects the garbage of a run.
type heapWatch struct {
	otherBytes int64       // bytes in the heap besides the script after the last collection; -1 before it
	collection *collection // nil if the run has started none, or has seen it end
	grown      bool        // the heap has grown beyond garbage
}

// collect collects garbage if the heap could grow beyond the limit and twice garbage until the next call, by
// growth bytes. The script, which has total bytes, is about to allocate wanted of them.
func (w *heapWatch) collect(limit, total, wanted, growth int64) {
	inHeap := heap()
	w.grown = w.grown || inHeap > garbage
	if inHeap+growth-max(w.otherBytes, 0) <= limit+garbage {
		return
	}
	// Else a longer array would be placed beside the holes of shorter ones.
	if w.collection == nil {
		w.collection = startCollection(inHeap, max(garbage, limit/4))
	}
	if w.collection.await(inHeap + wanted) {
		w.collection = nil
		w.otherBytes = max(heap()-total, 0)
	}
}

// A collection runs in the background: the script holds its shards.
type collection struct {
	done chan struct{} // closed when the memory has been returned
	most int64         // bytes in the heap beyond which the script waits for it
}

// startCollection returns a collection during which the heap may grow by spare bytes.
func startCollection(inHeap, spare int64) *collection {
	c := &collection{done: make(chan struct{}), most: inHeap + spare}
	go func() {
		freeOSMemory()
		close(c.done)
	}()
	return c
}

// await reports whether c has ended. It blocks until then only if the heap has
// grown, or would, beyond what it may.
func (c *collection) await(inHeap int64) bool {
	if inHeap > c.most {
		<-c.done
		return true
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// freeOSMemory is replaced by a test.
var freeOSMemory = debug.FreeOSMemory

// outOfMemory returns the error of a script that needs more memory than it may have.
func (m *meter) outOfMemory() string {
	m.errText, m.heap.grown = errNoMemory, true
	return errNoMemory
}

// garbage is how many bytes of it a script may leave while the process is
// small: Go's collector lets the heap double.
const garbage = 32 << 20

// heap returns the bytes that the process holds from the system for its heap,
// the memory of others included, which may cause a needless collection.
func heap() (now int64) {
	sample := [...]metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(sample[:])
	for i := range sample {
		now += int64(sample[i].Value.Uint64())
	}
	return now
}
