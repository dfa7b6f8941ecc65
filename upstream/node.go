package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/zlimit/zlimit/commands"
)

const (
	// tripAfter is how many round trips in a row must fail until a node counts as away.
	tripAfter = 2
	// tryEvery is how long a node that is away is left alone before one round trip tries it.
	tryEvery = 500 * time.Millisecond
)

// A node is one server of the upstream.
type node struct {
	upstream  *Upstream
	addr      string
	breaker   *gobreaker.CircuitBreaker[struct{}]
	trips     atomic.Int64 // round trips
	commands  atomic.Int64 // in them
	failures  atomic.Int64 // of round trips
	awaySince atomic.Int64 // Unix time in microseconds; 0: it is not away
	lastError atomic.Pointer[string]
	down      outage

	functions functions

	conns conns
}

// conns are the connections to a node.
type conns struct {
	mu    sync.Mutex
	lanes map[laneKey]*lane // protected by mu; nil after detach
	idle  []*ownConn        // protected by mu: connections of their own that nobody uses
}

// take returns an idle connection; nil if there is none. It reports whether the node is closed.
func (c *conns) take(k laneKey) (_ *ownConn, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, conn := range c.idle {
		if conn.lane == k {
			c.idle = append(c.idle[:i], c.idle[i+1:]...)
			return conn, false
		}
	}
	return nil, c.lanes == nil
}

// put keeps an idle connection, and reports false if it is not needed.
func (c *conns) put(conn *ownConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lanes == nil || len(c.idle) >= maxIdle {
		return false
	}
	c.idle = append(c.idle, conn)
	return true
}

// detach closes the connections that nobody uses and returns the lanes, which the node then no longer has.
func (c *conns) detach() map[laneKey]*lane {
	c.mu.Lock()
	lanes, idle := c.lanes, c.idle
	c.lanes, c.idle = nil, nil
	c.mu.Unlock()
	for _, conn := range idle {
		conn.close()
	}
	return lanes
}

// A laneKey is what the commands of one pipeline have in common.
type laneKey struct{ db, proto int }

func newNode(u *Upstream, addr string) *node {
	SilenceClient()
	n := &node{upstream: u, addr: addr, conns: conns{lanes: make(map[laneKey]*lane)}}
	n.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: addr, MaxRequests: 1, Timeout: tryEvery,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		OnStateChange: n.changed,
	})
	return n
}

// An outage is the time during which a node answers that the cluster is down to every call about a key.
type outage struct{ since atomic.Int64 } // Unix time in microseconds; 0: it serves its slots

// serves notes that a call was answered. Those of no key are in every state of the cluster.
func (o *outage) serves(x *unit) {
	if o.since.Load() != 0 && x.slot != anySlot && !x.call.Cmd.Is(commands.PubSub) {
		o.since.Store(0)
	}
}

// refuses notes that a call was refused. It reports whether all have been for so long that waiting any longer
// is no use.
func (o *outage) refuses(patience time.Duration) bool {
	nowUs := time.Now().UnixMicro()
	return !o.since.CompareAndSwap(0, nowUs) && nowUs-o.since.Load() >= patience.Microseconds()
}

// changed is called when the breaker opens, closes, or tries.
func (n *node) changed(_ string, _, to gobreaker.State) {
	switch to {
	case gobreaker.StateOpen:
		n.upstream.refresh.ask()
		if !n.awaySince.CompareAndSwap(0, time.Now().UnixMicro()) {
			return // a try has failed
		}
		reason := ""
		if p := n.lastError.Load(); p != nil {
			reason = *p
		}
		n.upstream.options.Log.Warn("upstream: node does not answer", "node", n.addr, "error", reason)
	case gobreaker.StateClosed:
		since := n.awaySince.Swap(0)
		n.upstream.options.Log.Info("upstream: node answers again", "node", n.addr,
			"away", time.Since(time.UnixMicro(since)).Round(time.Millisecond))
	}
}

// lane returns the node's queue for a database and a protocol.
func (n *node) lane(db, proto int) *lane {
	k := laneKey{db, proto}
	n.conns.mu.Lock()
	defer n.conns.mu.Unlock()
	l := n.conns.lanes[k]
	if l == nil {
		o := n.upstream.clientOptions(n.addr)
		o.DB, o.Protocol, o.PoolSize = db, proto, 2
		l = &lane{node: n, client: redis.NewClient(o)}
		if n.conns.lanes == nil {
			_ = l.client.Close()
			return l
		}
		n.conns.lanes[k] = l
	}
	return l
}

// close closes the node's connections. Commands that are under way fail.
func (n *node) close() {
	for _, l := range n.conns.detach() {
		_ = l.client.Close()
	}
}

// retire closes each of the node's connections when it has the replies to what was queued on it.
func (n *node) retire() {
	for _, l := range n.conns.detach() {
		l.retire()
	}
}

// An unsent is the error of a command that was not sent, so that it can be repeated.
type unsent struct{ cause error }

// Error returns why.
func (e *unsent) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *unsent) Unwrap() error { return e.cause }

var (
	errQueueFull = errors.New("its queue is full (upstream-queue)")
	errAway      = errors.New("it does not answer and is tried again soon")
	errLate      = errors.New("it did not answer in time (upstream-timeout)")
)

// exchange writes commands as one pipeline and reads their replies. If the round trip fails, none
// of them has a reply: the client library does not say which were answered before.
func (n *node) exchange(client interface{ Pipeline() redis.Pipeliner }, commands []*item) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library asks for a string as long as a node says
			err = fmt.Errorf("unexpected reply: %v", p)
		}
	}()
	pipe := client.Pipeline()
	ctx := context.Background()
	sent := make([]*redis.RawWriteToCmd, len(commands))
	args := 0
	for _, it := range commands {
		args += len(it.args)
	}
	words := make([]any, 0, args)
	for i, it := range commands {
		first := len(words)
		for _, a := range it.args {
			words = append(words, a)
		}
		sent[i] = redis.NewRawWriteToCmd(ctx, &it.reading, words[first:len(words):len(words)]...)
		_ = pipe.Process(ctx, sent[i])
	}
	n.trips.Add(1)
	n.commands.Add(int64(len(commands)))
	_, err = pipe.Exec(ctx)
	answered := 0
	for i, it := range commands {
		if n, failed := sent[i].Result(); failed == nil && n > 0 {
			it.reply = it.reading.head
			answered++
		} else {
			it.reading.fail()
		}
	}
	if answered == len(commands) {
		return nil
	}
	if err == nil {
		err = errors.New("no reply")
	}
	return err
}
