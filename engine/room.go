package engine

import (
	"github.com/zlimit/zlimit/engine/room"
)

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
		Record: e.recordStep, Commit: e.commitStep, Event: e.slow.event,
	}
}

// Reclaim removes all keys whose deadline has passed, in small steps that lock one
// shard each.
func (e *Engine) Reclaim() { e.room.Reclaim() }

// MaxMemory returns the directive maxmemory, in bytes; 0 means that there is no limit.
func (e *Engine) MaxMemory() int64 { return e.room.MaxMemory() }

// SetReserve has keys evicted so many bytes before used memory reaches maxmemory, for
// memory that the process needs beside it, such as garbage that awaits collection. Where
// nothing can be evicted maxmemory holds as it is.
func (e *Engine) SetReserve(bytes int64) { e.room.Reserve.Store(bytes) }
