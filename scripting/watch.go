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

// A running is a run that has lasted for a beat at least.
type running struct {
	kind    runKind
	name    string // of a function
	sinceUs int64
	wrote   atomic.Bool
	stopped atomic.Bool // it has to end
	late    bool        // past the threshold; protected by watch.mu
	command [][]byte    // what called a function, once it is late; protected by watch.mu
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
	ending bool          // who is late has to end
	calm   chan struct{} // closed when the next script passes the threshold
}

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

func (w *watch) enter(kind runKind, name string, wrote bool) *running {
	r := &running{kind: kind, name: name}
	r.wrote.Store(wrote)
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
			r.stopped.Store(true)
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
	if w.ending {
		r.stopped.Store(true)
	}
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
		case r.wrote.Load():
			refusal = errUnkillable
		case r.kind != kind:
			if refusal == errNotBusy {
				refusal = busyReplies[r.kind]
			}
		default:
			r.stopped.Store(true)
			killed = true
		}
	}
	if killed {
		return ""
	}
	return refusal
}

// end ends every run that is past the threshold, now or later, whatever it has
// written.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	for r := range w.runs {
		if r.late {
			r.stopped.Store(true)
		}
	}
}

// change returns a channel that is closed as soon as the engine is busy.
func (w *watch) change() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}
