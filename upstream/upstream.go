package upstream

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options configures an Upstream. Address is required.
type Options struct {
	Address Address
	TLS     *tls.Config   // of connections, if Address.TLS
	Timeout time.Duration // how long a round trip may take; 0: one second
	Queue   int           // how many commands may wait for a node; 0: 16384
	// MaxUnits is how many members RL.ADOPT may make; 0: 100,000. A redis-server takes some 3.5 us for
	// each, and answers nobody meanwhile.
	MaxUnits int64
	Split    bool // commands with keys of several slots are split, where the row says how
	// WaitReplicas is how many replicas must confirm a write, within WaitTimeout, before it is
	// answered. 0: none.
	WaitReplicas int
	WaitTimeout  time.Duration
	Announce     []string // host:port of the gateways, for CLUSTER SLOTS; nil: where a client has come
	Failure      Failures // what decisions are answered while the upstream is away
	Log          *slog.Logger

	// Deliver passes a message on to the subscribers of this process. It may be nil.
	Deliver func(m Message)
}

// Defaults of Options.
const (
	defaultTimeout = time.Second
	defaultQueue   = 16384

	defaultMaxUnits = 100_000
)

// An Upstream is the connections to an upstream. Its methods may be called concurrently.
type Upstream struct {
	options Options
	scripts scripts
	limits  limits
	topics  topics
	counts  counts

	topology atomic.Pointer[topology] // never nil
	refresh  refresher

	mu    sync.Mutex
	nodes map[string]*node // protected by mu: by address; nil after Close

	ending context.Context // is done when Close is called
	end    context.CancelFunc
	tasks  sync.WaitGroup
}

// Open returns an upstream. It connects when it is first asked, so one that cannot be reached
// is no error here: calls are answered with errors until it can be.
func Open(o Options) *Upstream {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.MaxUnits <= 0 {
		o.MaxUnits = defaultMaxUnits
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	u := &Upstream{options: o, nodes: make(map[string]*node)}
	u.ending, u.end = context.WithCancel(context.Background())
	u.topology.Store(&topology{kind: o.Address.Kind})
	u.topics.init(u)
	u.limits.init(u)
	u.refresh.init(u) // which uses the others
	return u
}

// Close closes the connections. Calls that are under way fail.
func (u *Upstream) Close() error {
	u.end()
	u.topics.close()
	u.mu.Lock()
	nodes := u.nodes
	u.nodes = nil
	u.mu.Unlock()
	for _, n := range nodes {
		n.close()
	}
	u.tasks.Wait()
	return nil
}

// background runs fn on a goroutine that Close waits for. After Close it reports false and runs nothing.
func (u *Upstream) background(fn func()) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.nodes == nil {
		return false
	}
	u.tasks.Go(fn)
	return true
}

// node returns the node at an address. After Close it returns one that is closed.
func (u *Upstream) node(addr string) *node {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.nodes[addr]
	if n == nil {
		n = newNode(u, addr)
		if u.nodes == nil {
			n.close()
			return n
		}
		u.nodes[addr] = n
	}
	return n
}

// retain retires the nodes that are not in keep. While roles change, a reading may lack a node that still
// answers.
func (u *Upstream) retain(keep map[*node]bool) {
	var gone []*node
	u.mu.Lock()
	for addr, n := range u.nodes {
		if !keep[n] {
			delete(u.nodes, addr)
			u.counts.retire(n)
			gone = append(gone, n)
		}
	}
	u.mu.Unlock()
	for _, n := range gone {
		n.retire()
	}
}

// answering returns how long a round trip may take, with WAIT.
func (u *Upstream) answering() time.Duration {
	if u.options.WaitReplicas == 0 {
		return u.options.Timeout
	}
	return u.options.Timeout + u.options.WaitTimeout
}

// clientOptions returns what all connections have in common. PoolSize must be set.
func (u *Upstream) clientOptions(addr string) *redis.Options {
	o := &u.options
	return &redis.Options{
		Addr: addr, Username: o.Address.Username, Password: o.Address.Password,
		Dialer:      u.dialer(),
		DialTimeout: o.Timeout, ReadTimeout: u.answering(), WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: noMaintNotifications(),
	}
}

var quiet sync.Once

// SilenceClient stops the client library from writing to stderr by itself: what matters is
// reported by the calls.
func SilenceClient() {
	quiet.Do(func() { redis.SetLogger(discard{}) })
}

type discard struct{ io.Writer }

// Printf implements the library's logger.
func (discard) Printf(context.Context, string, ...interface{}) {}
