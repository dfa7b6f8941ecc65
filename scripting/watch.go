package scripting

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// runKind says by whose command a run may be ended.
type runKind uint8

const (
	runScript   runKind = iota // EVAL: SCRIPT KILL
	runFunction                // FCALL: FUNCTION KILL
	runLoad                    // a library's source: ends by itself, see loadLimitMs
)

// loadLimitMs is how long a library's source may run, as in Redis. It makes
// nobody else wait, so that it is not what clients are told to kill.
const loadLimitMs = 500

// runState is what a run has done and whether it has to end. One word holds
// both, so that nobody ends a run as one that has written nothing while it writes.
type runState uint32

const (
	stateClean  runState = iota // it has written nothing
	stateWrote                  // it has called a command that writes
	stateKilled                 // it has to end, and may not write any more
	stateEnded                  // the same, for the process ends
	stateCut                    // it has to end though it has written, for the process ends
)

// A running is a run that has lasted for a beat at least.
type running struct {
	kind    runKind
	name    string // of a function
	follows bool   // what went before in the same EXEC may have written
	sinceUs int64
	state   atomic.Uint32 // a runState; only the run itself leaves stateClean for stateWrote
	late    bool          // past the threshold; protected by watch.mu
	command [][]byte      // what called a function, once it is late; protected by watch.mu
}

func (r *running) now() runState { return runState(r.state.Load()) }

// stopped reports whether the run has to end.
func (r *running) stopped() bool { return r.now() >= stateKilled }

// write notes that the run is about to write. It reports whether it may.
func (r *running) write() bool {
	return r.now() == stateWrote || r.turn(stateClean, stateWrote)
}

// turn changes the state if it is still from.
func (r *running) turn(from, to runState) bool {
	return r.state.CompareAndSwap(uint32(from), uint32(to))
}

// A watch knows the scripts that run for longer than a moment, and which of
// them are past busy-reply-threshold: while there is one, the engine is busy.
// Scripts report to it themselves, at every beat; it needs no clock that
// calls it.
type watch struct {
	nowUs       func() int64 // monotonic; nil: nothing is ever past a threshold
	thresholdMs func() int64 // 0: none

	busy atomic.Pointer[Busy] // nil: no script is past the threshold

	mu     sync.Mutex // protects what follows, and the writing of busy
	runs   map[*running]struct{}
	ending ending        // who of those that are late has to end
	calm   chan struct{} // closed when the next script passes the threshold
}

// ending says which of the runs that are past the threshold have to end, now or
// later.
type ending uint8

const (
	endNone  ending = iota
	endClean        // those that have written nothing, and EXEC before them neither
	endAll
)

// Busy is what clients are told while scripts are past the threshold.
type Busy struct {
	Reply string // an error
}

func newWatch(nowUs, thresholdMs func() int64) *watch {
	return &watch{
		nowUs: nowUs, thresholdMs: thresholdMs,
		runs: make(map[*running]struct{}), calm: make(chan struct{}),
	}
}

func (w *watch) enter(m *meter) *running {
	r := &running{kind: m.kind, name: m.name, follows: m.follows}
	if m.wrote {
		r.turn(stateClean, stateWrote)
	}
	if w.nowUs != nil {
		r.sinceUs = w.nowUs()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[r] = struct{}{}
	return r
}

func (w *watch) leave(r *running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r)
	if r.late {
		w.settle()
	}
}

// overdue looks whether a run has passed the threshold. Only the run's own
// goroutine calls it; command is what it runs for.
func (w *watch) overdue(r *running, command [][]byte) {
	if w.nowUs == nil || r.late {
		return
	}
	if r.kind == runLoad {
		if (w.nowUs()-r.sinceUs)/1000 > loadLimitMs {
			r.turn(stateClean, stateKilled)
		}
		return
	}
	threshold := w.thresholdMs()
	if threshold <= 0 || (w.nowUs()-r.sinceUs)/1000 < threshold {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.late = true
	for _, arg := range command { // its own bytes are the session's
		r.command = append(r.command, bytes.Clone(arg))
	}
	w.endLate(r)
	w.settle()
}

// oldest is the run that is past the threshold for longest, nil where none is.
// It requires mu.
func (w *watch) oldest() *running {
	var oldest *running
	for r := range w.runs {
		if r.late && (oldest == nil || r.sinceUs < oldest.sinceUs) {
			oldest = r
		}
	}
	return oldest
}

// A functionRun is a function that is past the threshold.
type functionRun struct {
	name       string
	command    [][]byte
	durationMs int64
}

// function returns what FUNCTION STATS says of the run that makes the engine
// busy: of a function, what it is; of a script, the error; or nothing.
func (w *watch) function() (f *functionRun, refusal string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := w.oldest(); {
	case r == nil:
		return nil, ""
	case r.kind != runFunction:
		return nil, busyReplies[r.kind]
	default:
		return &functionRun{r.name, r.command, (w.nowUs() - r.sinceUs) / 1000}, ""
	}
}

// settle makes busy say what is true. It requires mu.
func (w *watch) settle() {
	oldest := w.oldest()
	was := w.busy.Load()
	if oldest == nil {
		w.busy.Store(nil)
		if was != nil {
			w.calm = make(chan struct{})
		}
		return
	}
	w.busy.Store(&Busy{Reply: busyReplies[oldest.kind]})
	if was == nil {
		close(w.calm)
	}
}

// kill ends the runs of a kind that are past the threshold and have written
// nothing. It returns Redis' answer: of several runs it is what is true of
// one that was ended, where there was one.
func (w *watch) kill(kind runKind) (refusal string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	refusal = errNotBusy
	killed := false
	for r := range w.runs {
		switch {
		case !r.late:
		case r.now() == stateWrote || r.now() == stateCut:
			refusal = errUnkillable
		case r.kind != kind:
			if refusal == errNotBusy {
				refusal = busyReplies[r.kind]
			}
		case r.turn(stateClean, stateKilled) || r.stopped():
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

// end says which runs that are past the threshold, now or later, have to end.
func (w *watch) end(which ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending == endAll {
		return
	}
	w.ending = which
	for r := range w.runs {
		if r.late {
			w.endLate(r)
		}
	}
}

// endLate ends a run that is late, if it has to. It requires mu.
func (w *watch) endLate(r *running) {
	if w.ending == endNone || w.ending == endClean && r.follows {
		return
	}
	if r.turn(stateClean, stateEnded) || w.ending == endClean {
		return
	}
	r.turn(stateKilled, stateEnded) // what called it has to end as well
	r.turn(stateWrote, stateCut)
}

// change returns a channel that is closed as soon as the engine is busy.
func (w *watch) change() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}
