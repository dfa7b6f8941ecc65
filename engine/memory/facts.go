package memory

import (
	"fmt"

	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// A Use is how many bytes the data and the buffers of an engine take. It does not
// include what the allocator and the garbage collector need besides.
type Use struct {
	Keyspace  store.Memory
	Startup   int64 // of an empty engine
	Clients   int64 // sessions, their buffers and names, and messages that wait for them
	Scripts   int64 // cached scripts
	Functions int64 // libraries
	Log       int64 // of the append-only log, waiting to be written
	Backlog   int64 // of replication
	Replicas  int64 // of the stream, kept longer for replicas that are behind
	Doctor    int64 // what RL.DOCTOR remembers
	Top       int64 // the counts of RL.TOP
	Traces    int64 // the decisions that RL.TRACE keeps
}

// Used returns the sum, used_memory.
func (u Use) Used() int64 {
	return u.Startup + u.Keyspace.Used + u.Clients + u.Scripts + u.Functions + u.Log +
		u.Backlog + u.Replicas + u.Observers()
}

// Observers returns what RL.DOCTOR, RL.TOP and RL.TRACE take.
func (u Use) Observers() int64 { return u.Doctor + u.Top + u.Traces }

// Overhead returns what is neither a key's name nor a value, used_memory_overhead.
func (u Use) Overhead() int64 { return u.Used() - u.Keyspace.Used + u.Keyspace.Overhead }

// Facts are what INFO memory and MEMORY show, read once. All are bytes, unless a field's
// type or comment says otherwise.
type Facts struct {
	Use       Use
	Used      int64 // used_memory: Use.Used()
	Peak      int64 // the largest Used so far
	Resident  int64 // of the process
	Heap      process.Heap
	Scripts   scripting.Stats
	Libraries scripting.LibraryStats
	Max       int64  // maxmemory
	Policy    string // maxmemory-policy
	Reserve   int64  // by how much keys are evicted before Max
	Sessions  int64  // how many there are
}

// Overhead returns the part of Used that is neither a key's name nor a value.
func (f *Facts) Overhead() int64 { return f.Use.Overhead() }

// Dataset returns the rest of Used.
func (f *Facts) Dataset() int64 { return f.Used - f.Overhead() }

// Ratio returns a divided by b, or 0 if b is not positive.
func Ratio(a, b int64) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Human spells a number of bytes as INFO does. A negative one is 0.
func Human(bytes int64) string {
	switch n := max(bytes, 0); {
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%.2fK", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.2fM", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.2fG", float64(n)/(1<<30))
	}
}
