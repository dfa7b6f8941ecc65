package aof

// Status holds what INFO persistence shows of a log.
type Status struct {
	Err          error // why writes should be refused; nil if all is well
	NeedsRewrite bool  // nothing is written until a rewrite is done; see MayRewrite
	Starting     bool  // begun at run time, first rewrite not done
	Rewriting    bool
	Failures     int64 // consecutive failed rewrites

	Size     int64 // bytes of all files
	BaseSize int64 // Size after the last rewrite, or at the start
	Incrs    int   // incremental files
	Buffered int64 // bytes waiting in memory

	End, Written, Synced int64 // positions

	LastSyncMs int64 // time of the Tick; 0 if there was none
	Syncing    bool
	Delayed    int64 // syncs due while another was running (aof_delayed_fsync)
	InstantMs  int64 // the latest instant appended, or loaded
}

// Status returns the state of the log. It never waits for I/O.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{
		NeedsRewrite: l.health.broken != nil, Starting: l.health.starting(),
		Rewriting: l.re.active, Failures: l.re.failures,
		Size: l.re.restSize, BaseSize: l.re.baseSize, Incrs: len(l.re.man.incrs), Buffered: l.backlog.held(),
		End: l.end.Load(), Written: l.written, Synced: l.synced.Load(),
		LastSyncMs: l.syncs.lastMs, Syncing: l.syncs.running, Delayed: l.syncs.delayed,
		InstantMs: l.backlog.nowMs,
	}
	s.Err = l.Err()
	if l.files.cur != nil {
		s.Size += l.files.cur.size
	}
	return s
}

// Buffered returns how many bytes wait in memory.
func (l *Log) Buffered() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backlog.held()
}
