package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errFailoverInCluster = resp.Error(
		"ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.")
	errNoFailover      = resp.Error("ERR No failover in progress.")
	errFailoverTimeout = resp.Error("ERR FAILOVER timeout must be greater than 0")
	errFailoverRuns    = resp.Error("ERR FAILOVER already in progress.")
	errFailoverReplica = resp.Error("ERR FAILOVER is not valid when server is a replica.")
	errFailoverAlone   = resp.Error("ERR FAILOVER requires connected replicas.")
	errFailoverForce   = resp.Error("ERR FAILOVER with force option requires both a timeout and target " +
		"HOST and IP.")
	errFailoverTarget  = resp.Error("ERR FAILOVER target HOST and PORT is not a replica.")
	errFailoverOffline = resp.Error("ERR FAILOVER target replica is not online.")
	errFailingOver     = resp.Error("NOMASTERLINK Can't SYNC while failing over")
	errReplicaOfNow    = resp.Error("ERR REPLICAOF not allowed while failing over.")
	errPromoteMaster   = resp.Error("ERR PSYNC FAILOVER can't be sent to a master.")
	errPromoteOther    = resp.Error("ERR PSYNC FAILOVER replid must match my replid.")
)

// FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]
func (e *Engine) failover(c *commands.Ctx) resp.Value {
	if c.Settings.Cluster {
		return errFailoverInCluster
	}
	if len(c.Args) == 2 && commands.EqualFold(c.Args[1], "abort") {
		return e.failoverAbort()
	}
	f := &failover{over: make(chan struct{})}
	for args := c.Args[1:]; len(args) > 0; {
		switch {
		case commands.EqualFold(args[0], "timeout") && len(args) > 1 && f.timeoutMs == 0:
			ms, ok := store.ParseInt(args[1])
			if !ok {
				return commands.ErrNotInteger
			}
			if ms <= 0 {
				return errFailoverTimeout
			}
			f.timeoutMs, args = ms, args[2:]
		case commands.EqualFold(args[0], "to") && len(args) > 2 && f.host == "":
			port, ok := store.ParseInt(args[2])
			if !ok {
				return commands.ErrNotInteger
			}
			f.host, f.port, args = string(args[1]), int(port), args[3:]
		case commands.EqualFold(args[0], "force") && !f.force:
			f.force, args = true, args[1:]
		default:
			return commands.ErrSyntax
		}
	}
	if refusal := e.refuseFailover(f); refusal.IsError() {
		return refusal
	}
	caller(c).work.rec.commitSoFar()
	e.options.Log.Info("failover: waiting for a replica to have everything", "to", f.target())
	e.repl.failover.Store(f)
	e.pause.Begin(pause.ForFailover, pause.Period{Kind: pause.Writes, UntilUs: pause.Unlimited})
	e.repl.stream.Tell(replication.Command("REPLCONF", "GETACK", "*"))
	go e.awaitFailover(f)
	return resp.OK
}

// refuseFailover returns why a failover cannot begin, or resp.None.
func (e *Engine) refuseFailover(f *failover) resp.Value {
	replicas := e.repl.master.Replicas()
	switch {
	case e.repl.failover.Load() != nil:
		return errFailoverRuns
	case e.repl.link.Load() != nil:
		return errFailoverReplica
	case len(replicas) == 0:
		return errFailoverAlone
	case f.force && (f.timeoutMs == 0 || f.host == ""):
		return errFailoverForce
	case f.host == "":
		return resp.None
	}
	for i := range replicas {
		if !f.wants(&replicas[i]) {
			continue
		}
		if replicas[i].State != replication.Online {
			return errFailoverOffline
		}
		return resp.None
	}
	return errFailoverTarget
}

// wants reports whether a replica may become the master.
func (f *failover) wants(r *replication.ReplicaStatus) bool {
	return f.host == "" || f.port == r.Port && strings.EqualFold(f.host, r.Host())
}

// target returns the address of the replica for the log.
func (f *failover) target() string {
	if f.host == "" {
		return "any replica"
	}
	return joinAddr(f.host, f.port)
}

// awaitFailover waits until a replica has everything, and then lets it be the master.
func (e *Engine) awaitFailover(f *failover) {
	timedOut, stop := e.timer(f.timeoutMs)
	defer stop()
	for {
		changed := e.repl.master.Changed()
		if e.syncedReplica(f) != nil && e.switchRoles(f, false) {
			return
		}
		select {
		case <-changed:
		case <-f.over:
			return
		case <-timedOut:
			e.switchRoles(f, true)
			return
		}
	}
}

// timer returns a channel that is closed ms milliseconds later, unless ms is 0 or stop is called before.
func (e *Engine) timer(ms int64) (over <-chan struct{}, stop func()) {
	if ms == 0 || e.options.After == nil {
		return nil, func() {}
	}
	c := make(chan struct{})
	return c, e.options.After(ms, func() { close(c) })
}

// syncedReplica returns a replica that may become the master and has confirmed everything, or nil.
func (e *Engine) syncedReplica(f *failover) *replication.ReplicaStatus {
	replicas := e.repl.master.Replicas()
	at := e.repl.stream.Position().Offset
	for i := range replicas {
		if r := &replicas[i]; f.wants(r) && r.State == replication.Online && r.Offset == at {
			return r
		}
	}
	return nil
}

// switchRoles makes this server the replica of one that has everything, or, at the timeout, of the target if
// that is forced. It reports whether the wait is over.
func (e *Engine) switchRoles(f *failover, late bool) (over bool) {
	if !e.store.LockOrCancel(store.AllShards, f.over) {
		return true
	}
	defer e.store.Unlock(store.AllShards)
	if e.repl.failover.Load() != f {
		return true
	}
	e.repl.stream.SetFollowing(true) // no ping comes between
	if r := e.syncedReplica(f); r != nil {
		f.host, f.port = r.Host(), r.Port
	} else if !late || !f.force {
		e.repl.stream.SetFollowing(false)
		if late {
			e.endFailover(f)
			e.options.Log.Warn("failover aborted: no replica has everything before the timeout",
				"to", f.target())
		}
		return late
	}
	e.options.Log.Info("failover: asking the replica to be the master", "to", f.target())
	f.asking.Store(true)
	err := e.followMaster(f.host, f.port, func(accepted bool) { e.failoverAnswered(f, accepted) })
	if err != nil {
		e.repl.stream.SetFollowing(false)
		e.endFailover(f)
		e.options.Log.Warn("failover aborted", "to", f.target(), "error", err)
		return true
	}
	e.repl.link.Load().Tick() // it need not wait for the next one
	return true
}

// failoverAnswered is called when the replica has replied to PSYNC.
func (e *Engine) failoverAnswered(f *failover, accepted bool) {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	if e.repl.failover.Load() != f {
		return
	}
	if accepted {
		e.options.Log.Info("failover: the replica is the master", "master", f.target())
	} else {
		e.options.Log.Warn("failover aborted: the replica has refused to be the master", "to", f.target())
		e.promote()
	}
	e.endFailover(f)
}

// FAILOVER ABORT
func (e *Engine) failoverAbort() resp.Value {
	f := e.repl.failover.Load()
	if f == nil {
		return errNoFailover
	}
	e.options.Log.Warn("failover aborted by FAILOVER ABORT", "to", f.target())
	if f.asking.Load() {
		e.promote()
	}
	e.endFailover(f)
	return resp.OK
}

// endFailover lets postponed writes run, so the role must be what it is to be. Every shard must be locked.
func (e *Engine) endFailover(f *failover) {
	e.repl.failover.Store(nil)
	e.pause.End(pause.ForFailover)
	close(f.over)
}

// failoverState names the state for INFO.
func (e *Engine) failoverState() string {
	switch f := e.repl.failover.Load(); {
	case f == nil:
		return "no-failover"
	case f.asking.Load():
		return "failover-in-progress"
	}
	return "waiting-for-sync"
}

// promoteFor makes this replica a master, as its own master asks with PSYNC id offset FAILOVER. Every shard
// must be locked.
func (e *Engine) promoteFor(s *Session, id string) resp.Value {
	switch {
	case e.repl.link.Load() == nil:
		return errPromoteMaster
	case id != e.repl.stream.Position().ID:
		return errPromoteOther
	}
	e.options.Log.Info("the master hands over", "master", s.peer.Addr)
	e.promote()
	return resp.None
}
