package scripting

import (
	"math"

	"github.com/zlimit/zlimit/scripting/lua"
)

const (
	// stateBytes is what an interpreter takes without a script.
	stateBytes = 80 << 10

	// remeasureBytes is how much a library's calls allocate, at least, before it is measured again.
	remeasureBytes = 256 << 10
)

// roomBeside returns how many bytes lua-memory-limit leaves a library beside the others: at least one, or 0
// if there is no limit.
func (e *Engine) roomBeside(name string, others []*library) int64 {
	limit := e.maxMemory.Load()
	if limit <= 0 {
		return 0
	}
	room := limit - heldBy(others)
	if i := libraryIndex(others, name); i >= 0 {
		room += others[i].held.Load()
	}
	return max(room, 1)
}

// heldBy returns how many bytes libraries hold at most.
func heldBy(libs []*library) (bytes int64) {
	for _, lib := range libs {
		bytes += lib.held.Load()
	}
	return bytes
}

// count adds what the last call has allocated to what the library holds at most, and measures anew if that is
// a quarter more: a call pays in proportion to what it allocates.
func (lib *library) count() {
	bytes, known := lib.in.meter.allocated()
	if !known || lib.held.Add(bytes)-lib.measured > max(remeasureBytes, lib.measured/4) {
		lib.measure()
	}
}

// measure measures what the library holds.
func (lib *library) measure() {
	lib.measured = stateBytes + int64(len(lib.source)) + lib.proto.Size() +
		lib.in.state.Reachable(math.MaxInt64, lib.roots()...)
	lib.held.Store(lib.measured)
}

// roots returns the values from which everything can be reached that the library keeps.
func (lib *library) roots() []lua.Value {
	roots := make([]lua.Value, 0, 2*len(lib.functions))
	for _, f := range lib.functions {
		roots = append(roots, f.callback, f.description)
	}
	return roots
}
