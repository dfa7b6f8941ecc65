package durable

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// A Journal counts changes for the save points and appends them to the log, if
// there is one.
type Journal struct {
	storage *Storage
	log     *aof.Log // nil: changes are only counted
}

// Append records what one command, script or EXEC has changed. The shards that
// g is about must be locked. Append neither keeps g nor waits for the disk. It
// returns the log's length behind g, 0 without a log.
func (j *Journal) Append(g *effects.Group, nowMs int64) (end int64) {
	j.storage.changes.Add(int64(g.Len()))
	if j.log == nil {
		return 0
	}
	return j.log.Append(g, nowMs)
}

// A Position is a place in the log. The zero Position is in no log.
type Position struct {
	log *aof.Log
	end int64
}

// Position returns the position in the present log at which a group ends, as
// Journal.Append returned it.
func (s *Storage) Position(end int64) Position { return Position{s.log.Load(), end} }

// End returns the position behind everything in the log. It reports false if
// there is no log.
func (s *Storage) End() (pos Position, ok bool) {
	log := s.log.Load()
	if log == nil {
		return Position{}, false
	}
	return Position{log, log.End()}, true
}

// A Canceler ends a wait when its channel is closed; a nil Canceler never does. A
// context.Context is one.
type Canceler interface{ Done() <-chan struct{} }

func done(c Canceler) <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.Done()
}

// ErrCanceled is returned by a wait that its Canceler has ended.
var ErrCanceled = aof.ErrWaitCanceled

// Unsynced returns the position up to which replies tell of what the log has, the zero Position if all of it
// is on disk or need not be.
func (s *Storage) Unsynced() Position {
	if s.fsync.directive() != aof.Always {
		return Position{}
	}
	log := s.log.Load()
	if log == nil {
		return Position{}
	}
	end := log.End()
	if log.Synced() >= end {
		return Position{}
	}
	return Position{log, end}
}

// Sync brings what is before a position to the disk on the caller's goroutine, unless another does: see
// aof.Log.Lead. WaitDurable says whether it is there.
func (p Position) Sync() {
	if p.log != nil {
		p.log.Lead()
	}
}

// WaitDurable blocks until everything before upTo, which Unsynced has returned, is on disk. If the log fails
// it returns the error, unless the caller has written nothing that is not on disk: reading goes on.
// written is where the caller's own writes end.
func (s *Storage) WaitDurable(upTo, written Position, c Canceler) error {
	log := upTo.log
	if log == nil || log.Synced() >= upTo.end {
		return nil
	}
	err := log.Wait(upTo.end, done(c))
	if errors.Is(err, ErrCanceled) {
		return err
	}
	if err != nil && (written.log != log || log.Synced() >= written.end) {
		return nil
	}
	return err
}

// Flush has what was appended under appendfsync always, and for which nobody waits, brought to the disk soon.
func (s *Storage) Flush() {
	if pos := s.Unsynced(); pos.log != nil {
		pos.log.Flush()
	}
}

// WaitForSpace blocks while too much of the log waits to be written. It reports
// false if c has ended the wait. If the log fails it returns at once: commands
// that write are refused then.
func (s *Storage) WaitForSpace(c Canceler) bool {
	log := s.log.Load()
	return log == nil || log.HasSpace() || !errors.Is(log.WaitForSpace(done(c)), ErrCanceled)
}

// HasSpace reports whether WaitForSpace would return at once.
func (s *Storage) HasSpace() bool {
	log := s.log.Load()
	return log == nil || log.HasSpace()
}

// Buffered returns how many bytes of the log wait in memory.
func (s *Storage) Buffered() int64 {
	if log := s.log.Load(); log != nil {
		return log.Buffered()
	}
	return 0
}

// Logging reports whether there is an append-only log.
func (s *Storage) Logging() bool { return s.log.Load() != nil }

// newestLog returns the log that starts, or else the one there is; nil: there is none.
func (s *Storage) newestLog() *aof.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting != nil {
		return s.starting
	}
	return s.log.Load()
}

// logOptions returns the options of the log as the directives have it.
func (s *Storage) logOptions() aof.Options {
	return aof.Options{
		FS: s.dir(), DirName: s.cfg.String("appenddirname"), Name: s.cfg.String("appendfilename"),
		Policy: s.fsync.now, Pause: s.options.Pause,
		InPieces: func() bool { return s.cfg.Bool("aof-rewrite-incremental-fsync") },
		Wrote:    func(us int64) { s.options.Took(latency.AOFWrite, us) },
		NowUs:    s.clock.MonotonicUs,
		Synced: func(us int64) {
			if s.fsync.now() == aof.Always {
				s.options.Took(latency.AOFSync, us)
			}
		},
		Log: s.logFile,
	}
}

// logFile logs what the log's files are to be known of.
func (s *Storage) logFile(warning bool, text string) {
	level := slog.LevelInfo
	if warning {
		level = slog.LevelWarn
	}
	s.options.Log.Log(context.Background(), level, text)
}

// fsync says when the log is synced.
type fsync struct {
	policy atomic.Uint32 // appendfsync, an aof.Policy
	easy   atomic.Bool   // no-appendfsync-on-rewrite
	busy   atomic.Bool   // a save or a rewrite is running
}

// directive returns appendfsync.
func (f *fsync) directive() aof.Policy { return aof.Policy(f.policy.Load()) }

// now returns the present policy. The log calls it with its own lock held, so it takes none.
func (f *fsync) now() aof.Policy {
	policy := f.directive()
	if policy == aof.EverySec && f.easy.Load() && f.busy.Load() {
		return aof.No
	}
	return policy
}

// resetJournal starts or stops recording, as the directives ask.
func (s *Storage) resetJournal() {
	s.store.Lock(store.AllShards)
	defer s.store.Unlock(store.AllShards)
	s.setLog(s.log.Load())
}

// setLog makes log the one that changes are appended to, nil for none. Every
// shard must be locked.
func (s *Storage) setLog(log *aof.Log) {
	s.log.Store(log)
	if log == nil && !s.HasSavePoints() {
		s.options.Record(nil)
		return
	}
	s.options.Record(&Journal{s, log})
}

// switchLog is CONFIG SET appendonly. The caller may hold shards, so what needs
// all of them runs in a task.
func (s *Storage) switchLog() error {
	on := s.cfg.Bool("appendonly")
	switch {
	case s.dir() == nil && !on:
		return nil
	case !s.opened || s.Loading() || !s.switching.TryLock():
		return errAppendOnly
	case on:
		defer s.switching.Unlock()
		return s.startLog()
	}
	if j := s.runningRewrite(); j != nil {
		j.cancel()
	}
	if !s.store.TryLock(store.AllShards) {
		s.tasks.Go(func() {
			defer s.switching.Unlock()
			s.stopLog()
		})
		return nil
	}
	// Detached at once, so that it can be switched on again at once.
	logs := s.detachLog()
	s.store.Unlock(store.AllShards)
	if s.runningRewrite() == nil {
		s.switching.Unlock()
		s.tasks.Go(func() { s.closeLogs(logs) })
		return nil
	}
	s.tasks.Go(func() {
		s.cancelRewrite()
		s.switching.Unlock()
		s.closeLogs(logs)
	})
	return nil
}

// startLog creates a log and schedules its first rewrite, which fills it.
func (s *Storage) startLog() error {
	s.mu.Lock()
	err := s.place.lock()
	s.mu.Unlock()
	var log *aof.Log
	if err == nil {
		log, err = aof.Begin(s.logOptions())
	}
	if err != nil {
		s.options.Log.Warn("appendonly yes failed", "error", err)
		return errAppendOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = log
	s.jobs.rewriteNext = true
	s.startNext()
	return nil
}

// completeLog lets the first rewrite of a log end, without which its files are those of another keyspace, or
// none. It gives up if that fails.
func (s *Storage) completeLog() {
	for {
		s.mu.Lock()
		j := s.jobs.current
		if log := s.log.Load(); s.starting == nil && (log == nil || !log.Starting()) {
			s.mu.Unlock()
			return
		}
		mine := j == nil
		if mine {
			j = s.start(rewriteJob)
		}
		s.mu.Unlock()
		if j == nil {
			return
		}
		if <-j.done; mine && j.err != nil {
			return
		}
	}
}

// stopLog cancels a rewrite, and syncs and closes the log.
func (s *Storage) stopLog() {
	s.store.Lock(store.AllShards)
	logs := s.detachLog()
	s.store.Unlock(store.AllShards)
	s.cancelRewrite()
	s.closeLogs(logs)
}

// detachLog stops appending. It returns the log and one that was about to start:
// no rewrite that begins from here on is for them. Every shard must be locked.
func (s *Storage) detachLog() (logs [2]*aof.Log) {
	s.mu.Lock()
	logs = [2]*aof.Log{s.log.Load(), s.starting}
	s.starting, s.jobs.rewriteNext = nil, false
	s.mu.Unlock()
	s.setLog(nil)
	return logs
}

// runningRewrite returns the rewrite that has not ended, or nil.
func (s *Storage) runningRewrite() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs.current; j != nil && j.kind == rewriteJob {
		return j
	}
	return nil
}

func (s *Storage) cancelRewrite() {
	if j := s.runningRewrite(); j != nil {
		j.cancel()
		<-j.done
	}
}

// closeLogs closes logs that no rewrite uses.
func (s *Storage) closeLogs(logs [2]*aof.Log) {
	for _, l := range logs {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, aof.ErrClosed) {
			s.options.Log.Warn("closing the append-only file failed", "error", err)
		}
	}
}
