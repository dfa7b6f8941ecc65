package engine

import (
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/scripting"
)

// memoryFacts are what INFO memory and MEMORY STATS show, read once. All are bytes, unless a field's type
// says otherwise.
type memoryFacts struct {
	use       MemoryUse
	used      int64 // used_memory
	overhead  int64 // of used
	dataset   int64 // the rest of used
	peak      int64 // the largest used so far
	resident  int64 // of the process
	heap      process.Heap
	scripts   scripting.Stats
	libraries scripting.LibraryStats
}

func (e *Engine) readMemory() (f memoryFacts) {
	f.use, f.heap = e.MemoryUse(), process.ReadHeap()
	f.scripts, f.libraries = e.scripts.Stats(), e.scripts.LibraryStats()
	f.used, f.overhead = f.use.Used(), f.use.Overhead()
	f.dataset = f.used - f.overhead
	f.peak = e.notePeak(f.used)
	if f.resident = process.ResidentBytes(); f.resident == 0 {
		f.resident = f.heap.Mapped
	}
	return f
}
