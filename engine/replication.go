package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/store"
)

// replicating is the server's place in replication: its history, the replicas that follow it, and the
// link to its master if it has one.
//
// The role changes with every shard locked, so that a command belongs to one role. What comes from a
// master that is one no longer has another epoch and is dropped.
type replicating struct {
	stream replication.Stream
	master *replication.Master

	epoch atomic.Int64                      // counts the changes of the role
	link  atomic.Pointer[masterLink]        // nil: this is a master
	rules atomic.Pointer[replication.Rules] // nil: nothing is refused for the sake of replication

	failover atomic.Pointer[failover] // nil: there is none

	// masterTime is the master's clock less the monotonic one, in microseconds, as the master last said: at
	// least as much as its message was under way, it is too low. 0: unknown. See docs/adr/0043.
	masterTime atomic.Int64

	unexpected atomic.Int64 // commands of a master that could not be carried out

	keeping bool // see tickKeeping; used by Tick only

	mu sync.Mutex // serializes refreshRules
}

// A masterLink is the link to the present master.
type masterLink struct {
	*replication.Link
	host string
	port int
}

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

// follow caches directives.
func (r *replicating) follow(cfg *config.View) {
	r.stream.SetSize(cfg.Int("repl-backlog-size"))
	r.refreshRules(cfg)
}

// refreshRules derives what is refused from the role and the directives.
func (r *replicating) refreshRules(cfg *config.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := replication.Rules{
		MinReplicas: int(cfg.Int("min-replicas-to-write")),
		MaxLagUs:    cfg.Int("min-replicas-max-lag") * 1_000_000,
	}
	if rules.MaxLagUs == 0 {
		rules.MinReplicas = 0
	}
	if r.link.Load() != nil {
		rules = replication.Rules{
			ReadOnly:    cfg.Bool("replica-read-only"),
			NeedsMaster: !cfg.Bool("replica-serve-stale-data"),
		}
	}
	if rules == (replication.Rules{}) {
		r.rules.Store(nil)
		return
	}
	r.rules.Store(&rules)
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

// joinAddr is net.JoinHostPort.
func joinAddr(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// A follower applies what the link receives.
type follower struct {
	engine  *Engine
	epoch   int64
	session *Session // runs the commands of the stream
	raw     []byte   // what has arrived of the transaction under way

	woken chan struct{} // buffered; signalled when the session's wait has ended
}

// over reports whether the master is the server's master no longer.
func (f *follower) over() bool { return f.engine.repl.epoch.Load() != f.epoch }

// Position is for replication.Follower, as all that follow.
func (f *follower) Position() (replication.Position, bool) {
	s := &f.engine.repl.stream
	return s.Position(), s.Active()
}

// inRole calls fn while the role cannot change, unless it has changed.
func (f *follower) inRole(fn func()) error {
	const one = store.ShardSet(1) // a change of the role needs every shard
	f.engine.store.Lock(one)
	defer f.engine.store.Unlock(one)
	if f.over() {
		return errNotMaster
	}
	fn()
	return nil
}

// Continue notes that the stream goes on, in a history of this identifier.
func (f *follower) Continue(id string) error {
	f.raw = f.raw[:0]
	return f.inRole(func() { f.engine.repl.stream.Rename(id) })
}

// Idle shows what the commands have counted.
func (f *follower) Idle() { f.session.shown.publish(Buffers{}) }

// Connected begins the master's session anew, in the database that is selected there, and shows it in CLIENT
// LIST.
func (f *follower) Connected(up bool) {
	if !up {
		f.session.work.calls.flush()
		f.session.shown.setBuffers(Buffers{}, 0)
		f.engine.sessions.remove(f.session)
		return
	}
	f.session = f.engine.newMasterSession(f, f.session.peer.Addr)
	f.engine.sessions.add(f.session)
}

// drop ends the connection to the master, which is then made again.
func (f *follower) drop() {
	if l := f.engine.repl.link.Load(); l != nil && !f.over() {
		l.Drop()
	}
}

var (
	errNotMaster = errors.New("the server follows another master")
	errEnding    = errors.New("the server ends")
)

// Apply runs a command of the stream. One that cannot be carried out ends the history: what the server has
// from there on is in none.
func (f *follower) Apply(args [][]byte, raw []byte, stop <-chan struct{}) error {
	e := f.engine
	if b := f.postpone(args); b != nil {
		if !f.await(b, stop) {
			return replication.ErrClosed
		}
		defer e.pause.finished(b)
	}
	if f.over() {
		return errNotMaster
	}
	f.raw = append(f.raw, raw...)
	if err := f.run(args); err != nil {
		if f.session.ending.closing {
			return errEnding
		}
		if !e.cfg.Bool("load-skip-unsupported") {
			return errors.Join(err, f.inRole(e.repl.stream.Deactivate))
		}
		e.repl.unexpected.Add(1)
	}
	if f.session.tx.open || len(f.raw) == 0 {
		return nil
	}
	return f.inRole(f.commit) // it needed no shards
}

// postpone returns the wait of a command of the stream that a pause postpones, or nil.
func (f *follower) postpone(args [][]byte) *Blocked {
	s := f.session
	if len(args) == 0 || !f.engine.pause.on() {
		return nil
	}
	cmd, _ := f.engine.table.ResolveOwn(args)
	if cmd == nil || !f.engine.pause.postpones(s, cmd, args) {
		return nil
	}
	return s.shown.blocked.Load()
}

// await waits for the turn of a postponed command. It reports false if stop is closed before.
func (f *follower) await(b *Blocked, stop <-chan struct{}) bool {
	for !b.Over() {
		select {
		case <-f.woken:
		case <-stop:
			f.session.stopWaiting()
			return false
		}
	}
	b.leaveQueues(false)
	return true
}

// wake lets await look again.
func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// run runs a command of the stream.
func (f *follower) run(args [][]byte) error {
	e := f.engine
	switch {
	case len(args) == 0, strings.EqualFold(string(args[0]), "replconf"):
		return nil
	case len(args) == 2 && strings.EqualFold(string(args[0]), "ping"):
		if ms, ok := store.ParseInt(args[1]); ok && ms > 0 && ms <= clock.MaxMs {
			e.repl.masterTime.Store(ms*1000 - e.clock.MonotonicUs())
		}
	}
	return f.session.side.apply(args)
}

// commit passes on what was applied. The role must not change meanwhile.
func (f *follower) commit() {
	f.engine.repl.stream.Follow(f.raw, f.session.work.ctx.DBIndex)
	f.raw = f.raw[:0]
}

// Load replaces the keys by those of a copy.
func (f *follower) Load(in io.ReaderAt, size int64, at replication.Position, progress func()) error {
	e := f.engine
	if f.over() {
		return errNotMaster
	}
	db, err := e.storage.Replace(in, size, durable.History{ID: at.ID, Offset: at.Offset}, f.empty, progress)
	switch {
	case errors.Is(err, durable.ErrUnsupported), errors.Is(err, durable.ErrVersion):
		// The next copy would be like this one.
		return fmt.Errorf("%w: %w", replication.ErrForeign, err)
	case err != nil:
		return err
	}
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	if f.over() {
		return errNotMaster
	}
	f.raw = f.raw[:0]
	e.repl.stream.Reset(at, db)
	return nil
}

// empty removes all keys and function libraries. What remains, and what is loaded then until it is whole, is
// in no history.
func (f *follower) empty() error {
	if f.over() {
		return errNotMaster
	}
	f.session.tx.discard()
	f.raw = f.raw[:0]
	if err := f.inRole(f.engine.repl.stream.Deactivate); err != nil {
		return err
	}
	for _, line := range []string{"FLUSHALL", "FUNCTION FLUSH"} {
		var args [][]byte
		for _, word := range strings.Fields(line) {
			args = append(args, []byte(word))
		}
		if err := f.session.side.apply(args); err != nil {
			return err
		}
	}
	if f.over() {
		return errNotMaster
	}
	return nil
}

// Spool returns a place for a copy.
func (f *follower) Spool() (replication.Spool, error) { return f.engine.storage.Spool() }

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

// history returns the place in the history that the keys stand for.
func (r *replicating) history() (h durable.History, ok bool) {
	s := r.stream.Status()
	return durable.History{ID: s.ID, Offset: s.Offset, DB: s.DB}, s.Active
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
