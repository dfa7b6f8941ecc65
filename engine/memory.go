package engine

import (
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/engine/room"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// MemoryUse returns the present use. It locks no shard and takes constant time.
func (e *Engine) MemoryUse() memory.Use {
	backlog, behind := e.repl.stream.Memory()
	return memory.Use{
		Backlog: backlog, Replicas: behind,
		Keyspace:  e.store.Memory(),
		Startup:   startupBytes,
		Clients:   e.sessions.bytes(),
		Scripts:   e.scripts.Stats().Bytes,
		Functions: e.scripts.LibraryStats().Bytes,
		Log:       e.storage.Buffered(),
		Doctor:    e.observers.doctor.Bytes(),
		Top:       e.stats.Top.Bytes(),
		Traces:    e.observers.traces.Bytes(),
	}
}

var (
	startupBytes = store.StartupBytes() + int64(unsafe.Sizeof(Engine{}))
	sessionBytes = int64(unsafe.Sizeof(Session{}))
)

// readMemory returns the facts of INFO memory and MEMORY.
func (e *Engine) readMemory(use memory.Use) *memory.Facts {
	f := &memory.Facts{
		Use: use, Heap: process.ReadHeap(), Resident: process.ResidentBytes(),
		Scripts: e.scripts.Stats(), Libraries: e.scripts.LibraryStats(),
		Max: e.room.MaxMemory(), Policy: e.cfg.String("maxmemory-policy"), Reserve: e.room.Reserve.Load(),
		Sessions: int64(e.Sessions()),
	}
	f.Used = f.Use.Used()
	f.Peak = e.stats.NoteUse(f.Used)
	if f.Resident == 0 {
		f.Resident = f.Heap.Mapped
	}
	return f
}

// MEMORY DOCTOR
func (e *Engine) memoryDoctor(*commands.Ctx) resp.Value {
	return resp.Verbatim(memory.Diagnose(e.readMemory(e.MemoryUse())))
}

// MEMORY STATS
func (e *Engine) memoryStats(c *commands.Ctx) resp.Value {
	caller(c).Count()
	keys, busy := e.keyspaceFigures(c)
	if busy != nil {
		return resp.Error(busy.Reply)
	}
	return memory.Stats(e.readMemory(e.MemoryUse()), &keys)
}

// roomOptions returns what package room needs of an engine that is complete but for it.
func (e *Engine) roomOptions() room.Options {
	return room.Options{
		Config: e.cfg.View, Clock: e.clock, Store: e.store, Pause: e.options.Pause, After: e.options.After,
		Buffers: &e.sessions.buffers, Mail: &e.sessions.mail,
		Others: func() int64 {
			m := e.MemoryUse()
			return m.Startup + m.Scripts + m.Functions + m.Observers() + m.Backlog +
				int64(e.Sessions())*sessionBytes
		},
		Loading:    e.storage.Loading,
		Suspended:  func() bool { return e.scripts.Busy() != nil || e.pause.on() },
		Replica:    func() bool { return e.repl.link.Load() != nil },
		BusyChange: e.scripts.BusyChange, Torn: e.locks.torn.has,
		Record: e.recordStep, Commit: e.commitStep, Event: e.slow.event, Changed: e.locks.waits.changed,
	}
}

// Reclaim removes all keys whose deadline has passed, in small steps that lock one
// shard each.
func (e *Engine) Reclaim() { e.room.Reclaim() }

// MaxMemory returns the directive maxmemory in bytes, 0 for no limit.
func (e *Engine) MaxMemory() int64 { return e.room.MaxMemory() }

// SetReserve has keys evicted so many bytes before used memory reaches maxmemory, for
// memory that the process needs beside it, such as garbage that awaits collection. Where
// nothing can be evicted maxmemory holds as it is.
func (e *Engine) SetReserve(bytes int64) { e.room.Reserve.Store(bytes) }

// SetBuffers shows the buffers of the session's connection if they have changed between two batches.
func (s *Session) SetBuffers(b Buffers) {
	s.shown.edit(func(p *public) { s.shown.countBuffers(p, b, p.multiBytes) })
}

// setBuffers is countBuffers for a caller that does not hold mu.
func (v *shown) setBuffers(b Buffers, multiBytes int) {
	v.edit(func(p *public) { v.countBuffers(p, b, multiBytes) })
}

// countBuffers sets what the session's connection and its transaction take. It
// requires mu.
func (v *shown) countBuffers(p *public, b Buffers, multiBytes int) {
	s := v.session
	if change := b.Memory + multiBytes - p.buffers.Memory - p.multiBytes; change != 0 {
		s.engine.sessions.buffers.Add(int64(change))
	}
	p.buffers, p.multiBytes = b, multiBytes
}
