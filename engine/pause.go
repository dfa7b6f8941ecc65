package engine

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A pauseKind says which commands CLIENT PAUSE holds. Each kind holds what those
// below it hold.
type pauseKind uint32

const (
	pauseNothing pauseKind = iota
	pauseWrites            // what may write, or go to replicas
	pauseAll
)

// pause is CLIENT PAUSE. Commands that are held wait as blocked clients do. When
// the pause is over they run in the order in which they came, one after the
// other: each is released when the one before it has run. Until the last one has
// run, others of their kind are held too, and so cannot overtake them.
//
// Its time is real time, whoever holds the server's clock.
type pause struct {
	engine *Engine
	kind   atomic.Uint32 // a pauseKind, changed under mu: what is held now

	mu      sync.Mutex
	untilUs int64      // protected by mu, as is what follows: when it ends, as Clock.MonotonicUs counts
	line    []*Blocked // who is held, in the order of arrival
	running *Blocked   // whose turn it is; nil: nobody's
	stop    func()     // the timer
}

// held is a command that CLIENT PAUSE holds.
type held struct {
	args     [][]byte
	by       pauseKind // the least kind that holds it
	released bool      // it may run; written before the wait is over
}

// clientPause is CLIENT PAUSE timeout [WRITE | ALL].
func clientPause(c *commands.Ctx) resp.Value {
	kind := pauseAll
	switch {
	case len(c.Args) > 4:
		return commands.WrongSubcommandArity(c)
	case len(c.Args) == 3 || commands.EqualFold(c.Args[3], "all"):
	case commands.EqualFold(c.Args[3], "write"):
		kind = pauseWrites
	default:
		return errPauseMode
	}
	ms, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return errTimeoutInteger
	case ms < 0:
		return errTimeoutNegative
	}
	caller(c).engine.pause.begin(kind, ms)
	return resp.OK
}

// clientUnpause is CLIENT UNPAUSE.
func clientUnpause(c *commands.Ctx) resp.Value {
	caller(c).engine.pause.end()
	return resp.OK
}

// begin starts a pause or extends the one under way: neither what is held nor
// the time becomes less by it.
func (p *pause) begin(kind pauseKind, ms int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nowUs := p.nowUs()
	untilUs := nowUs
	// Beyond, Redis' sum overflows and lies in the past.
	if wallMs := p.engine.clock.NowUs() / 1000; ms <= math.MaxInt64-wallMs {
		untilUs += min(ms, (math.MaxInt64-nowUs)/1000) * 1000
	}
	if p.active(nowUs) != pauseNothing {
		kind = max(kind, p.active(nowUs))
		untilUs = max(untilUs, p.untilUs)
	}
	p.untilUs = untilUs
	p.kind.Store(uint32(kind))
	p.engine.store.KeepExpired(true)
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	if after := p.engine.options.After; after != nil && untilUs > nowUs {
		p.stop = after((untilUs-nowUs+999)/1000, p.pass)
	}
	p.advance(nowUs)
}

// end ends the pause before its time.
func (p *pause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untilUs = math.MinInt64
	p.advance(p.nowUs())
}

// pass ends the pause if its time is over. Any goroutine may call it.
func (p *pause) pass() {
	if p.kind.Load() == uint32(pauseNothing) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
}

func (p *pause) nowUs() int64 { return p.engine.clock.MonotonicUs() }

// active is what the pause holds by its time: nothing when that is over, while
// those that were held may still be on their way. It requires mu.
func (p *pause) active(nowUs int64) pauseKind {
	if nowUs >= p.untilUs {
		return pauseNothing
	}
	return pauseKind(p.kind.Load())
}

// advance releases the next command that the pause does not hold any more, or
// ends the pause where there is none. It requires mu.
func (p *pause) advance(nowUs int64) {
	active := p.active(nowUs)
	if active == pauseNothing {
		p.engine.store.KeepExpired(false)
	}
	for i := 0; p.running == nil && i < len(p.line); {
		b := p.line[i]
		if b.held.by <= active {
			i++
			continue
		}
		p.line = slices.Delete(p.line, i, i+1)
		if b.waiter.Claim() {
			p.running = b
			b.held.released = true
			b.end(resp.None)
		}
	}
	if p.running == nil && active == pauseNothing {
		p.kind.Store(uint32(pauseNothing))
	}
}

// gone is for a held command that has run, or never will: the next may.
func (p *pause) gone(b *Blocked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, b); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
	}
	if p.running == b {
		p.running = nil
		p.advance(p.nowUs())
	}
}

// holds reports whether the pause holds a command; the session then waits.
func (p *pause) holds(s *Session, cmd *commands.Command, args [][]byte) bool {
	kind := pauseKind(p.kind.Load())
	if kind == pauseNothing || s.released || s.monitoring || s.peer.Owner {
		return false
	}
	by := pauseAll
	if s.replicates(cmd, args) {
		by = pauseWrites
	}
	if by > kind {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
	if by > pauseKind(p.kind.Load()) {
		return false
	}
	p.line = append(p.line, s.holdBack(&held{args: cloneArgs(args), by: by}))
	return true
}

// replicates is Command.Replicates for EXEC too, with what it will run.
func (s *Session) replicates(cmd *commands.Command, args [][]byte) bool {
	return s.anyRuns(cmd, args, (*commands.Command).Replicates)
}

// holdBack makes the session wait for its own command to be released.
func (s *Session) holdBack(h *held) *Blocked {
	b := &Blocked{session: s, wait: &commands.Wait{TimedOut: resp.NullArray}, silent: true, held: h}
	b.waiter.Owner = b
	s.postponed = true
	s.showBlocked(b)
	return b
}

// proceed runs a command that was held, unless its wait was given up.
func (s *Session) proceed(b *Blocked) resp.Value {
	defer s.engine.pause.gone(b)
	if !b.held.released {
		return b.reply
	}
	s.released = true
	defer func() { s.released = false }()
	return s.Do(b.held.args)
}

func cloneArgs(args [][]byte) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = slices.Clone(a)
	}
	return out
}
