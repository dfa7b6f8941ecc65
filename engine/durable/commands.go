package durable

import (
	"errors"
	"math"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Redis 7.0's replies and errors; those of WAITAOF are 7.2's.
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
	errNoRewrite = resp.Error("ERR Can't execute an AOF background rewriting. " +
		"Please check the server logs for more information.")

	errWaitLocal = resp.Error("ERR WAITAOF cannot be used " +
		"when numlocal is set but appendonly is disabled.")
	errWaitRange    = resp.Error("ERR value is out of range, value must between 0 and 1")
	errWaitPositive = resp.Error("ERR value is out of range, must be positive")
)

// A Caller is the session that runs a command of this package: it is the Caller
// of the command's context.
type Caller interface {
	// InExec reports whether the command is one of EXEC's.
	InExec() bool

	// Await makes the session wait for run, in a goroutine of its own, for at most
	// timeoutMs milliseconds; 0 waits forever. The reply is what run returns, or
	// what timedOut returns if the time is up first. run must return soon after
	// over is closed. Await itself returns resp.None at once.
	Await(timeoutMs int64, run func(over <-chan struct{}) resp.Value, timedOut func() resp.Value) resp.Value

	// Written returns the position behind the session's own writes.
	Written() Position
}

func caller(c *commands.Ctx) Caller { return c.Env.Caller.(Caller) }

const jobFlags = commands.Admin | commands.NoScript | commands.NoAsyncLoading

// Commands returns the rows of the commands that write files or wait for them.
func (s *Storage) Commands() []commands.Command {
	return []commands.Command{
		{
			Name: "bgrewriteaof", Arity: 1, Flags: jobFlags,
			Group: "server", Since: "1.0.0", Complexity: "O(1)",
			Handler: s.bgRewriteAOF,
			Summary: "Rewrites the append-only log in the background.",
		},
		{
			Name: "bgsave", Arity: -1, Flags: jobFlags,
			Group: "server", Since: "1.0.0", Complexity: "O(1)",
			Syntax: "[SCHEDULE]", Handler: s.bgSave,
			Summary:   "Saves a snapshot in the background.",
			Deviation: "it waits for a copy that is sent to replicas, instead of an error",
		},
		{
			Name: "lastsave", Arity: 1, Flags: commands.Loading | commands.Stale | commands.Fast,
			Categories: []string{"admin", "dangerous"}, Tips: []string{"nondeterministic_output"},
			Group: "server", Since: "1.0.0", Complexity: "O(1)", Handler: s.lastSave,
			Summary: "Returns when a snapshot was last saved, in unix seconds.",
		},
		{
			Name: "save", Arity: 1, Flags: jobFlags | commands.NoMulti,
			Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the number of keys",
			Handler:   s.save,
			Summary:   "Saves a snapshot and replies when it is on disk.",
			Deviation: "other clients are served meanwhile",
		},
		{
			Name: "waitaof", Arity: 4, Flags: commands.Blocking, Categories: []string{"connection"},
			Place: commands.PlaceRefused,
			Tips:  []string{"request_policy:all_shards", "response_policy:agg_min"},
			Group: "generic", Since: "7.2.0", Complexity: "O(1)",
			Syntax: "numlocal numreplicas timeout", Handler: s.waitAOF,
			Summary:   "Blocks until what this connection has written is on disk.",
			Deviation: "from Redis 7.2; replicas do not confirm that they have synced, so none is counted",
		},
	}
}

// SAVE
func (s *Storage) save(c *commands.Ctx) resp.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.jobs.runs(saveJob):
		return errSaving
	case !s.opened:
		return errSave
	}
	return caller(c).Await(0, func(over <-chan struct{}) resp.Value {
		if s.Save(over) != nil {
			return errSave
		}
		return resp.OK
	}, nil)
}

// BGSAVE [SCHEDULE]
//
// In a transaction the save is scheduled for its end, as in Redis.
func (s *Storage) bgSave(c *commands.Ctx) resp.Value {
	schedule := len(c.Args) == 2 && commands.EqualFold(c.Args[1], "schedule")
	if len(c.Args) > 1 && !schedule {
		return commands.ErrSyntax
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	inExec := caller(c).InExec()
	switch busy := s.jobs.busy(); {
	case s.jobs.runs(saveJob):
		return errSaving
	case busy && !schedule && !inExec:
		return errOtherJob
	case busy || inExec && s.opened:
		s.jobs.saveNext = true
		return replySaveScheduled
	case s.jobs.current != nil: // it was canceled
		s.jobs.saveNext = true
	case s.start(saveJob) == nil:
		return errSave
	}
	return replySaveStarted
}

// LASTSAVE
func (s *Storage) lastSave(*commands.Ctx) resp.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return resp.Int(s.jobs.lastSaveS)
}

// BGREWRITEAOF
func (s *Storage) bgRewriteAOF(c *commands.Ctx) resp.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.jobs.runs(rewriteJob):
		return errRewriting
	case s.jobs.busy() || caller(c).InExec() && s.opened:
		s.jobs.rewriteNext = true
		s.jobs.outcomes[rewriteJob].failures = 0
		return replyRewriteScheduled
	case s.jobs.current != nil: // it was canceled
		s.jobs.rewriteNext = true
	case s.start(rewriteJob) == nil:
		return errNoRewrite
	}
	return replyRewriteStarted
}

// WAITAOF numlocal numreplicas timeout
//
// Answers how many logs hold what the connection has written: 1 if ours has it on
// disk, and 0 replicas, which do not confirm that they have synced.
func (s *Storage) waitAOF(c *commands.Ctx) resp.Value {
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
		return commands.ErrTimeoutInteger
	case timeoutMs < 0:
		return commands.ErrTimeoutNegative
	}
	log, written := s.log.Load(), caller(c).Written()
	if local == 1 && log == nil {
		return errWaitLocal
	}
	pos := written.end
	if written.log != log {
		pos = 0 // the log was switched on later, and its first rewrite has it
	}
	reply := func() resp.Value {
		synced := int64(0)
		if log != nil && log.Durable(pos) {
			synced = 1
		}
		return resp.Array(resp.Int(synced), resp.Int(0))
	}
	mayWait := c.Mode.Is(commands.MayWait) && !caller(c).InExec()
	if !mayWait || replicas == 0 && (local == 0 || log.Durable(pos)) {
		return reply()
	}
	return caller(c).Await(timeoutMs, func(over <-chan struct{}) resp.Value {
		if replicas == 0 {
			switch err := log.WaitDurable(pos, over); {
			case err == nil:
				return reply()
			case errors.Is(err, aof.ErrClosed): // as in Redis: it will never be
				return errWaitLocal
			}
		}
		<-over // no replica is counted: only time ends it
		return resp.None
	}, reply)
}
