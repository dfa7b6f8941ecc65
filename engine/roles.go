package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// initReplication makes the server a master without replicas.
func (e *Engine) initReplication() {
	r := &e.repl
	r.stream.Init()
	r.master = replication.NewMaster(&r.stream, replication.MasterOptions{
		Snapshot:  e.copyKeys,
		Activated: e.recordStream,
		Log:       e.logReplication,
	})
}

// copyKeys writes a copy for replicas.
func (e *Engine) copyKeys(
	w io.Writer, part replication.Part, stop <-chan struct{}, begin func() replication.Position,
) error {
	here := func() durable.History { // pings may move the stream meanwhile
		at := begin()
		h, _ := e.repl.history()
		h.ID, h.Offset = at.ID, at.Offset
		return h
	}
	if part == replication.Everything {
		return e.storage.Copy(w, stop, here)
	}
	return e.storage.CopyWithoutKeys(w, part == replication.FunctionsOnly, here)
}

func (e *Engine) logReplication(warning bool, text string, attrs ...any) {
	level := slog.LevelInfo
	if warning {
		level = slog.LevelWarn
	}
	e.options.Log.Log(context.Background(), level, text, attrs...)
}

func (e *Engine) masterSettings() replication.MasterSettings {
	limit := e.cfg.OutputBufferLimit(config.ClassReplica)
	const s = 1_000_000
	delay := int64(0)
	if e.cfg.Bool("repl-diskless-sync") {
		delay = e.cfg.Int("repl-diskless-sync-delay")
	}
	if limit.HardBytes > 0 { // what the backlog has costs nothing more, and a replica may continue from it
		limit.HardBytes = max(limit.HardBytes, e.cfg.Int("repl-backlog-size"))
	}
	return replication.MasterSettings{
		SyncDelayUs:  delay * s,
		SyncReplicas: int(e.cfg.Int("repl-diskless-sync-max-replicas")),
		PingUs:       e.cfg.Int("repl-ping-replica-period") * s,
		NowMs:        e.clock.NowUs() / 1000,
		TimeoutUs:    e.cfg.Int("repl-timeout") * s,
		BacklogTTLUs: e.cfg.Int("repl-backlog-ttl") * s,
		HardBytes:    limit.HardBytes, SoftBytes: limit.SoftBytes, SoftUs: limit.SoftSeconds * s,
	}
}

// tickReplication does what is due.
func (e *Engine) tickReplication() {
	r := &e.repl
	link := r.link.Load()
	r.master.Tick(e.clock.MonotonicUs(), e.masterSettings())
	if link != nil && !e.storage.Loading() {
		link.Tick()
	}
	e.tickKeeping()
	if e.recording.stream.Load() != nil && !r.stream.Active() {
		e.store.Lock(store.AllShards)
		if !r.stream.Active() {
			e.recording.setStream(nil)
		}
		e.store.Unlock(store.AllShards)
	}
}

// recordStream starts to record changes in the stream, unless they come from a master. Every shard must
// be locked.
func (e *Engine) recordStream() {
	e.repl.stream.Activate()
	if e.repl.link.Load() == nil {
		e.recording.setStream(&e.repl.stream)
	}
}

// followMaster makes the server a replica, or one of another master. It fails if the directive replicaof
// could not say so. If promoted is not nil, the master is a replica yet and is asked to be a master; see
// replication.LinkOptions. Every shard must be locked.
func (e *Engine) followMaster(host string, port int, promoted func(accepted bool)) error {
	if err := e.cfg.Assign("replicaof", host+" "+strconv.Itoa(port)); err != nil {
		return err
	}
	r := &e.repl
	r.epoch.Add(1)
	e.recording.setStream(nil)
	r.stream.SetFollowing(true)
	r.masterTime.Store(0)
	e.store.KeepExpired(store.WhileFollowing, true)
	r.master.KillAll()
	addr := joinAddr(host, port)
	f := &follower{engine: e, epoch: r.epoch.Load(), woken: make(chan struct{}, 1)}
	link := replication.NewLink(replication.LinkOptions{
		Addr: addr, Dial: e.options.Dial, Settings: e.linkSettings,
		Follower: f, NowUs: e.clock.MonotonicUs, Log: e.logReplication, Promoted: promoted,
	})
	f.session = e.newMasterSession(f, addr)
	if old := r.link.Swap(&masterLink{link, host, port}); old != nil {
		old.End() // its goroutine may wait for shards
	}
	r.refreshRules(e.cfg.View)
	e.endWaits()
	e.options.Log.Info("a replica from now on", "master", addr)
	return nil
}

// promote makes the server a master. Every shard must be locked.
func (e *Engine) promote() {
	r := &e.repl
	old := r.link.Swap(nil)
	if old == nil {
		return
	}
	r.epoch.Add(1)
	e.store.KeepExpired(store.WhileFollowing, false)
	if offsetUs := r.masterTime.Swap(0); offsetUs != 0 {
		e.clock.Align(offsetUs)
	}
	old.End() // before it could tell a place in the new history; its goroutine may wait for shards
	r.stream.Fork()
	if r.stream.Active() {
		e.recording.setStream(&r.stream)
	}
	// Replicas ask again, and go on in the new history.
	r.master.KillAll()
	if err := e.cfg.Assign("replicaof", ""); err != nil {
		e.options.Log.Warn("the directive replicaof was not cleared", "error", err)
	}
	r.refreshRules(e.cfg.View)
	e.options.Log.Info("a master from now on", "history", r.stream.Position().ID)
}

func (e *Engine) linkSettings() replication.LinkSettings {
	port := int(e.cfg.Int("replica-announce-port"))
	if port == 0 && e.cfg.Bool("tls-replication") {
		port = int(e.cfg.Int("tls-port"))
	}
	if port == 0 {
		port = e.port()
	}
	return replication.LinkSettings{
		User: e.cfg.String("masteruser"), Password: e.cfg.String("masterauth"),
		Port: port, IP: e.cfg.String("replica-announce-ip"),
		TimeoutUs: e.cfg.Int("repl-timeout") * 1_000_000,
	}
}

// startFollowing makes the server a replica if the directives say so. The link begins when the files are
// loaded: what they hold stays until the master says otherwise.
func (e *Engine) startFollowing() {
	words := e.cfg.Strings("replicaof")
	if len(words) != 2 || strings.EqualFold(words[0], "no") || e.options.Dial == nil {
		return
	}
	port, _ := strconv.Atoi(words[1]) // config has checked it
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	if err := e.followMaster(words[0], port, nil); err != nil {
		e.options.Log.Warn("the directive replicaof was not followed", "error", err)
	}
}

// continueHistory goes on where files end. A master begins a history of its own there, in which those
// who have followed the old one may go on. Every shard must be locked.
func (e *Engine) continueHistory(h durable.History) {
	if len(h.ID) != len(replication.NoID) || h.Offset < 0 {
		return
	}
	isReplica := len(e.cfg.Strings("replicaof")) == 2
	e.repl.stream.Restore(replication.Position{ID: h.ID, Offset: h.Offset}, h.DB, !isReplica)
	if !isReplica {
		e.recordStream()
	}
}

var errRunsWithoutFile = errors.New("the server is running without a config file")

// rewriteError returns why CONFIG REWRITE would fail, as far as permissions and mounts show it, or nil.
func (e *Engine) rewriteError() error {
	path := e.cfg.Path()
	if path == "" {
		return errRunsWithoutFile
	}
	return disk.Replaceable(path)
}

// tickKeeping warns once the server's role has to survive a restart, because the server is a replica or
// watched by Sentinel, but CONFIG REWRITE cannot write the role down. A replica without a file is not
// warned of unless a Sentinel is there: its role is in the command line.
func (e *Engine) tickKeeping() {
	r := &e.repl
	watched := e.broker.Sentinels.Load() > 0
	keeping := watched || r.link.Load() != nil && e.cfg.Path() != ""
	if keeping == r.keeping {
		return
	}
	r.keeping = keeping
	if !keeping {
		return
	}
	if err := e.rewriteError(); err != nil {
		e.options.Log.Warn("CONFIG REWRITE will fail, so a role that Sentinel changes is lost at the next "+
			"restart", "config-file", e.cfg.Path(), "sentinels", e.broker.Sentinels.Load(), "error", err)
	}
}

var (
	errReadOnlyReplica = resp.Error("READONLY You can't write against a read only replica.")
	errNoReplicas      = resp.Error("NOREPLICAS Not enough good replicas to write.")
	errMasterDown      = resp.Error(
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")
)

// denyWrites returns why replication refuses writes now, or resp.None.
func (e *Engine) denyWrites(r *replication.Rules) resp.Value {
	switch {
	case r.ReadOnly:
		return errReadOnlyReplica
	case r.MinReplicas > 0 && e.repl.master.Good(e.clock.MonotonicUs(), r.MaxLagUs) < r.MinReplicas:
		return errNoReplicas
	}
	return resp.None
}

// masterIsUp reports whether the server follows its master's stream.
func (e *Engine) masterIsUp() bool {
	l := e.repl.link.Load()
	return l != nil && l.Up()
}

// writeRefusal returns why scripts may not write now, or "".
func (e *Engine) writeRefusal() string {
	if text := e.storage.Misconf(); text != "" {
		return text
	}
	if rules := e.repl.rules.Load(); rules != nil {
		if refusal := e.denyWrites(rules); refusal.IsError() {
			return refusal.Str()
		}
	}
	return ""
}

// staleRefusal returns why scripts may not read now, or "".
func (e *Engine) staleRefusal() string {
	if rules := e.repl.rules.Load(); rules != nil && rules.NeedsMaster && !e.masterIsUp() {
		return errMasterDown.Str()
	}
	return ""
}

// roleName returns the role as HELLO names it.
func (e *Engine) roleName() string {
	if e.repl.link.Load() != nil {
		return "replica"
	}
	return "master"
}
