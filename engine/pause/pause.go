// Package pause postpones commands: for CLIENT PAUSE, and while a shutdown or a failover waits for replicas.
// It knows no sessions: they block, and run what is released.
//
// This package is internal to zlimit: it may change in any release.
package pause

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Kind says which commands a pause postpones. Each kind includes those before it.
type Kind uint32

// The kinds.
const (
	Nothing Kind = iota
	Writes       // commands that may write or be replicated
	All
)

// A Purpose is what commands are postponed for. Each purpose has a pause of its own, and the commands wait
// for the end of all that postpone them.
type Purpose int

// The purposes.
const (
	ByClient    Purpose = iota // CLIENT PAUSE
	ForShutdown                // replicas are waited for
	ForFailover
	purposes
)

// A Period is the pause for one purpose.
type Period struct {
	Kind    Kind
	UntilUs int64 // on Clock.MonotonicUs; Unlimited: until it is ended
}

// Unlimited is the end of a pause that has none.
const Unlimited = math.MaxInt64

// A Command is one that waits for the end of a pause.
type Command struct {
	Least Kind // the least kind of pause that postpones it
	// Release lets it run, and reports whether it does: it does not if its wait was ended. It calls no method
	// of Pauses.
	Release func() bool
}

// Options configures Pauses.
type Options struct {
	Clock *clock.Clock
	Store *store.Store
	// After is that of engine.Options. It may be nil.
	After func(ms int64, fn func()) (stop func())
	// Over is called when nothing is postponed any longer. It calls no method of Pauses but On.
	Over func()
}

// Pauses postpone commands. When they end, the commands run one after the other in the order of arrival.
// Until the last one has run, later commands of their kind are postponed too, so that they cannot overtake
// them.
//
// A pause is measured in real time, even if the server's clock is held.
type Pauses struct {
	options Options
	kind    atomic.Uint32 // a Kind: what is postponed now; changed under mu

	mu      sync.Mutex
	periods [purposes]Period // protected by mu, as are the fields below
	queue   []*Command       // in the order of arrival
	running *Command         // the one that runs; nil: none
	stop    func()           // stops the timer; nil: there is none
	timerUs int64            // when the timer calls Expire
}

// Init must be called before any other method.
func (p *Pauses) Init(o Options) { p.options = o }

var errMode = resp.Error("ERR CLIENT PAUSE mode must be WRITE or ALL")

// Client is CLIENT PAUSE timeout [WRITE | ALL].
func (p *Pauses) Client(c *commands.Ctx) resp.Value {
	kind := All
	switch {
	case len(c.Args) > 4:
		return commands.WrongSubcommandArity(c)
	case len(c.Args) == 3 || commands.EqualFold(c.Args[3], "all"):
	case commands.EqualFold(c.Args[3], "write"):
		kind = Writes
	default:
		return errMode
	}
	ms, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return commands.ErrTimeoutInteger
	case ms < 0:
		return commands.ErrTimeoutNegative
	}
	nowUs := p.nowUs()
	untilUs := nowUs
	// Otherwise Redis' sum overflows, and is in the past.
	if wallMs := p.options.Clock.NowUs() / 1000; ms <= math.MaxInt64-wallMs {
		untilUs += min(ms, (math.MaxInt64-nowUs)/1000) * 1000
	}
	p.Begin(ByClient, Period{kind, untilUs})
	return resp.OK
}

// Begin starts the pause for a purpose, or extends it: it postpones no less, and ends no earlier.
func (p *Pauses) Begin(purpose Purpose, period Period) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nowUs := p.nowUs()
	if old := p.periods[purpose]; nowUs < old.UntilUs {
		period.Kind = max(period.Kind, old.Kind)
		period.UntilUs = max(period.UntilUs, old.UntilUs)
	}
	p.periods[purpose] = period
	p.kind.Store(max(p.kind.Load(), uint32(period.Kind)))
	p.options.Store.KeepExpired(store.WhilePaused, true)
	p.advance(nowUs)
}

// End ends the pause for a purpose before its time.
func (p *Pauses) End(purpose Purpose) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.periods[purpose] = Period{}
	p.advance(p.nowUs())
}

// Expire ends the pauses whose time is over. Any goroutine may call it.
func (p *Pauses) Expire() {
	if !p.On() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
}

func (p *Pauses) nowUs() int64 { return p.options.Clock.MonotonicUs() }

// On reports whether anything is postponed.
func (p *Pauses) On() bool { return p.Kind() != Nothing }

// Kind returns what is postponed now.
func (p *Pauses) Kind() Kind { return Kind(p.kind.Load()) }

// active returns what is postponed by the time alone, and when that changes next: nothing when every pause is
// over, though postponed commands may remain to be run. It requires mu.
func (p *Pauses) active(nowUs int64) (kind Kind, nextUs int64) {
	nextUs = Unlimited
	for _, period := range p.periods {
		if nowUs < period.UntilUs {
			kind = max(kind, period.Kind)
			nextUs = min(nextUs, period.UntilUs)
		}
	}
	return kind, nextUs
}

// advance lets the next command run that no pause postpones any longer. If none
// remains and the time is over, nothing is postponed. It requires mu.
func (p *Pauses) advance(nowUs int64) {
	active, nextUs := p.active(nowUs)
	if active == Nothing {
		p.options.Store.KeepExpired(store.WhilePaused, false)
	}
	for i := 0; p.running == nil && i < len(p.queue); {
		c := p.queue[i]
		if c.Least <= active {
			i++
			continue
		}
		p.queue = slices.Delete(p.queue, i, i+1)
		if c.Release() {
			p.running = c
		}
	}
	if p.running == nil && Kind(p.kind.Swap(uint32(active))) != active && active == Nothing {
		p.options.Over()
	}
	p.setTimer(nowUs, nextUs)
}

// setTimer arranges that Expire is called at an instant. It requires mu.
func (p *Pauses) setTimer(nowUs, atUs int64) {
	if p.stop != nil && p.timerUs == atUs {
		return
	}
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	if after := p.options.After; after != nil && atUs != Unlimited {
		p.stop, p.timerUs = after((atUs-nowUs+999)/1000, p.Expire), atUs
	}
}

// Finished says that a postponed command has run or never will. The next one may run.
func (p *Pauses) Finished(c *Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.queue, c); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
	}
	if p.running == c {
		p.running = nil
		p.advance(p.nowUs())
	}
}

// Postpone calls block and postpones a command, unless no pause postpones it. It reports whether it has.
func (p *Pauses) Postpone(c *Command, block func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(p.nowUs())
	if c.Least > p.Kind() {
		return false
	}
	block()
	p.queue = append(p.queue, c)
	return true
}
