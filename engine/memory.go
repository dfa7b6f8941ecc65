package engine

import (
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/store"
)

// memory is what is counted of used_memory beside the keyspace, which counts
// itself: docs/adr/0028.
type memory struct {
	buffers atomic.Int64 // of connections, as they last showed them
	mail    atomic.Int64 // of mailboxes
	peak    atomic.Int64 // the most that used was when it was looked at
}

// A MemoryUse is what the data and the buffers of an engine take, in bytes. What
// the allocator and the collector need beside it is not in there.
type MemoryUse struct {
	Keyspace  store.Memory
	Startup   int64 // before there was anything
	Clients   int64 // sessions, their buffers, and messages that wait for them
	Scripts   int64 // cached scripts
	Functions int64 // libraries
	Log       int64 // of the append-only log, that waits to be written
}

// Used is the sum: used_memory.
func (m MemoryUse) Used() int64 {
	return m.Startup + m.Keyspace.Used + m.Clients + m.Scripts + m.Functions + m.Log
}

// Overhead is what is neither a key's name nor a value: used_memory_overhead.
func (m MemoryUse) Overhead() int64 { return m.Used() - m.Keyspace.Used + m.Keyspace.Overhead }

// MemoryUse returns what is used at this instant. It needs no lock of the
// keyspace, and takes the same time however much there is.
func (e *Engine) MemoryUse() MemoryUse {
	m := MemoryUse{
		Keyspace:  e.store.Memory(),
		Startup:   startupBytes,
		Clients:   int64(e.Sessions())*sessionBytes + e.memory.buffers.Load() + e.memory.mail.Load(),
		Scripts:   e.scripts.Stats().Bytes,
		Functions: e.scripts.LibraryStats().Bytes,
		Log:       e.storage.Buffered(),
	}
	return m
}

var (
	startupBytes = store.StartupBytes() + int64(unsafe.Sizeof(Engine{}))
	sessionBytes = int64(unsafe.Sizeof(Session{}))
)

// notePeak remembers the most that was used.
func (e *Engine) notePeak(used int64) (peak int64) {
	for {
		peak = e.memory.peak.Load()
		if used <= peak || e.memory.peak.CompareAndSwap(peak, used) {
			return max(peak, used)
		}
	}
}

// Holds tells the engine what buffers the session's connection keeps, where that
// is less than it last published.
func (s *Session) Holds(bytes int) {
	s.edit(func(p *public) { s.countBuffers(p, bytes) })
}

// countBuffers makes the session's part of the buffers so many bytes. It requires
// mu.
func (s *Session) countBuffers(p *public, bytes int) {
	if bytes != p.buffers.Memory {
		s.engine.memory.buffers.Add(int64(bytes - p.buffers.Memory))
		p.buffers.Memory = bytes
	}
}
