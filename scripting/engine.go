package scripting

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// Options of an Engine. The zero value is usable.
type Options struct {
	// Log receives what scripts pass to redis.log, with one of the levels
	// 0 (debug) to 3 (warning), and warnings of the engine's own. It may be
	// called concurrently. Nil discards.
	Log func(level int, text string)

	// ErrorReplyPrefix is what lua-error-reply-prefix says: "always" (as nil),
	// "never" or "auto". It may be called concurrently.
	ErrorReplyPrefix func() string

	// Failed is told every error that a script's calls get, and those that it
	// answers itself, once each, for whoever counts them; nil: nobody does. It
	// may be called concurrently.
	Failed func(text string)

	// Took is told how many microseconds some calls took, chosen by chance; nil:
	// nobody is.
	Took func(cmd *commands.Command, us int64)

	// NowUs is a monotonic clock that runs in real time; nil: scripts run as
	// long as they like. It and the two below may be called concurrently.
	NowUs func() int64

	// BusyAfterMs is busy-reply-threshold, 0 for never. Nil only where NowUs
	// is.
	BusyAfterMs func() int64

	// MemoryLimit is lua-memory-limit, 0 for none, as nil.
	MemoryLimit func() int64

	// Unwritable returns what is answered to a script's first command that writes,
	// and to a script that says of itself that it does, where the keyspace must
	// not be changed; empty where it may, as nil. It may be called concurrently.
	Unwritable func() string

	// Interpret is what lua-engine says: every script is the interpreter's, the
	// plain ones too. It may be called concurrently; nil is never.
	Interpret func() bool
}

// An Engine compiles and runs scripts. It may be used concurrently: each
// script that runs has an interpreter state of its own.
type Engine struct {
	options Options
	scripts *cache
	watch   *watch
	library registry
	table   *commands.Table
	states  []atomic.Pointer[interp] // idle ones, some 300 kB and a millisecond's work each
	frames  sync.Pool                // of *plainFrame

	restarts, breaches atomic.Int64 // see guard
}

// New returns an Engine. SetTable must be called before the first script.
func New(o Options) *Engine {
	e := &Engine{options: o, watch: newWatch(o.NowUs, o.BusyAfterMs)}
	e.states = make([]atomic.Pointer[interp], 2*runtime.GOMAXPROCS(0))
	e.scripts = newCache(e.maxTokens, e.judge)
	e.scripts.prepare = e.prepare
	return e
}

// bytesPerToken is about what a token of a source takes while it is compiled.
const bytesPerToken = 128

// maxTokens is how many tokens a source may have, 0 for any number.
func (e *Engine) maxTokens() int { return int(e.memoryLimit() / bytesPerToken) }

// prepare finds out how a new script can run.
func (e *Engine) prepare(s *script) { s.plain, s.why = plainCode(e, s.proto) }

func (e *Engine) memoryLimit() int64 {
	if e.options.MemoryLimit == nil {
		return 0
	}
	return e.options.MemoryLimit()
}

// Busy returns what to answer while a script is past the threshold, nil where
// none is.
func (e *Engine) Busy() *Busy { return e.watch.busy.Load() }

// BusyChange returns a channel that is closed as soon as Busy is not nil.
func (e *Engine) BusyChange() <-chan struct{} { return e.watch.change() }

// End makes every script that is past the threshold, now or later, fail with
// the error of a killed one, also where it has written: the process is about to
// end and waits for it. See commands.Ctx.Cut.
func (e *Engine) End() { e.watch.end(endAll) }

// EndReaders is End for scripts that have written nothing, which may not do so
// any more. Undone with false, scripts that get there later go on.
func (e *Engine) EndReaders(on bool) {
	if on {
		e.watch.end(endClean)
	} else {
		e.watch.end(endNone)
	}
}

// SetTable sets the commands that redis.call finds. It is called once, before
// anything runs: the table contains the engine's own group.
func (e *Engine) SetTable(t *commands.Table) { e.table = t }

// borrow returns a state that nobody else uses.
func (e *Engine) borrow() *interp {
	for i := range e.states {
		if e.states[i].Load() != nil {
			if in := e.states[i].Swap(nil); in != nil {
				return in
			}
		}
	}
	return newInterp(e)
}

// giveBack takes a state back, unless a script left it in doubt or there are
// enough of them.
func (e *Engine) giveBack(in *interp) {
	for i := 0; i < len(e.states) && !in.suspect; i++ {
		if e.states[i].CompareAndSwap(nil, in) {
			return
		}
	}
}

func (e *Engine) failed(text string) {
	if e.options.Failed != nil {
		e.options.Failed(text)
	}
}

const levelWarning = 3

func (e *Engine) logf(format string, args ...any) {
	if e.options.Log != nil {
		e.options.Log(levelWarning, fmt.Sprintf(format, args...))
	}
}

// unwritable is why nothing may be written now; empty where it may.
func (e *Engine) unwritable() string {
	if e.options.Unwritable == nil {
		return ""
	}
	return e.options.Unwritable()
}
