package sentinel

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Every limiter decides about two keys: one whose window is crossed again and again, and a
// ledger that never denies and keeps every unit to the end.
const (
	window       = time.Second
	windowLimit  = 20
	ledgerWindow = 10 * time.Minute
	ledgerLimit  = 1_000_000

	afterError = 50 * time.Millisecond  // until it tries again
	confirming = 100 * time.Millisecond // the timeout of WAIT
	answering  = 400 * time.Millisecond // of a reply
)

// between is the time between two calls of a limiter.
var between = flag.Duration("between", 20*time.Millisecond, "time between two calls of a limiter")

// slidingWindow is the usual script; the members are unique.
const slidingWindow = `
local key, now = KEYS[1], tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', key, 0, now - tonumber(ARGV[2]))
if redis.call('ZCARD', key) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', key, now, ARGV[4])
return 1`

// An algorithm is how a limiter asks.
type algorithm string

const (
	script  algorithm = "script"
	rlAllow algorithm = "RL.ALLOW"
)

// A limiter is a client with keys of its own. Only its goroutine uses it while it runs.
type limiter struct {
	name      string // part of the names of its keys
	algorithm algorithm
	wait      int // replicas that are to confirm; 0: it does not ask
	calls     []call
	errors    []string
	latest    atomic.Int64 // the port that answered last
	count     atomic.Int64 // of replies by that
	since     atomic.Int64 // unix ms of the first of them
}

// A call is one that was answered.
type call struct {
	unit           string // the member in the ledger, of a script
	sent, received time.Duration
	sentMs         int64 // as the script was told
	port           int64 // of the server
	admitted       bool  // in the window
	confirmed      bool  // by as many replicas as the limiter asked for
	ledgerUsed     int64 // units that the ledger had after this one, of RL.ALLOW
}

// A load is limiters that run until it is stopped.
type load struct {
	client   *redis.Client // nil if the limiters are other programs
	begin    time.Time
	limiters []*limiter
	running  sync.WaitGroup
	cancel   context.CancelFunc
	own      string // the directive with a server's port
}

// startLoad starts limiters of each algorithm that ask for no confirmation, for one, and
// for that of every replica. They find the master through the sentinels.
func (s *set) startLoad(t *testing.T, algorithms ...algorithm) *load {
	t.Helper()
	of := s.options(0, answering)
	o := &redis.FailoverOptions{
		MasterName: masterName, MaxRetries: of.MaxRetries, PoolSize: of.PoolSize,
		DialTimeout: answering, ReadTimeout: answering, WriteTimeout: answering,
		Username: of.Username, Password: of.Password, TLSConfig: of.TLSConfig,
	}
	for _, one := range s.sentinels {
		o.SentinelAddrs = append(o.SentinelAddrs, addr(one.port))
	}
	return s.startLoadOf(t, redis.NewFailoverClient(o), "", algorithms)
}

// startLoadOf starts the limiters with a client. place is part of the names of their keys.
func (s *set) startLoadOf(t *testing.T, client *redis.Client, place string, algorithms []algorithm) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &load{client: client, begin: time.Now(), cancel: cancel, own: "port"}
	if s.secure != nil {
		d.own = "tls-port"
	}
	t.Cleanup(d.stop)
	replicas := len(s.servers) - 1
	waits := []int{0, 1, replicas}
	if replicas == 1 {
		waits = waits[:2]
	}
	for _, a := range algorithms {
		for _, n := range waits {
			name := fmt.Sprintf("%s%d:%s:%d", place, len(d.limiters), a, n)
			l := &limiter{name: name, algorithm: a, wait: n}
			d.limiters = append(d.limiters, l)
			d.running.Go(func() { d.run(ctx, l) })
		}
	}
	return d
}

func (d *load) stop() {
	d.cancel()
	d.running.Wait()
	if d.client != nil {
		_ = d.client.Close() // a second time after the test
	}
}

func (d *load) run(ctx context.Context, l *limiter) {
	next := time.NewTimer(0)
	defer next.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		pause := *between
		c, err := d.call(ctx, l, n)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.errors = append(l.errors, err.Error())
			pause = afterError
		default:
			l.note(c)
		}
		next.Reset(pause)
	}
}

// note keeps a call that was answered.
func (l *limiter) note(c call) {
	l.calls = append(l.calls, c)
	if l.latest.Swap(c.port) != c.port {
		l.count.Store(0)
		l.since.Store(c.sentMs)
	}
	l.count.Add(1)
}

// call asks about one unit, who has answered, and for confirmation.
func (d *load) call(ctx context.Context, l *limiter, n int) (call, error) {
	c := call{unit: strconv.Itoa(n), sent: time.Since(d.begin)}
	c.sentMs = d.begin.Add(c.sent).UnixMilli()
	ask := func(p redis.Pipeliner, key string, limit int, window time.Duration) *redis.Cmd {
		ms := window.Milliseconds()
		if l.algorithm == script {
			return p.Eval(ctx, slidingWindow, []string{key}, c.sentMs, ms, limit, c.unit)
		}
		return p.Do(ctx, "RL.ALLOW", key, limit, ms)
	}
	p := d.client.Pipeline()
	limited := ask(p, "window:"+l.name, windowLimit, window)
	ledger := ask(p, "ledger:"+l.name, ledgerLimit, ledgerWindow)
	port := p.ConfigGet(ctx, d.own)
	var wait *redis.Cmd
	if l.wait > 0 {
		wait = p.Do(ctx, "WAIT", l.wait, confirming.Milliseconds())
	}
	if _, err := p.Exec(ctx); err != nil {
		return c, err
	}
	c.received = time.Since(d.begin)
	c.admitted = granted(limited) == 1
	if granted(ledger) != 1 {
		return c, fmt.Errorf("the ledger denies: %v", ledger.Val())
	}
	if reply, ok := ledger.Val().([]any); ok {
		c.ledgerUsed = ledgerLimit - reply[2].(int64)
	}
	c.port, _ = strconv.ParseInt(port.Val()[d.own], 10, 64)
	if wait != nil {
		n, err := wait.Int64()
		if err != nil {
			return c, err
		}
		c.confirmed = n >= int64(l.wait)
	}
	return c, nil
}

// granted returns how many units a limiter was granted.
func granted(reply *redis.Cmd) int64 {
	if list, ok := reply.Val().([]any); ok {
		return list[0].(int64)
	}
	n, _ := reply.Val().(int64)
	return n
}

// awaitReplies waits until every limiter has had replies by a server for two windows.
func (d *load) awaitReplies(t *testing.T, x *server) {
	t.Helper()
	await(t, "replies by "+x.name, func() error {
		for _, l := range d.limiters {
			port, n, since := l.latest.Load(), l.count.Load(), time.UnixMilli(l.since.Load())
			if port != int64(x.port) || n < 10 || time.Since(since) < 2*window {
				return fmt.Errorf("%s has %d replies by port %d since %s", l.name, n, port, since)
			}
		}
		return nil
	})
}

// members returns what a server has of a script's ledger.
func members(t *testing.T, x *server, l *limiter) map[string]bool {
	t.Helper()
	all, err := x.client.ZRange(t.Context(), "ledger:"+l.name, 0, -1).Result()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, m := range all {
		known[m] = true
	}
	return known
}
