package durable

import (
	"sync"
	"sync/atomic"
)

// A job writes the keyspace, as it is at one instant, to a file in the
// background: a save writes dump.rdb, a rewrite a new base of the log. One job
// runs at a time.
type job struct {
	kind       jobKind
	foreground bool          // of SAVE or SHUTDOWN: whoever waits for it gets its error
	beganS     int64         // unix seconds
	beganUs    int64         // on the monotonic clock
	stop       chan struct{} // closed by cancel
	once       sync.Once
	done       chan struct{}
	err        error // written before done is closed
}

// cancel makes the job end soon.
func (j *job) cancel() { j.once.Do(func() { close(j.stop) }) }

type jobKind int

const (
	saveJob jobKind = iota
	rewriteJob
)

// jobs are the job that runs, those that wait for its end, and how the last ones
// ended. Storage.mu protects them.
type jobs struct {
	current     *job // nil: none
	saveNext    bool // BGSAVE SCHEDULE
	rewriteNext bool
	outcomes    [2]outcome // by jobKind
	started     [2]int64   // by jobKind, since start or CONFIG RESETSTAT
	lastSaveS   int64      // the last save that succeeded, in unix seconds; at first the start
	lastTryS    int64
	points      []savePoint
	saveFailing atomic.Bool // see updateMisconf
}

// runs reports whether a job of a kind is running. One that was canceled is not, even before it has ended.
func (j *jobs) runs(kind jobKind) bool { return j.busy() && j.current.kind == kind }

// busy reports whether any job is running.
func (j *jobs) busy() bool { return j.current != nil && !isClosed(j.current.stop) }

// mayRetry reports whether a save that no client asked for may start: not soon
// after one that failed.
func (j *jobs) mayRetry(nowS int64) bool {
	return !j.outcomes[saveJob].failed || nowS-j.lastTryS > retryS
}

// retryS is how many seconds after a failure a save is tried again, as in Redis.
const retryS = 5

// An outcome is how the last job of a kind ended. As in Redis, a foreground job leaves it alone unless it
// succeeds, and a canceled one has not failed.
type outcome struct {
	ended    bool // there was one
	failed   bool
	tookS    int64
	failures int64 // in a row
}

// start starts a job in the background. It returns nil if one is running or none may start. It requires mu.
func (s *Storage) start(kind jobKind) *job { return s.startJob(kind, false) }

// startJob is start of a job in the background or the foreground.
func (s *Storage) startJob(kind jobKind, foreground bool) *job {
	if s.jobs.current != nil || s.closed || !s.opened || s.Loading() {
		return nil
	}
	if err := s.place.lock(); err != nil {
		s.options.Log.Warn("nothing is written", "error", err)
		if foreground {
			return nil
		}
		s.jobs.outcomes[kind].failed, s.jobs.lastTryS = true, s.unixSeconds()
		s.jobs.saveNext, s.jobs.rewriteNext = false, false
		s.updateMisconf()
		return nil
	}
	j := &job{
		kind: kind, foreground: foreground, beganS: s.unixSeconds(), beganUs: s.clock.MonotonicUs(),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.jobs.current = j
	s.jobs.started[kind]++
	s.fsync.busy.Store(true)
	switch kind {
	case saveJob:
		s.jobs.saveNext = false
		s.jobs.lastTryS = j.beganS
	case rewriteJob:
		s.jobs.rewriteNext = false
	}
	s.tasks.Go(func() { s.run(j) })
	return j
}

// run runs a job, and starts the next one if it waits.
func (s *Storage) run(j *job) {
	switch j.kind {
	case saveJob:
		j.err = s.writeDump(j.stop)
	case rewriteJob:
		j.err = s.rewriteLog(j.stop)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.jobs.outcomes[j.kind]
	if !j.foreground {
		o.ended, o.tookS = true, (s.clock.MonotonicUs()-j.beganUs)/1_000_000
	}
	switch {
	case j.err == nil:
		o.failed, o.failures = false, 0
	case !j.foreground && !isClosed(j.stop):
		o.failed = true
		o.failures++
	}
	if j.err != nil && j.kind == rewriteJob {
		s.options.Log.Warn("rewriting the append-only file failed", "error", j.err)
	}
	if j.kind == saveJob && j.err == nil {
		s.jobs.lastSaveS = s.unixSeconds()
	}
	s.jobs.current = nil
	s.fsync.busy.Store(false)
	s.updateMisconf()
	s.startNext()
	close(j.done)
}

// startNext starts a job that had to wait. It requires mu.
func (s *Storage) startNext() {
	switch {
	case s.jobs.rewriteNext:
		s.start(rewriteJob)
	case s.jobs.saveNext && s.jobs.mayRetry(s.unixSeconds()):
		s.start(saveJob)
	}
}

// Save saves a snapshot, behind a job that may be running, and blocks until it
// is on disk. If cancel is closed before, Save returns ErrClosing; the job goes
// on.
func (s *Storage) Save(cancel <-chan struct{}) error {
	for {
		s.mu.Lock()
		j := s.jobs.current
		mine := j == nil
		if mine {
			j = s.startJob(saveJob, true)
		}
		s.mu.Unlock()
		if j == nil {
			return errNotBegun
		}
		select {
		case <-j.done:
		case <-cancel:
			return ErrClosing
		}
		if mine {
			return j.err
		}
	}
}

// CancelSave cancels a BGSAVE: FLUSHALL removes what it saves.
func (s *Storage) CancelSave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs.current; s.jobs.runs(saveJob) && !j.foreground {
		j.cancel()
	}
}

// CancelJobs cancels a job that is running and lets none begin, so that Close saves nothing.
func (s *Storage) CancelJobs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.jobs.current != nil {
		s.jobs.current.cancel()
	}
}
