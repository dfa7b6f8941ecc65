package durable

import "github.com/zlimit/zlimit/persist/aof"

// A Status is what INFO and metrics show of a Storage.
type Status struct {
	Logging   bool       // there is an append-only log
	Starting  bool       // one was switched on, and waits for its first rewrite
	Log       aof.Status // of the log, or of the one that starts
	LogErr    error      // why the log cannot be written; nil: it can
	Changes   int64      // since the last save; counted while there is a log or a save point
	LastSaveS int64      // unix seconds

	Save, Rewrite    JobStatus
	RewriteScheduled bool

	Loading     *LoadStatus // nil: nothing is being loaded
	KeysLoaded  int64       // from the last snapshot that was read
	KeysExpired int64       // of them, left out because they had expired
	KeysSkipped int64       // left out because they are not held here
}

// A JobStatus is what there is to say of one kind of job.
type JobStatus struct {
	Running  bool
	ElapsedS int64 // of the one that runs; -1: none does
	Failed   bool  // the last one
	TookS    int64 // the last one; -1: there was none
	Started  int64 // since start or CONFIG RESETSTAT
	Failures int64 // in a row
}

// A LoadStatus is how far loading has come.
type LoadStatus struct {
	BeganS      int64 // unix seconds
	Done, Total int64 // bytes
}

// Status returns the present status.
func (s *Storage) Status() Status {
	log, nowS := s.log.Load(), s.unixSeconds()
	s.mu.Lock()
	starting := s.starting
	out := Status{
		Logging: log != nil, Starting: starting != nil,
		Changes: s.changes.Load(), LastSaveS: s.jobs.lastSaveS,
		Save: s.jobs.status(saveJob, nowS), Rewrite: s.jobs.status(rewriteJob, nowS),
		RewriteScheduled: s.jobs.rewriteNext,
		KeysLoaded:       s.loads.keys.Load(), KeysExpired: s.loads.expired.Load(),
		KeysSkipped: s.loads.skipped.Load(),
	}
	s.mu.Unlock()
	if log != nil {
		out.LogErr = log.Err()
		out.Log = log.Status()
	} else if starting != nil {
		out.Log = starting.Status()
	}
	if p := s.loads.running.Load(); p != nil {
		out.Loading = &LoadStatus{p.beganS, p.done.Load(), p.total.Load()}
	}
	return out
}

func (j *jobs) status(kind jobKind, nowS int64) JobStatus {
	o := &j.outcomes[kind]
	out := JobStatus{
		Running: j.runs(kind), ElapsedS: -1, Failed: o.failed, TookS: -1,
		Started: j.started[kind], Failures: o.failures,
	}
	if out.Running {
		out.ElapsedS = max(nowS-j.current.beganS, 0)
	}
	if o.ended {
		out.TookS = o.tookS
	}
	return out
}

// ResetStats is CONFIG RESETSTAT.
func (s *Storage) ResetStats() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.started = [2]int64{}
	s.jobs.outcomes[rewriteJob].failures = 0
}
