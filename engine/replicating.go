package engine

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/replication"
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

// A failover is FAILOVER under way: this server and one of its replicas exchange their roles, and no write
// is lost.
//
// Writes are postponed until a replica has confirmed everything. Then this server becomes a replica of that
// one, with a PSYNC that asks it to be a master, and goes on where it is. Every change of the state is made
// with every shard locked.
type failover struct {
	host      string // the replica that is to be the master; empty: the first that has everything
	port      int
	force     bool  // the replica is asked at the timeout whatever it has
	timeoutMs int64 // 0: none

	asking atomic.Bool   // this server is a replica already; else replicas are waited for
	over   chan struct{} // closed at the end
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

// history returns the place in the history that the keys stand for.
func (r *replicating) history() (h durable.History, ok bool) {
	s := r.stream.Status()
	return durable.History{ID: s.ID, Offset: s.Offset, DB: s.DB}, s.Active
}

var (
	errNotMaster = errors.New("the server follows another master")
	errEnding    = errors.New("the server ends")
)

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

// commit passes on what was applied. The role must not change meanwhile.
func (f *follower) commit() {
	f.engine.repl.stream.Follow(f.raw, f.session.work.ctx.DBIndex)
	f.raw = f.raw[:0]
}

// drop ends the connection to the master, which is then made again.
func (f *follower) drop() {
	if l := f.engine.repl.link.Load(); l != nil && !f.over() {
		l.Drop()
	}
}

// wake lets await look again.
func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// joinAddr is net.JoinHostPort.
func joinAddr(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}
