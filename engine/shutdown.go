package engine

import (
	"errors"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errShutdownAbort = resp.Error("ERR No shutdown in progress.")
	errShutdownNone  = resp.Error("ERR SHUTDOWN is not possible: nobody owns this process")
	errShutdownSave  = resp.Error("ERR Errors trying to SHUTDOWN. Check logs.")
)

// shutdownCommand returns the row of SHUTDOWN.
func (e *Engine) shutdownCommand() commands.Command {
	return commands.Command{
		Name: "shutdown", Arity: -1,
		Flags: commands.Admin | commands.NoScript | commands.Loading | commands.Stale | commands.NoMulti |
			commands.AllowBusy,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]", Handler: e.shutdown,
		Summary: "Ends the process when the commands under way have finished.",
	}
}

// SetPort sets the function that returns the TCP port of the server over the engine, for INFO, CLUSTER and
// masters. A later server's replaces it.
func (e *Engine) SetPort(port func() int) { e.life.server.Store(&port) }

// port returns the TCP port of the server, or 0.
func (e *Engine) port() int {
	if port := e.life.server.Load(); port != nil {
		return (*port)()
	}
	return 0
}

// ErrShutdownAborted is returned by PrepareShutdown after SHUTDOWN ABORT.
var ErrShutdownAborted = errors.New("aborted by SHUTDOWN ABORT")

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
//
// Answers only if it fails: otherwise the connection closes with the server.
func (e *Engine) shutdown(c *commands.Ctx) resp.Value {
	d := &shutdown{over: make(chan struct{})}
	abort := false
	for _, arg := range c.Args[1:] {
		switch strings.ToLower(string(arg)) {
		case "nosave":
			d.nosave = true
		case "save":
			d.save = true
		case "now":
			d.now = true
		case "force":
			d.force = true
		case "abort":
			abort = true
		default:
			return commands.ErrSyntax
		}
	}
	opened := e.storage.Opened()
	switch {
	case abort && (d.save || d.nosave || d.now || d.force), d.save && d.nosave:
		return commands.ErrSyntax
	case abort && e.cancelShutdown(e.life.abortable()):
		e.options.Log.Info("SHUTDOWN ABORT: the server goes on")
		return resp.OK
	case abort:
		return errShutdownAbort
	case !d.nosave && e.scripts.Busy() != nil:
		return resp.Error(e.scripts.Busy().Reply)
	case e.options.Shutdown == nil:
		return errShutdownNone
	case d.save && !opened && !d.force:
		return errShutdownSave
	}
	if e.storage.Loading() {
		d.save, d.nosave = false, true // as in Redis: a half-loaded keyspace must not replace the file
	}
	d.save = opened && (d.save || !d.nosave && e.storage.HasSavePoints())
	s := caller(c)
	current := e.beginShutdown(d)
	switch {
	case current == d && d.now && !d.save: // nothing is waited for
		s.ending.closing = true
		e.runShutdown(d)
		return resp.None
	case current == d:
		go e.runShutdown(d) // it goes on if the client goes
	}
	return s.Await(0, func(over <-chan struct{}) resp.Value {
		select {
		case <-current.over:
			return errShutdownSave
		case <-over:
			return resp.None
		}
	}, nil)
}

// beginShutdown makes d the shutdown under way unless there is one, and returns the one there is. Writes are
// postponed if replicas are to be waited for.
func (e *Engine) beginShutdown(d *shutdown) *shutdown {
	n := &e.life
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != nil {
		return n.current
	}
	timeoutMs := e.cfg.Int("shutdown-timeout") * 1000
	d.now = d.now || timeoutMs == 0 || e.repl.master.Behind() == 0
	d.deadlineUs = e.clock.MonotonicUs() + timeoutMs*1000
	if !d.now {
		e.pause.Begin(pause.ForShutdown, pause.Period{Kind: pause.Writes, UntilUs: pause.Unlimited})
	}
	n.current = d
	return d
}

// cancelShutdown lets the server go on. It reports whether d was under way.
func (e *Engine) cancelShutdown(d *shutdown) bool {
	n := &e.life
	n.mu.Lock()
	defer n.mu.Unlock()
	if d == nil || n.current != d || n.final {
		return false
	}
	n.current = nil
	e.pause.End(pause.ForShutdown)
	close(d.over)
	return true
}

// End cancels loading and DEBUG SLEEP, and makes scripts fail that are past busy-reply-threshold or reach it.
// From then on the engine is not Ready. Call it before closing the sessions.
func (e *Engine) End() {
	e.life.ending.Store(true)
	e.storage.CancelLoad()
	e.scripts.StopAll()
}

// shutdownInMs returns for how long a shutdown may wait for replicas yet, or -1 if there is none.
func (e *Engine) shutdownInMs() int64 {
	d := e.life.abortable()
	if d == nil {
		return -1
	}
	return max((d.deadlineUs-e.clock.MonotonicUs())/1000, 0)
}

// runShutdown ends the process, unless that fails or is aborted.
func (e *Engine) runShutdown(d *shutdown) {
	e.waitForReplicas(d, nil)
	mode := durable.SaveIfConfigured
	switch {
	case d.save:
		// This save shows whether the keyspace can be saved. Close saves again what
		// commands that still run change.
		e.repl.master.StopCopy() // the save would wait for it
		if err := e.storage.Save(d.over); err != nil && !d.force {
			if e.cancelShutdown(d) {
				e.options.Log.Warn("SHUTDOWN: the keys cannot be saved, so the server goes on", "error", err)
			}
			return
		}
		mode = durable.SaveAlways
	case d.nosave:
		mode = durable.SaveNever
	}
	if e.life.conclude(d) {
		e.storage.SetCloseMode(mode)
		e.End()
		e.options.Shutdown()
	}
}

// waitForReplicas blocks until every replica has confirmed everything, for shutdown-timeout at most. It
// returns soon after insist is closed or d is over.
func (e *Engine) waitForReplicas(d *shutdown, insist <-chan struct{}) {
	if d.now {
		return
	}
	e.options.Log.Info("waiting for replicas before the shutdown")
	e.repl.stream.Tell(replication.Command("REPLCONF", "GETACK", "*"))
	timedOut, stop := e.timer(max((d.deadlineUs-e.clock.MonotonicUs())/1000, 1))
	defer stop()
	for {
		changed := e.repl.master.Changed()
		behind := e.repl.master.Behind()
		if behind == 0 {
			return
		}
		select {
		case <-changed:
			continue
		case <-d.over:
			return
		case <-insist:
		case <-timedOut:
		}
		e.options.Log.Warn("the shutdown leaves replicas behind", "replicas", behind)
		return
	}
}

// PrepareShutdown is called when a signal asks the process to end, before Close. It waits for replicas, as
// SHUTDOWN does, and saves a snapshot if there are save points and no log: a server whose keys cannot be
// saved had better not end. After an error the server goes on. As in Redis, a script past
// busy-reply-threshold that has written is waited for; others are ended. PrepareShutdown returns soon after
// insist is closed.
func (e *Engine) PrepareShutdown(insist <-chan struct{}) error {
	d := &shutdown{over: make(chan struct{})}
	if current := e.beginShutdown(d); current != d {
		select {
		case <-current.over:
			return ErrShutdownAborted
		case <-insist:
			return durable.ErrClosing
		}
	}
	e.waitForReplicas(d, insist)
	if err := e.saveAtSignal(d.over, insist); err != nil {
		select {
		case <-insist: // the process ends all the same
		default:
			e.cancelShutdown(d)
		}
		return err
	}
	if !e.life.conclude(d) {
		return ErrShutdownAborted
	}
	return nil
}

// saveAtSignal saves a snapshot if there are save points and no log, unless one of two channels is closed.
func (e *Engine) saveAtSignal(over, insist <-chan struct{}) error {
	if !e.storage.Opened() || e.storage.Loading() || !e.storage.HasSavePoints() {
		return nil
	}
	stop := make(chan struct{})
	saved := make(chan struct{})
	defer close(saved)
	go func() {
		defer close(stop)
		select {
		case <-over:
		case <-insist:
		case <-saved:
		}
	}()
	e.scripts.StopReaders(true)
	e.repl.master.StopCopy() // the save would wait for it
	for {
		err := e.storage.Save(stop)
		switch {
		case err == nil, errors.Is(err, durable.ErrTorn): // the server is ending already
			return nil
		case !errors.Is(err, durable.ErrBusy):
			e.scripts.StopReaders(false)
			return err
		case e.storage.Logging():
			return nil
		}
		if !e.store.LockOrCancel(store.AllShards, stop) {
			return durable.ErrClosing
		}
		e.store.Unlock(store.AllShards)
	}
}

// CancelSaves cancels a save or a rewrite that is running, and lets none begin: Close does not save either.
func (e *Engine) CancelSaves() { e.storage.CancelJobs() }

// Close ends what runs beside the sessions, which must have ended. It saves a
// snapshot if the directives or SHUTDOWN ask for one, and closes the log.
func (e *Engine) Close() error {
	if l := e.repl.link.Load(); l != nil {
		l.Close()
	}
	if f := e.repl.failover.Swap(nil); f != nil {
		close(f.over)
	}
	e.repl.master.Close()
	err := e.storage.Close()
	e.cfg.End()
	return err
}
