package scripting

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/ast"
	"github.com/zlimit/zlimit/scripting/proof"
)

// Options configures an Engine. The zero value is usable. The functions may be called concurrently.
type Options struct {
	// Log receives the messages of redis.log and the engine's own warnings,
	// with a level from 0 (debug) to 3 (warning). If nil, they are discarded.
	Log func(level int, text string)

	// ErrorReplyPrefix returns lua-error-reply-prefix: "always", "never" or "auto". Nil means "always".
	ErrorReplyPrefix func() string

	// OnError is called once for each error that a script answers or gets from a call. It may be nil.
	OnError func(text string)

	// Measures reports whether every call of a command is timed. It may be nil only if OnCallTime is.
	Measures func(cmd *commands.Command) bool

	// OnCallTime is called with the duration in microseconds of the calls that Measures
	// names, and of a random sample of all calls. It may be nil.
	OnCallTime func(c *commands.Ctx, us int64, sampled bool)

	// NowUs is a monotonic clock in real time. If nil, scripts run without time limit.
	NowUs func() int64

	// WriteRefusal returns the error for a script's first write, and for a script whose flags declare that
	// it writes, while the keyspace must not change. Otherwise it returns "". It may be nil.
	WriteRefusal func() string

	// StaleRefusal returns the error for a script that does not declare that stale data
	// will do, while they must not be served. Otherwise it returns "". It may be nil.
	StaleRefusal func() string
}

// An Engine compiles and runs scripts. It is safe for concurrent use: each
// running script has an interpreter state of its own.
type Engine struct {
	options Options
	scripts *cache
	runs    *runTracker
	library registry
	table   *commands.Table
	interps []atomic.Pointer[interp] // idle; each takes stateBytes and a fraction of a millisecond to make

	maxMemory            atomic.Int64 // see SetLimits
	restarts, violations atomic.Int64 // see lockChecker
}

// New returns an Engine. SetTable must be called before the first script.
func New(o Options) *Engine {
	e := &Engine{options: o, runs: newRunTracker(o.NowUs, 0)}
	e.interps = make([]atomic.Pointer[interp], 2*runtime.GOMAXPROCS(0))
	e.scripts = newCache(e.maxTokens, e.prepare)
	return e
}

// bytesPerToken estimates the memory for compiling one token.
const bytesPerToken = 128

// maxTokens returns the limit of tokens in a source, 0 for none.
func (e *Engine) maxTokens() int { return int(e.maxMemory.Load() / bytesPerToken) }

// prepare is the prepareFunc of the cache.
func (e *Engine) prepare(c *ast.Chunk, p *lua.Proto) proof.Proof {
	p.PrepareSites(e.resolveCall)
	return proof.Prove(c, e.table)
}

// SetLimits sets busy-reply-threshold and lua-memory-limit: 0 means never, and no limit.
func (e *Engine) SetLimits(busyAfterMs, memoryBytes int64) {
	e.runs.thresholdMs.Store(busyAfterMs)
	e.maxMemory.Store(memoryBytes)
}

// Busy returns the reply for clients while a script is past busy-reply-threshold, and nil if none is.
func (e *Engine) Busy() *Busy { return e.runs.busy.Load() }

// BusyChange returns a channel that is closed as soon as Busy returns non-nil.
func (e *Engine) BusyChange() <-chan struct{} { return e.runs.busyChange() }

// StopAll makes every script that is past the threshold, now or later, fail as if killed, even if it has
// written. It is for the end of the process. See commands.Ctx.Cut.
func (e *Engine) StopAll() { e.runs.stopRuns(stopAll) }

// StopReaders with true is StopAll for scripts that have not written, which then cannot
// write any more. With false, later scripts run on.
func (e *Engine) StopReaders(on bool) {
	if on {
		e.runs.stopRuns(stopClean)
	} else {
		e.runs.stopRuns(stopNone)
	}
}

// Flush empties the script cache and removes all libraries. It requires that every shard is
// locked, so that no script runs.
func (e *Engine) Flush() {
	e.scripts.flush()
	e.library.flush()
}

// SetTable sets the commands for redis.call, which include the engine's own. It
// must be called once, before the first script.
func (e *Engine) SetTable(t *commands.Table) { e.table = t }

func (e *Engine) acquireInterp() *interp {
	for i := range e.interps {
		if e.interps[i].Load() != nil {
			if in := e.interps[i].Swap(nil); in != nil {
				return in
			}
		}
	}
	return newInterp(e, false)
}

// releaseInterp returns a state to the pool, unless a script made it unusable or the pool is full.
func (e *Engine) releaseInterp(in *interp) {
	for i := 0; i < len(e.interps) && !in.unusable; i++ {
		if e.interps[i].CompareAndSwap(nil, in) {
			return
		}
	}
}

func (e *Engine) reportError(text string) {
	if e.options.OnError != nil {
		e.options.OnError(text)
	}
}

const levelWarning = 3

func (e *Engine) logf(format string, args ...any) {
	if e.options.Log != nil {
		e.options.Log(levelWarning, fmt.Sprintf(format, args...))
	}
}

// staleRefusal returns the error if stale data must not be served now, or "".
func (e *Engine) staleRefusal(c *commands.Ctx) string {
	if e.options.StaleRefusal == nil || c.Mode.Is(commands.Replayed) {
		return ""
	}
	return e.options.StaleRefusal()
}

// writeRefusal returns the error if nothing may be written now, or "".
func (e *Engine) writeRefusal(c *commands.Ctx) string {
	if e.options.WriteRefusal == nil || c.Mode.Is(commands.Replayed) {
		return ""
	}
	return e.options.WriteRefusal()
}
