package migration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	windowSeconds = 2
	window        = windowSeconds * time.Second
	windowLimit   = 10
	ledgerLimit   = 60
	between       = 20 * time.Millisecond // two calls of a client
)

// A load is clients that ask for units until it is stopped.
type load struct {
	begin   time.Time
	port    atomic.Int64 // where clients go with their next call
	allowed atomic.Int64 // units of its ledger that each client may ask for
	clients []*client
	running sync.WaitGroup
	cancel  context.CancelFunc
	closed  sync.Once

	ledgerSeconds int64
}

// A client uses one limiter. Only its goroutine uses it while it runs, but for moved and
// counts.
type client struct {
	subject
	limiter limiter
	window  []call // of the key with the short window
	ledger  []call
	moved   time.Duration // when it began to use the second server
	counts  struct {
		ledger atomic.Int64 // units admitted
		calls  atomic.Int64 // since the client has moved, or begun
		since  atomic.Int64 // nanoseconds of the load
		port   atomic.Int64 // of the server that answered last
		denied atomic.Bool  // in a window
	}
}

// A call is one that was answered, or has failed.
type call struct {
	sent, received time.Duration // since the load began
	admitted       bool
	remaining      int64 // or unreported
	err            error
}

// startLoad starts every client at a server, and returns when all are connected.
func startLoad(t *testing.T, port int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &load{begin: time.Now(), cancel: cancel, ledgerSeconds: quietSeconds(time.Now().Unix())}
	t.Cleanup(d.close)
	d.port.Store(int64(port))
	for _, s := range subjects {
		d.clients = append(d.clients, &client{subject: s, limiter: s.start(t)})
	}
	for _, c := range d.clients {
		require.NoError(t, c.limiter.connect(port), c.name)
		c.counts.port.Store(int64(port))
		d.running.Go(func() { d.run(ctx, c) })
	}
	return d
}

// quietSeconds returns a length such that the multiple of it is far from now. Some limiters'
// windows begin there.
func quietSeconds(now int64) int64 {
	seconds := int64(1_000_000)
	for now%seconds < 600 || now%seconds > seconds-600 {
		seconds += 1000
	}
	return seconds
}

// stop returns when all clients have ended.
func (d *load) stop() {
	d.cancel()
	d.running.Wait()
}

// close stops the load and ends the programs.
func (d *load) close() {
	d.closed.Do(func() {
		d.stop()
		for _, c := range d.clients {
			c.limiter.close()
		}
	})
}

// run makes calls of a client. One that is under way when the load is stopped is finished.
func (d *load) run(ctx context.Context, c *client) {
	next := time.NewTicker(between)
	defer next.Stop()
	var quiet time.Duration // no call within a window before
	for n := 0; ctx.Err() == nil; n++ {
		if !d.follow(c) {
			return
		}
		if now := time.Since(d.begin); now >= quiet {
			one := d.call(c, "window", windowLimit, windowSeconds)
			c.window = append(c.window, one)
			if one.err == nil && !one.admitted {
				c.counts.denied.Store(true)
				if c.denials {
					quiet = one.received + window
				}
			}
		}
		if n%3 == 0 && c.counts.ledger.Load() < d.allowed.Load() {
			d.hitLedger(c)
		}
		select {
		case <-ctx.Done():
		case <-next.C:
		}
	}
}

// follow connects a client to the server where the load is to be. ok is false if it cannot.
func (d *load) follow(c *client) (ok bool) {
	port := d.port.Load()
	if c.counts.port.Load() == port {
		return true
	}
	if err := c.limiter.connect(int(port)); err != nil {
		c.window = append(c.window, call{err: fmt.Errorf("it cannot change the server: %w", err)})
		return false
	}
	c.moved = time.Since(d.begin)
	c.counts.since.Store(int64(c.moved))
	c.counts.calls.Store(0)
	c.counts.port.Store(port)
	return true
}

func (d *load) call(c *client, key string, limit, seconds int64) call {
	one := call{sent: time.Since(d.begin)}
	one.admitted, one.remaining, one.err = c.limiter.hit(key+":"+c.name, limit, seconds)
	one.received = time.Since(d.begin)
	if one.err == nil {
		c.counts.calls.Add(1)
	}
	return one
}

func (d *load) hitLedger(c *client) call {
	one := d.call(c, "ledger", ledgerLimit, d.ledgerSeconds)
	c.ledger = append(c.ledger, one)
	if one.err == nil && one.admitted {
		c.counts.ledger.Add(1)
	}
	return one
}

// awaitLedgers waits until every client has as many units of its ledger, and has been denied
// in a window.
func (d *load) awaitLedgers(t *testing.T, units int64) {
	t.Helper()
	d.allowed.Store(units)
	await(t, "units of the ledgers", func() error {
		for _, c := range d.clients {
			if n, denied := c.counts.ledger.Load(), c.counts.denied.Load(); n < units || !denied {
				return fmt.Errorf("%s has %d units, denied in a window: %t", c.name, n, denied)
			}
		}
		return nil
	})
}

// awaitMoved waits until every client has had replies by a server for two windows.
func (d *load) awaitMoved(t *testing.T, port int) {
	t.Helper()
	await(t, "replies", func() error {
		for _, c := range d.clients {
			since := time.Since(d.begin) - time.Duration(c.counts.since.Load())
			at, n := c.counts.port.Load(), c.counts.calls.Load()
			if at != int64(port) || n < 10 || since < 2*window {
				return fmt.Errorf("%s has %d replies by port %d in %s", c.name, n, at, since)
			}
		}
		return nil
	})
}

// drain asks for the units that are left in each ledger, after the load was stopped.
func (d *load) drain(t *testing.T) {
	t.Helper()
	var wait sync.WaitGroup
	for _, c := range d.clients {
		wait.Go(func() {
			for n := 0; n < 2*ledgerLimit; n++ {
				if one := d.hitLedger(c); one.err != nil || !one.admitted {
					return
				}
			}
		})
	}
	wait.Wait()
	for _, c := range d.clients {
		last := c.ledger[len(c.ledger)-1]
		require.NoError(t, last.err, c.name)
		require.False(t, last.admitted, "%s: the ledger has no end", c.name)
	}
}
