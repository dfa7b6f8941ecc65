package engine

import (
	"errors"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errShutdownAbort = resp.Error("ERR No shutdown in progress.")
	errShutdownNone  = resp.Error("ERR SHUTDOWN is not possible: nobody owns this process")
	errShutdownSave  = resp.Error("ERR Errors trying to SHUTDOWN. Check logs.")
)

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
//
// Answers nothing where it works: the connection closes when the server goes.
func (e *Engine) shutdown(c *commands.Ctx) resp.Value {
	var save, nosave, now, force, abort bool
	for _, arg := range c.Args[1:] {
		switch strings.ToLower(string(arg)) {
		case "nosave":
			nosave = true
		case "save":
			save = true
		case "now":
			now = true
		case "force":
			force = true
		case "abort":
			abort = true
		default:
			return commands.ErrSyntax
		}
	}
	switch {
	case abort && (save || nosave || now || force), save && nosave:
		return commands.ErrSyntax
	case abort:
		return errShutdownAbort
	case !nosave && e.scripts.Busy() != nil:
		return resp.Error(e.scripts.Busy().Reply)
	case e.options.Shutdown == nil:
		return errShutdownNone
	case save && !e.persist.opened && !force:
		return errShutdownSave
	}
	s := caller(c)
	if e.persist.loading.Load() != nil {
		save, nosave = false, true // as Redis: half of what a file holds must not replace it
	}
	if save = save || !nosave && e.hasSavePoints(); !save || !e.persist.opened {
		e.persist.noSave.Store(nosave)
		s.closing = true
		e.leave()
		return resp.None
	}
	// What is saved now shows whether it can be; what commands still under way
	// change is saved at the very end once more.
	return s.await(0, func(over <-chan struct{}) resp.Value {
		if e.saveNow(over) != nil && !force {
			return errShutdownSave
		}
		e.persist.mustSave.Store(true)
		e.leave()
		return resp.None // the connection closes when the server goes
	}, nil)
}

// leave ends the process that runs the engine.
func (e *Engine) leave() {
	e.End()
	e.options.Shutdown()
}

func (e *Engine) hasSavePoints() bool {
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.points) > 0
}

// SaveBeforeEnd is what SIGTERM asks for first: where there are save points, and
// the keys cannot be saved, a server had better not end. A script that is past
// busy-reply-threshold is waited for, as in Redis, if it has written; others are
// ended. It returns soon after insist is closed. Where there is a log, what it
// holds suffices.
func (e *Engine) SaveBeforeEnd(insist <-chan struct{}) error {
	if !e.persist.opened || e.persist.loading.Load() != nil || !e.hasSavePoints() {
		return nil
	}
	e.scripts.EndReaders(true)
	for {
		err := e.saveNow(insist)
		switch {
		case err == nil, errors.Is(err, errTorn): // it ends already
			return nil
		case !errors.Is(err, errSnapshotBusy):
			e.scripts.EndReaders(false)
			return err
		case e.persist.log.Load() != nil:
			return nil
		}
		if !e.store.LockUnless(store.AllShards, insist) {
			return errEnding
		}
		e.store.Unlock(store.AllShards)
	}
}

// Close ends what goes on beside the sessions, which have ended: a job under way
// is given up, what changed since the last save is saved where that is asked
// for, the log is synced, and the directory is free for others.
func (e *Engine) Close() error {
	p := &e.persist
	if !p.opened {
		return nil
	}
	p.mu.Lock()
	p.jobs.saveNext, p.jobs.rewriteNext = false, false
	j := p.jobs.now
	p.mu.Unlock()
	if j != nil {
		j.giveUp()
		<-j.done
	}
	var failed error
	if loaded := p.loading.Load() == nil; loaded && p.changes.Load() > 0 && !p.noSave.Load() && (p.mustSave.Load() || e.hasSavePoints()) {
		failed = e.saveNow(nil)
		if errors.Is(failed, errTorn) && p.log.Load() != nil {
			failed = nil // the log has all that was whole
		}
	}
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.work.Wait()
	e.endLog()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.release != nil {
		failed = errors.Join(failed, p.release())
		p.release = nil
	}
	return failed
}
