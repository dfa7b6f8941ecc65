package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/effects"
)

// An Env is what surrounds the commands of one session and the calls of its scripts: what
// observes them, what they are counted in, and what they may reach.
type Env struct {
	watched Watched

	group     *effects.Group
	afterRead func(cmd *Command, args [][]byte)
	monitor   Monitor
	observer  Observer

	// Guard decides what scripts may call, and what else a call may reach; nil: everything.
	Guard Guard

	// Limits is what the rate limit commands keep of a session; see package rl.
	Limits any

	// Slot is, in a cluster, the slot of the keys of the command under way, or of the first call of its
	// scripts that has keys; NoSlot: of none so far.
	Slot int

	Nested []CallCount // calls by scripts that are not in the statistics yet, one entry for each command

	// Caller is the session that runs the command, for the groups of other packages.
	// Handlers of this package use it as a Stepper only.
	Caller any
}

// Watched is a set of what sees the commands that run. If it is empty, a command is its handler and
// nothing else.
type Watched uint8

// The elements of Watched.
const (
	watchedEffects   Watched = 1 << iota // see Record
	watchedReads                         // see AfterReads
	watchedMonitor                       // see ShowTo
	watchedObserver                      // see ObserveBy
	watchedSnapshots                     // see Preserve
)

func (w *Watched) set(bit Watched, on bool) {
	*w &^= bit
	if on {
		*w |= bit
	}
}

// Unwatch ends what the following methods have begun.
func (e *Env) Unwatch() {
	if e.watched != 0 {
		e.watched, e.group, e.afterRead, e.monitor, e.observer = 0, nil, nil, nil, nil
	}
}

// Record makes commands record their effects in g; nil: they don't. See effects.go.
func (e *Env) Record(g *effects.Group) {
	e.group = g
	e.watched.set(watchedEffects, g != nil)
}

// AfterReads has fn called with each command that has the flag ReadOnly, after it has run; nil: nothing is.
func (e *Env) AfterReads(fn func(cmd *Command, args [][]byte)) {
	e.afterRead = fn
	e.watched.set(watchedReads, fn != nil)
}

// ShowTo passes each command that runs to m; nil: to nobody.
func (e *Env) ShowTo(m Monitor) {
	e.monitor = m
	e.watched.set(watchedMonitor, m != nil)
}

// ObserveBy passes each command, after it has run, to o; nil: to nobody.
func (e *Env) ObserveBy(o Observer) {
	e.observer = o
	e.watched.set(watchedObserver, o != nil)
}

// Preserve says whether a snapshot is in progress, to which a command passes the keys that it is about to
// change.
func (e *Env) Preserve(on bool) { e.watched.set(watchedSnapshots, on) }

// Shown reports whether there is a monitor.
func (e *Env) Shown() bool { return e.watched&watchedMonitor != 0 }

// Observed reports whether there is an observer.
func (e *Env) Observed() bool { return e.watched&watchedObserver != 0 }

// Group returns where the effects of commands are recorded; nil: nowhere.
func (c *Ctx) Group() *effects.Group {
	if c.Env == nil {
		return nil
	}
	return c.Env.group
}

// Guard returns what decides what the call may reach; nil: it may reach everything.
func (c *Ctx) Guard() Guard {
	if c.Env == nil {
		return nil
	}
	return c.Env.Guard
}

// A Monitor receives the commands that run, for MONITOR.
type Monitor interface {
	// Called adds a call. The database is c's.
	Called(c *Ctx, args [][]byte)
}

// An Observer looks at what commands and scripts do, for RL.DOCTOR.
type Observer interface {
	// Ran is called after a command has run, while its shards are locked. Arguments and
	// reply are valid during the call. A script's calls precede the script.
	Ran(c *Ctx, cmd *Command, args [][]byte, reply resp.Value)
	// SkipsCalls reports whether Ran need not be called for the calls of the script that begins.
	SkipsCalls() bool
}

// Run runs the handler of c.Cmd. Sessions, EXEC and scripts all call it, so what
// surrounds every handler is in one place.
func (c *Ctx) Run() resp.Value {
	if c.Env == nil || c.Env.watched == 0 {
		return c.Cmd.Handler(c)
	}
	return c.runWatched()
}

// runWatched is Run for a command that something sees. As in Redis, MONITOR shows it after it has run, so
// that SELECT is shown with the new database, and EXEC after its commands; a script precedes its calls.
// Admin commands are not shown.
func (c *Ctx) runWatched() (reply resp.Value) {
	env, cmd, args := c.Env, c.Cmd, c.Args // a script changes Cmd and Args
	if env.watched&watchedSnapshots != 0 && cmd.Is(Write) && c.DB != nil {
		c.preserve()
	}
	shown := env.Shown() && !cmd.Is(Admin)
	if shown && cmd.Is(SkipMonitor) {
		env.monitor.Called(c, args)
		shown = false
	}
	skips := cmd.Is(SkipMonitor) && env.Observed() && env.observer.SkipsCalls()
	if skips { // if nothing else sees them, the calls are their handlers
		env.watched.set(watchedObserver, false)
	}
	if env.group != nil {
		reply = c.runRecorded()
	} else {
		reply = cmd.Handler(c)
	}
	if env.afterRead != nil && cmd.Is(ReadOnly) {
		env.afterRead(cmd, args)
	}
	if shown {
		env.monitor.Called(c, args)
	}
	if skips {
		env.ObserveBy(env.observer)
	}
	if env.Observed() {
		env.observer.Ran(c, cmd, args, reply)
	}
	return reply
}

// RedactedArg stands for an argument that is hidden.
const RedactedArg = "(redacted)"

// Redact hides an argument of the command under way from MONITOR and SLOWLOG. The
// commands that hide arguments hide some of the first, or all from one on.
func (c *Ctx) Redact(arg int) { c.Redacted |= 1 << min(arg, 63) }
