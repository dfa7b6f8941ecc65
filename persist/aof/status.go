package aof

// Status is what INFO persistence shows of a log.
type Status struct {
	Err          error // why writes are to be refused; nil when all is well
	NeedsRewrite bool  // nothing is written until a rewrite is done; see MayRewrite
	Starting     bool  // begun at run time, and its first rewrite is not done yet
	Rewriting    bool
	Failures     int64 // rewrites that failed, one after the other

	Size     int64 // bytes of all files
	BaseSize int64 // the same after the last rewrite, or at the start
	Incrs    int   // incremental files
	Held     int64 // bytes that wait in memory

	End, Written, Synced int64 // positions

	LastSyncMs int64 // as Tick said; 0 when there was none
	Syncing    bool
	Delayed    int64 // syncs that were due while one was still running (aof_delayed_fsync)
	InstantMs  int64 // the latest instant appended, or loaded
}

// Status may be called at any time; it takes no lock that anything is done under.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{
		NeedsRewrite: l.broken != nil, Starting: l.starting(),
		Rewriting: l.re.on, Failures: l.re.failures,
		Size: l.re.restSize, BaseSize: l.re.baseSize, Incrs: len(l.re.man.incrs), Held: l.held.Load(),
		End: l.end.Load(), Written: l.written, Synced: l.synced.Load(),
		LastSyncMs: l.lastSync, Syncing: l.syncing, Delayed: l.delayed, InstantMs: l.nowMs,
	}
	s.Err = l.Err()
	if l.cur != nil {
		s.Size += l.cur.size
	}
	return s
}

// Held returns how many bytes wait in memory. It takes no lock.
func (l *Log) Held() int64 { return l.held.Load() }
