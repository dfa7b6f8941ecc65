package engine

import (
	"sync"
)

// A job writes the keyspace, as it is at one instant, into a file beside the
// traffic: a save into dump.rdb, a rewrite into a new base of the log. There is
// one at a time.
type job struct {
	kind    jobKind
	beganS  int64         // unix seconds
	beganUs int64         // on the monotonic clock
	stop    chan struct{} // closed where it is given up
	once    sync.Once
	done    chan struct{}
	err     error // written before done is closed
}

// giveUp ends the job soon.
func (j *job) giveUp() { j.once.Do(func() { close(j.stop) }) }

type jobKind int

const (
	saving jobKind = iota
	rewriting
)

// jobs are the job under way, what waits for its end, and how the last ones
// ended. persistence.mu protects them.
type jobs struct {
	now         *job
	saveNext    bool // BGSAVE SCHEDULE, or a save point
	rewriteNext bool
	outcomes    [2]outcome // by jobKind
	saves       int64      // begun since start or CONFIG RESETSTAT
	rewrites    int64
	lastSaveS   int64 // the last save that succeeded, in unix seconds; at first the start
	lastTryS    int64
}

// outcome is how the last job of a kind ended.
type outcome struct {
	ended    bool // there was one
	failed   bool
	tookS    int64
	failures int64 // in a row
}

// retryS is after how many seconds a save that failed is tried again by itself.
const retryS = 5

// beginLocked starts a job. Where one is under way, or none may begin, it
// returns nil. It requires jobs' mu.
func (e *Engine) beginLocked(kind jobKind) *job {
	p := &e.persist
	if p.jobs.now != nil || p.ended || !p.opened || p.loading.Load() != nil {
		return nil
	}
	if err := e.hold(); err != nil {
		e.logf("nothing is written: %v", err)
		p.jobs.outcomes[kind].failed, p.jobs.lastTryS = true, e.unixSeconds()
		p.jobs.saveNext, p.jobs.rewriteNext = false, false
		e.settle()
		return nil
	}
	j := &job{kind: kind, beganS: e.unixSeconds(), beganUs: e.clock.MonotonicUs(), stop: make(chan struct{}), done: make(chan struct{})}
	p.jobs.now = j
	p.working.Store(true)
	switch kind {
	case saving:
		p.jobs.saveNext = false
		p.jobs.saves++
		p.jobs.lastTryS = j.beganS
	case rewriting:
		p.jobs.rewriteNext = false
		p.jobs.rewrites++
	}
	p.work.Go(func() { e.work(j) })
	return j
}

func (e *Engine) unixSeconds() int64 { return e.clock.NowUs() / 1_000_000 }

// work does a job, and begins the next where one waits.
func (e *Engine) work(j *job) {
	switch j.kind {
	case saving:
		j.err = e.save(j.stop)
	case rewriting:
		j.err = e.rewrite(j.stop)
	}
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &p.jobs.outcomes[j.kind]
	o.ended, o.failed, o.tookS = true, j.err != nil, (e.clock.MonotonicUs()-j.beganUs)/1_000_000
	o.failures++
	if j.err == nil {
		o.failures = 0
	} else if j.kind == rewriting {
		e.logf("rewriting the append-only file failed: %v", j.err)
	}
	if j.kind == saving && j.err == nil {
		p.jobs.lastSaveS = e.unixSeconds()
	}
	p.jobs.now = nil
	p.working.Store(false)
	e.settle()
	e.beginNext()
	close(j.done)
}

// beginNext begins what was put off. It requires mu.
func (e *Engine) beginNext() {
	p := &e.persist
	switch {
	case p.jobs.rewriteNext:
		e.beginLocked(rewriting)
	case p.jobs.saveNext && p.jobs.mayTry(e.unixSeconds()):
		e.beginLocked(saving)
	}
}

// saveNow saves and waits for the end of it: what SAVE and the end of a server
// do. over ends the waiting, not the save.
func (e *Engine) saveNow(over <-chan struct{}) error {
	p := &e.persist
	for {
		p.mu.Lock()
		j := p.jobs.now
		mine := j == nil
		if mine {
			j = e.beginLocked(saving)
		}
		p.mu.Unlock()
		if j == nil {
			return errNotBegun
		}
		select {
		case <-j.done:
		case <-over:
			return errEnding
		}
		if mine {
			return j.err
		}
	}
}
