package engine

import (
	"errors"
	"math"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Replies and errors of the commands that write files, Redis 7.0's; WAITAOF's
// are 7.2's.
var (
	replySaveStarted      = resp.Status("Background saving started")
	replySaveScheduled    = resp.Status("Background saving scheduled")
	replyRewriteStarted   = resp.Status("Background append only file rewriting started")
	replyRewriteScheduled = resp.Status("Background append only file rewriting scheduled")

	errSaving    = resp.Error("ERR Background save already in progress")
	errRewriting = resp.Error("ERR Background append only file rewriting already in progress")
	errOtherJob  = resp.Error("ERR Another child process is active (AOF?): can't BGSAVE right now. " +
		"Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible.")
	errSave      = resp.Error("ERR")
	errNoRewrite = resp.Error("ERR Can't execute an AOF background rewriting. Please check the server logs for more information.")

	errWaitLocal    = resp.Error("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")
	errWaitRange    = resp.Error("ERR value is out of range, value must between 0 and 1")
	errWaitPositive = resp.Error("ERR value is out of range, must be positive")
	errWaitInteger  = resp.Error("ERR timeout is not an integer or out of range")
	errWaitNegative = resp.Error("ERR timeout is negative")
)

const persistFlags = commands.Admin | commands.NoScript | commands.NoAsyncLoading

// persistGroup is what writes files, and what waits for them.
func (e *Engine) persistGroup() []commands.Command {
	return []commands.Command{
		{
			Name: "bgrewriteaof", Arity: 1, Flags: persistFlags, Group: "server", Since: "1.0.0", Complexity: "O(1)",
			Handler: e.bgRewriteAOF,
			Summary: "Writes the append-only log anew and shorter, beside the traffic.",
		},
		{
			Name: "bgsave", Arity: -1, Flags: persistFlags, Group: "server", Since: "1.0.0", Complexity: "O(1)",
			Syntax: "[SCHEDULE]", Handler: e.bgSave,
			Summary: "Saves a snapshot beside the traffic.",
		},
		{
			Name: "lastsave", Arity: 1, Flags: commands.Loading | commands.Stale | commands.Fast, Categories: []string{"admin", "dangerous"},
			Tips:  []string{"nondeterministic_output"},
			Group: "server", Since: "1.0.0", Complexity: "O(1)", Handler: e.lastSave,
			Summary: "Answers when a snapshot was last saved, in unix seconds.",
		},
		{
			Name: "save", Arity: 1, Flags: persistFlags | commands.NoMulti, Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the number of keys",
			Handler:   e.saveCommand,
			Summary:   "Saves a snapshot and answers when it is on disk.",
			Deviation: "other clients are served meanwhile",
		},
		{
			Name: "waitaof", Arity: 4, Flags: commands.Blocking, Categories: []string{"connection"},
			Tips:  []string{"request_policy:all_shards", "response_policy:agg_min"},
			Group: "generic", Since: "7.2.0", Complexity: "O(1)", Syntax: "numlocal numreplicas timeout", Handler: e.waitAOF,
			Summary:   "Waits until what this connection has written is on disk.",
			Deviation: "from Redis 7.2; there are no replicas",
		},
	}
}

// SAVE
func (e *Engine) saveCommand(c *commands.Ctx) resp.Value {
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.jobs.now != nil && p.jobs.now.kind == saving:
		return errSaving
	case !p.opened:
		return errSave
	}
	return caller(c).await(0, func(over <-chan struct{}) resp.Value {
		if e.saveNow(over) != nil {
			return errSave
		}
		return resp.OK
	}, nil)
}

// BGSAVE [SCHEDULE]
func (e *Engine) bgSave(c *commands.Ctx) resp.Value {
	schedule := len(c.Args) == 2 && commands.EqualFold(c.Args[1], "schedule")
	if len(c.Args) > 1 && !schedule {
		return commands.ErrSyntax
	}
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	inExec := caller(c).inExec
	switch now := p.jobs.now; {
	case now != nil && now.kind == saving:
		return errSaving
	case now != nil && !schedule && !inExec:
		return errOtherJob
	case now != nil || inExec && p.opened: // of a transaction, as in Redis: after it
		p.jobs.saveNext = true
		return replySaveScheduled
	case e.beginLocked(saving) == nil:
		return errSave
	}
	return replySaveStarted
}

// LASTSAVE
func (e *Engine) lastSave(*commands.Ctx) resp.Value {
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	return resp.Int(p.jobs.lastSaveS)
}

// BGREWRITEAOF
func (e *Engine) bgRewriteAOF(c *commands.Ctx) resp.Value {
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := p.jobs.now; {
	case now != nil && now.kind == rewriting:
		return errRewriting
	case now != nil || caller(c).inExec && p.opened:
		p.jobs.rewriteNext = true
		p.jobs.outcomes[rewriting].failures = 0
		return replyRewriteScheduled
	case e.beginLocked(rewriting) == nil:
		return errNoRewrite
	}
	return replyRewriteStarted
}

// WAITAOF numlocal numreplicas timeout
//
// Answers how many logs have what the connection has written: 1 for ours where
// it is on disk, and no replica's.
func (e *Engine) waitAOF(c *commands.Ctx) resp.Value {
	local, ok := store.ParseInt(c.Args[1])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case local < 0 || local > 1:
		return errWaitRange
	}
	replicas, ok := store.ParseInt(c.Args[2])
	if !ok || replicas < 0 {
		return errWaitPositive
	}
	timeoutMs, ok := store.ParseInt(c.Args[3])
	switch {
	case !ok || timeoutMs == math.MinInt64:
		return errWaitInteger
	case timeoutMs < 0:
		return errWaitNegative
	}
	s, log := caller(c), e.persist.log.Load()
	if local == 1 && log == nil {
		return errWaitLocal
	}
	pos := s.wrote
	if s.wroteTo != log {
		pos = 0 // the log was switched on later, and its first rewrite has it
	}
	reply := func() resp.Value {
		synced := int64(0)
		if log != nil && log.Durable(pos) {
			synced = 1
		}
		return resp.Array(resp.Int(synced), resp.Int(0))
	}
	if s.inExec || !c.MayWait || replicas == 0 && (local == 0 || log.Durable(pos)) {
		return reply()
	}
	return s.await(timeoutMs, func(over <-chan struct{}) resp.Value {
		if replicas == 0 {
			switch err := log.WaitDurable(pos, over); {
			case err == nil:
				return reply()
			case errors.Is(err, aof.ErrClosed): // as in Redis: it will never be
				return errWaitLocal
			}
		}
		<-over // there are no replicas: only time ends it
		return resp.None
	}, reply)
}
