package scripting

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// A runKind is the kind of a run, which determines the command that kills it.
type runKind uint8

const (
	runScript   runKind = iota // EVAL: SCRIPT KILL
	runFunction                // FCALL: FUNCTION KILL
	runLoad                    // a library's source: ends by itself, see loadLimitMs
)

// loadLimitMs is the time limit of a library's source, as in Redis. Loading
// blocks nobody, so that clients are not asked to kill it.
const loadLimitMs = 500

// A runState says whether a run has written and whether it must stop, in one
// word, so that a run stopped as one that has not written cannot write.
type runState uint32

const (
	stateClean        runState = iota // it has not written
	stateWrote                        // it has called a command that writes
	stateKilled                       // it must stop and cannot write
	stateExiting                      // the same, because the process exits
	stateExitingDirty                 // it must stop although it has written, because the process exits
)

// A runInfo says what runs.
type runInfo struct {
	kind    runKind
	name    string // of a function
	follows bool   // earlier commands of the same EXEC may have written
}

// An activeRun is a run that has polled at least once.
type activeRun struct {
	info    runInfo
	sinceUs int64
	state   atomic.Uint32 // a runState; only the run itself changes stateClean to stateWrote
	overdue bool          // past the threshold; protected by runTracker.mu
	command [][]byte      // the command that called a function, set with overdue; protected by runTracker.mu
}

func (r *activeRun) load() runState { return runState(r.state.Load()) }

func (r *activeRun) mustStop() bool { return r.load() >= stateKilled }

// markWrite records that the run is about to write. It reports whether the run may.
func (r *activeRun) markWrite() bool {
	return r.load() == stateWrote || r.transition(stateClean, stateWrote)
}

// transition changes the state from one to another and reports whether it did.
func (r *activeRun) transition(from, to runState) bool {
	return r.state.CompareAndSwap(uint32(from), uint32(to))
}

// A runTracker knows the scripts that run for longer than a moment. The engine is busy while one of them is
// past busy-reply-threshold. Scripts report to it at every poll, so that it needs no timer.
type runTracker struct {
	nowUs       func() int64 // monotonic; if nil, no run is ever overdue
	thresholdMs atomic.Int64 // 0 for none

	busy atomic.Pointer[Busy] // nil if no script is overdue

	mu          sync.Mutex // protects the fields below, and writes of busy
	runs        map[*activeRun]struct{}
	stopMode    stopMode      // which of the overdue runs must stop
	becomesBusy chan struct{} // closed when the engine becomes busy
}

// A stopMode selects the overdue runs that must stop, now and later.
type stopMode uint8

const (
	stopNone  stopMode = iota
	stopClean          // those that have not written, nor earlier commands of their EXEC
	stopAll
)

// Busy is the reply to clients while a script is past busy-reply-threshold.
type Busy struct {
	Reply string // an error
}

func newRunTracker(nowUs func() int64, thresholdMs int64) *runTracker {
	t := &runTracker{nowUs: nowUs, runs: make(map[*activeRun]struct{}), becomesBusy: make(chan struct{})}
	t.thresholdMs.Store(thresholdMs)
	return t
}

func (t *runTracker) add(m *meter) *activeRun {
	r := &activeRun{info: m.info}
	if m.wrote {
		r.transition(stateClean, stateWrote)
	}
	if t.nowUs != nil {
		r.sinceUs = t.nowUs()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[r] = struct{}{}
	return r
}

func (t *runTracker) remove(r *activeRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, r)
	if r.overdue {
		t.updateBusy()
	}
}

// checkThreshold marks a run as overdue if it is past the threshold. The run's
// own goroutine calls it. command is the command that it executes.
func (t *runTracker) checkThreshold(r *activeRun, command [][]byte) {
	if t.nowUs == nil || r.overdue {
		return
	}
	if r.info.kind == runLoad {
		if (t.nowUs()-r.sinceUs)/1000 > loadLimitMs {
			r.transition(stateClean, stateKilled)
		}
		return
	}
	threshold := t.thresholdMs.Load()
	if threshold <= 0 || (t.nowUs()-r.sinceUs)/1000 < threshold {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.overdue = true
	for _, arg := range command { // its bytes belong to the session
		r.command = append(r.command, bytes.Clone(arg))
	}
	t.stopRun(r)
	t.updateBusy()
}

// oldest returns the run that has been overdue for longest, or nil. It requires mu.
func (t *runTracker) oldest() *activeRun {
	var oldest *activeRun
	for r := range t.runs {
		if r.overdue && (oldest == nil || r.sinceUs < oldest.sinceUs) {
			oldest = r
		}
	}
	return oldest
}

type functionRun struct {
	name       string
	command    [][]byte
	durationMs int64
}

// function returns, for FUNCTION STATS, the longest overdue run if it is a
// function, or the error if it is a script.
func (t *runTracker) function() (f *functionRun, refusal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r := t.oldest(); {
	case r == nil:
		return nil, ""
	case r.info.kind != runFunction:
		return nil, busyReplies[r.info.kind]
	default:
		return &functionRun{r.info.name, r.command, (t.nowUs() - r.sinceUs) / 1000}, ""
	}
}

// updateBusy brings busy up to date with the runs. It requires mu.
func (t *runTracker) updateBusy() {
	oldest := t.oldest()
	was := t.busy.Load()
	if oldest == nil {
		t.busy.Store(nil)
		if was != nil {
			t.becomesBusy = make(chan struct{})
		}
		return
	}
	t.busy.Store(&Busy{Reply: busyReplies[oldest.info.kind]})
	if was == nil {
		close(t.becomesBusy)
	}
}

// kill stops the overdue runs of a kind that have not written. It returns the
// error to answer, or "" if it has stopped any.
func (t *runTracker) kill(kind runKind) (refusal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refusal = errNotBusy
	killed := false
	for r := range t.runs {
		switch {
		case !r.overdue:
		case r.load() == stateWrote || r.load() == stateExitingDirty:
			refusal = errUnkillable
		case r.info.kind != kind:
			if refusal == errNotBusy {
				refusal = busyReplies[r.info.kind]
			}
		case r.transition(stateClean, stateKilled) || r.mustStop():
			killed = true
		default: // it has just written
			refusal = errUnkillable
		}
	}
	if killed {
		return ""
	}
	return refusal
}

// stopRuns selects which overdue runs must stop, now and later.
func (t *runTracker) stopRuns(mode stopMode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopMode == stopAll {
		return
	}
	t.stopMode = mode
	for r := range t.runs {
		if r.overdue {
			t.stopRun(r)
		}
	}
}

// stopRun stops an overdue run if the mode says so. It requires mu.
func (t *runTracker) stopRun(r *activeRun) {
	if t.stopMode == stopNone || t.stopMode == stopClean && r.info.follows {
		return
	}
	if r.transition(stateClean, stateExiting) || t.stopMode == stopClean {
		return
	}
	r.transition(stateKilled, stateExiting) // the caller of the script must stop as well
	r.transition(stateWrote, stateExitingDirty)
}

// change returns a channel that is closed as soon as the engine is busy.
func (t *runTracker) busyChange() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.becomesBusy
}
