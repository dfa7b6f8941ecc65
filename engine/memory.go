package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/store"
)

// memory counts used_memory beside the keyspace, which counts itself; see
// docs/adr/0028. All are bytes.
type memory struct {
	buffers atomic.Int64 // of connections and transactions, as last published, and unread replies
	mail    atomic.Int64 // of mailboxes
	peak    atomic.Int64 // the largest used_memory that was seen

	purging sync.Mutex // held by MEMORY PURGE
}

// A MemoryUse is how many bytes the data and the buffers of an engine take. It does
// not include what the allocator and the garbage collector need besides.
type MemoryUse struct {
	Keyspace  store.Memory
	Startup   int64 // of an empty engine
	Clients   int64 // sessions, their buffers, and messages that wait for them
	Scripts   int64 // cached scripts
	Functions int64 // libraries
	Log       int64 // of the append-only log, waiting to be written
	Doctor    int64 // what RL.DOCTOR remembers
}

// Used returns the sum, used_memory.
func (m MemoryUse) Used() int64 {
	return m.Startup + m.Keyspace.Used + m.Clients + m.Scripts + m.Functions + m.Log + m.Doctor
}

// Overhead returns what is neither a key's name nor a value, used_memory_overhead.
func (m MemoryUse) Overhead() int64 { return m.Used() - m.Keyspace.Used + m.Keyspace.Overhead }

// MemoryUse returns the present use. It locks no shard and takes constant time.
func (e *Engine) MemoryUse() MemoryUse {
	m := MemoryUse{
		Keyspace:  e.store.Memory(),
		Startup:   startupBytes,
		Clients:   int64(e.Sessions())*sessionBytes + e.memory.buffers.Load() + e.memory.mail.Load(),
		Scripts:   e.scripts.Stats().Bytes,
		Functions: e.scripts.LibraryStats().Bytes,
		Log:       e.storage.Buffered(),
		Doctor:    e.doctor.Bytes(),
	}
	return m
}

var (
	startupBytes = store.StartupBytes() + int64(unsafe.Sizeof(Engine{}))
	sessionBytes = int64(unsafe.Sizeof(Session{}))
)

// notePeak records a use and returns the largest so far.
func (e *Engine) notePeak(used int64) (peak int64) {
	for {
		peak = e.memory.peak.Load()
		if used <= peak || e.memory.peak.CompareAndSwap(peak, used) {
			return max(peak, used)
		}
	}
}

// SetBufferBytes records how many bytes of buffers the session's connection has, if that has
// become less than it last published.
func (s *Session) SetBufferBytes(bytes int) {
	s.edit(func(p *public) {
		b := p.buffers
		b.Memory = bytes
		s.countBuffers(p, b, p.multiBytes)
	})
}

// setBuffers is countBuffers for a caller that does not hold mu.
func (s *Session) setBuffers(b Buffers, multiBytes int) {
	s.edit(func(p *public) { s.countBuffers(p, b, multiBytes) })
}

// countBuffers sets what the session's connection and its transaction take. It
// requires mu.
func (s *Session) countBuffers(p *public, b Buffers, multiBytes int) {
	if change := b.Memory + multiBytes - p.buffers.Memory - p.multiBytes; change != 0 {
		s.engine.memory.buffers.Add(int64(change))
	}
	p.buffers, p.multiBytes = b, multiBytes
}
