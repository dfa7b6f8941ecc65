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

// A pauseKind says which commands CLIENT PAUSE postpones. Each kind includes those
// before it.
type pauseKind uint32

const (
	pauseNothing pauseKind = iota
	pauseWrites            // commands that may write or be replicated
	pauseAll
)

// pause is CLIENT PAUSE. The sessions of postponed commands are blocked. When the
// pause ends, the commands run one after the other in the order of arrival. Until
// the last one has run, later commands of their kind are postponed too, so that
// they cannot overtake them.
//
// A pause is measured in real time, even if the server's clock is held.
type pause struct {
	engine *Engine
	kind   atomic.Uint32 // a pauseKind: what is postponed now; changed under mu

	mu      sync.Mutex
	untilUs int64      // protected by mu, as are the fields below; on Clock.MonotonicUs
	queue   []*Blocked // the postponed commands, in the order of arrival
	running *Blocked   // the one that runs; nil: none
	stop    func()     // stops the timer
}

// A postponedCommand is one that waits for the end of a pause.
type postponedCommand struct {
	args     [][]byte
	kind     pauseKind // the least kind of pause that postpones it
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
		return commands.ErrTimeoutInteger
	case ms < 0:
		return commands.ErrTimeoutNegative
	}
	caller(c).engine.pause.begin(kind, ms)
	return resp.OK
}

// clientUnpause is CLIENT UNPAUSE.
func clientUnpause(c *commands.Ctx) resp.Value {
	caller(c).engine.pause.end()
	return resp.OK
}

// begin starts a pause, or extends the present one: it postpones no less, and ends
// no earlier.
func (p *pause) begin(kind pauseKind, ms int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nowUs := p.nowUs()
	untilUs := nowUs
	// Otherwise Redis' sum overflows, and is in the past.
	if wallMs := p.engine.clock.NowUs() / 1000; ms <= math.MaxInt64-wallMs {
		untilUs += min(ms, (math.MaxInt64-nowUs)/1000) * 1000
	}
	if p.active(nowUs) != pauseNothing {
		kind = max(kind, p.active(nowUs))
		untilUs = max(untilUs, p.untilUs)
	}
	p.untilUs = untilUs
	p.kind.Store(uint32(kind))
	p.engine.store.KeepExpired(store.WhilePaused, true)
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	if after := p.engine.options.After; after != nil && untilUs > nowUs {
		p.stop = after((untilUs-nowUs+999)/1000, p.expire)
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

// expire ends the pause if its time is over. Any goroutine may call it.
func (p *pause) expire() {
	if p.kind.Load() == uint32(pauseNothing) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
}

func (p *pause) nowUs() int64 { return p.engine.clock.MonotonicUs() }

// active returns what the pause postpones by its time alone: nothing when that is
// over, though postponed commands may remain to be run. It requires mu.
func (p *pause) active(nowUs int64) pauseKind {
	if nowUs >= p.untilUs {
		return pauseNothing
	}
	return pauseKind(p.kind.Load())
}

// advance lets the next command run that the pause no longer postpones. If none
// remains and the time is over, it ends the pause. It requires mu.
func (p *pause) advance(nowUs int64) {
	active := p.active(nowUs)
	if active == pauseNothing {
		p.engine.store.KeepExpired(store.WhilePaused, false)
	}
	for i := 0; p.running == nil && i < len(p.queue); {
		b := p.queue[i]
		if b.postponed.kind <= active {
			i++
			continue
		}
		p.queue = slices.Delete(p.queue, i, i+1)
		if b.waiter.Claim() {
			p.running = b
			b.postponed.released = true
			b.end(resp.None)
		}
	}
	if p.running == nil && active == pauseNothing {
		p.kind.Store(uint32(pauseNothing))
	}
}

// finished says that a postponed command has run or never will. The next one may
// run.
func (p *pause) finished(b *Blocked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.queue, b); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
	}
	if p.running == b {
		p.running = nil
		p.advance(p.nowUs())
	}
}

// postpones reports whether the pause postpones a command. If it does, the session
// is blocked.
func (p *pause) postpones(s *Session, cmd *commands.Command, args [][]byte) bool {
	kind := pauseKind(p.kind.Load())
	if kind == pauseNothing || s.resuming || s.monitoring || s.peer.Owner {
		return false
	}
	least := pauseAll
	if s.anyRuns(cmd, args, (*commands.Command).Replicates) {
		least = pauseWrites
	}
	if least > kind {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
	if least > pauseKind(p.kind.Load()) {
		return false
	}
	p.queue = append(p.queue, s.postpone(&postponedCommand{args: cloneArgs(args), kind: least}))
	return true
}

// postpone blocks the session until its command is released.
func (s *Session) postpone(c *postponedCommand) *Blocked {
	b := &Blocked{session: s, wait: &commands.Wait{TimedOut: resp.NullArray}, silent: true, postponed: c}
	b.waiter.Owner = b
	s.postponed = true
	s.showBlocked(b)
	return b
}

// runPostponed runs a postponed command, unless its wait was ended.
func (s *Session) runPostponed(b *Blocked) resp.Value {
	defer s.engine.pause.finished(b)
	if !b.postponed.released {
		return b.reply
	}
	s.resuming = true
	defer func() { s.resuming = false }()
	return s.Do(b.postponed.args)
}

func cloneArgs(args [][]byte) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = slices.Clone(a)
	}
	return out
}
