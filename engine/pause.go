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

// A pausePurpose is what commands are postponed for. Each purpose has a pause of its
// own, and the commands wait for the end of all that postpone them.
type pausePurpose int

const (
	pausedByClient    pausePurpose = iota // CLIENT PAUSE
	pausedForShutdown                     // replicas are waited for
	pausedForFailover
	pausePurposes
)

// A pausePeriod is the pause for one purpose.
type pausePeriod struct {
	kind    pauseKind
	untilUs int64 // on Clock.MonotonicUs; unlimited: until it is ended
}

// unlimited is the end of a pause that has none.
const unlimited = math.MaxInt64

// pause postpones commands. The sessions of postponed commands are blocked. When the
// pause ends, the commands run one after the other in the order of arrival. Until
// the last one has run, later commands of their kind are postponed too, so that
// they cannot overtake them.
//
// A pause is measured in real time, even if the server's clock is held.
type pause struct {
	engine *Engine
	kind   atomic.Uint32 // a pauseKind: what is postponed now; changed under mu

	mu      sync.Mutex
	periods [pausePurposes]pausePeriod // protected by mu, as are the fields below
	queue   []*Blocked                 // the postponed commands, in the order of arrival
	running *Blocked                   // the one that runs; nil: none
	stop    func()                     // stops the timer; nil: there is none
	timerUs int64                      // when the timer calls expire
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
	e := caller(c).engine
	nowUs := e.clock.MonotonicUs()
	untilUs := nowUs
	// Otherwise Redis' sum overflows, and is in the past.
	if wallMs := e.clock.NowUs() / 1000; ms <= math.MaxInt64-wallMs {
		untilUs += min(ms, (math.MaxInt64-nowUs)/1000) * 1000
	}
	e.pause.begin(pausedByClient, pausePeriod{kind, untilUs})
	return resp.OK
}

// clientUnpause is CLIENT UNPAUSE.
func clientUnpause(c *commands.Ctx) resp.Value {
	caller(c).engine.pause.end(pausedByClient)
	return resp.OK
}

// begin starts the pause for a purpose, or extends it: it postpones no less, and ends
// no earlier.
func (p *pause) begin(purpose pausePurpose, period pausePeriod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nowUs := p.nowUs()
	if old := p.periods[purpose]; nowUs < old.untilUs {
		period.kind = max(period.kind, old.kind)
		period.untilUs = max(period.untilUs, old.untilUs)
	}
	p.periods[purpose] = period
	p.kind.Store(max(p.kind.Load(), uint32(period.kind)))
	p.engine.store.KeepExpired(store.WhilePaused, true)
	p.advance(nowUs)
}

// end ends the pause for a purpose before its time.
func (p *pause) end(purpose pausePurpose) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.periods[purpose] = pausePeriod{}
	p.advance(p.nowUs())
}

// expire ends the pauses whose time is over. Any goroutine may call it.
func (p *pause) expire() {
	if !p.on() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
}

func (p *pause) nowUs() int64 { return p.engine.clock.MonotonicUs() }

// on reports whether anything is postponed.
func (p *pause) on() bool { return p.kind.Load() != uint32(pauseNothing) }

// active returns what is postponed by the time alone, and when that changes next:
// nothing when every pause is over, though postponed commands may remain to be run. It
// requires mu.
func (p *pause) active(nowUs int64) (kind pauseKind, nextUs int64) {
	nextUs = unlimited
	for _, period := range p.periods {
		if nowUs < period.untilUs {
			kind = max(kind, period.kind)
			nextUs = min(nextUs, period.untilUs)
		}
	}
	return kind, nextUs
}

// advance lets the next command run that no pause postpones any longer. If none
// remains and the time is over, nothing is postponed. It requires mu.
func (p *pause) advance(nowUs int64) {
	active, nextUs := p.active(nowUs)
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
	if p.running == nil && pauseKind(p.kind.Swap(uint32(active))) != active && active == pauseNothing {
		p.engine.locks.waits.kick()
	}
	p.setTimer(nowUs, nextUs)
}

// setTimer arranges that expire is called at an instant. It requires mu.
func (p *pause) setTimer(nowUs, atUs int64) {
	if p.stop != nil && p.timerUs == atUs {
		return
	}
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	if after := p.engine.options.After; after != nil && atUs != unlimited {
		p.stop, p.timerUs = after((atUs-nowUs+999)/1000, p.expire), atUs
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
	if kind == pauseNothing || s.work.req.resumed || s.seen.monitoring ||
		s.peer.Owner && s.side.follows == nil {
		return false
	}
	least := pauseAll
	if s.tx.anyRuns(cmd, args, (*commands.Command).Replicates) {
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
	p.queue = append(p.queue, s.postpone(&postponedCommand{kind: least}, args))
	return true
}

// postpone blocks the session until its call is released.
func (s *Session) postpone(c *postponedCommand, args [][]byte) *Blocked {
	c.args, c.request = cloneArgs(args), s.work.req
	c.request.resumed = true
	b := &Blocked{session: s, wait: &commands.Wait{TimedOut: resp.NullArray}, silent: true, postponed: c}
	b.waiter.Owner = b
	s.work.req.postponed = true
	b.show()
	return b
}

func cloneArgs(args [][]byte) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = slices.Clone(a)
	}
	return out
}
