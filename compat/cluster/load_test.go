package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

// All callers decide about the same keys, a window that is crossed again and again and a ledger
// that never denies and keeps every unit to the end, for each of the tags. The tags are spread over
// the masters.
const (
	window       = time.Second
	windowLimit  = 40
	ledgerWindow = 10 * time.Minute
	ledgerLimit  = 1_000_000
	tags         = 12

	afterError = 20 * time.Millisecond // until a caller tries again
	answering  = 20 * time.Second      // of a reply: the gateway's own time limit is shorter
)

var between = flag.Duration("between", 20*time.Millisecond, "time between two calls of a caller")

// A call is one that was answered, or has failed.
type call struct {
	sent, received time.Duration // since the load began
	admitted       bool          // in the window
	ledger         bool          // in the ledger
	used           int64         // of the ledger, with this unit
	err            error
}

// A caller asks one gateway about the keys of one tag. Only its goroutine uses it while it runs, but for
// the count.
type caller struct {
	name   string
	tag    int
	client atomic.Pointer[redis.Client]
	calls  []call
	ended  atomic.Int64 // calls, also those that have failed
	oks    atomic.Int64 // replies without an error
}

// A load is callers that run until it is stopped.
type load struct {
	begin   time.Time
	callers []*caller
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// plainClient returns a client that knows nothing of clusters, and repeats nothing.
func plainClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialTimeout: answering, ReadTimeout: answering, WriteTimeout: answering,
	})
}

// startLoad starts n callers for each tag at each address.
func startLoad(t *testing.T, n int, addrs ...string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &load{begin: time.Now(), cancel: cancel}
	t.Cleanup(d.stop)
	for _, addr := range addrs {
		client := plainClient(addr)
		t.Cleanup(func() { _ = client.Close() })
		for i := range n * tags {
			c := &caller{name: fmt.Sprintf("caller %d of %s", i, addr), tag: i % tags}
			c.client.Store(client)
			d.callers = append(d.callers, c)
			d.running.Go(func() { d.run(ctx, c) })
		}
	}
	return d
}

func (d *load) stop() {
	d.cancel()
	d.running.Wait()
}

func (d *load) run(ctx context.Context, c *caller) {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		one := d.ask(c)
		c.calls = append(c.calls, one)
		c.ended.Add(1)
		if one.err != nil {
			next.Reset(afterError)
			continue
		}
		c.oks.Add(1)
		next.Reset(*between)
	}
}

// windowKey and ledgerKey are in one slot.
func windowKey(tag int) string { return fmt.Sprintf("window:{%d}", tag) }
func ledgerKey(tag int) string { return fmt.Sprintf("ledger:{%d}", tag) }

// ask asks about a unit of both keys. It finishes what it has begun.
func (d *load) ask(c *caller) call {
	one := call{sent: time.Since(d.begin)}
	p := c.client.Load().Pipeline()
	limited := p.Do(context.Background(), "RL.ALLOW", windowKey(c.tag), windowLimit, window.Milliseconds())
	ledger := p.Do(context.Background(), "RL.ALLOW", ledgerKey(c.tag), ledgerLimit,
		ledgerWindow.Milliseconds())
	_, _ = p.Exec(context.Background()) // each has its own error
	one.received = time.Since(d.begin)
	one.err = errors.Join(limited.Err(), ledger.Err())
	if reply, err := limited.Slice(); err == nil {
		one.admitted = reply[0].(int64) == 1
	}
	if reply, err := ledger.Slice(); err == nil {
		one.ledger = reply[0].(int64) == 1
		one.used = ledgerLimit - reply[2].(int64)
	}
	return one
}

// awaitReplies waits until each caller has had n replies more.
func (d *load) awaitReplies(t *testing.T, n int64) {
	t.Helper()
	d.awaitCount(t, n, func(c *caller) int64 { return c.oks.Load() })
}

// awaitCalls waits until n calls more of each caller have ended, whatever it got.
func (d *load) awaitCalls(t *testing.T, n int64) {
	t.Helper()
	d.awaitCount(t, n, func(c *caller) int64 { return c.ended.Load() })
}

func (d *load) awaitCount(t *testing.T, n int64, count func(c *caller) int64) {
	t.Helper()
	before := make([]int64, len(d.callers))
	for i, c := range d.callers {
		before[i] = count(c)
	}
	await(t, "replies", func() error {
		for i, c := range d.callers {
			if got := count(c) - before[i]; got < n {
				return fmt.Errorf("%s has %d replies", c.name, got)
			}
		}
		return nil
	})
}

// move makes all callers ask another address from now on.
func (d *load) move(t *testing.T, addr string) {
	t.Helper()
	client := plainClient(addr)
	t.Cleanup(func() { _ = client.Close() })
	for _, c := range d.callers {
		c.client.Store(client)
	}
}

// all returns the calls of all callers about a tag.
func (d *load) all(tag int) []call {
	var found []call
	for _, c := range d.callers {
		if c.tag == tag {
			found = append(found, c.calls...)
		}
	}
	return found
}

// used returns how many units of a ledger the upstream has now.
func used(t *testing.T, addr string, tag int) int64 {
	t.Helper()
	client := plainClient(addr)
	defer client.Close()
	reply, err := client.Do(t.Context(), "RL.ALLOW", ledgerKey(tag), ledgerLimit,
		ledgerWindow.Milliseconds(), "PEEK").Slice()
	require.NoError(t, err)
	return ledgerLimit - reply[2].(int64)
}

// await waits until check returns nil.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	require.NoError(t, nodes.Await(t.Context(), what, check))
}

// Kinds of UPSTREAM errors, as docs/gateway.md has them.
const (
	lost     = "connection lost or refused"
	late     = "no answer in time"
	resting  = "not tried"
	overflow = "queue full"
)

var upstreamKinds = []struct{ part, kind string }{
	{"it does not answer and is tried again soon", resting}, // with the last error
	{"it did not answer in time", late},
	{"its queue is full", overflow},
	{"connection refused", lost},
	{"connection reset by peer", lost},
	{"broken pipe", lost},
	{"EOF", lost},
}

// kinds returns what has failed: a kind of UPSTREAM error, or the first word of another error reply.
func kinds(err error) (all []string) {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			all = append(all, kinds(one)...)
		}
		return all
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return []string{"timeout of the client"}
	}
	text := err.Error()
	first, _, _ := strings.Cut(text, " ")
	if first != "UPSTREAM" {
		return []string{first}
	}
	for _, k := range upstreamKinds {
		if strings.Contains(text, k.part) {
			return []string{k.kind}
		}
	}
	return []string{text}
}

func TestKinds(t *testing.T) {
	const addr = "UPSTREAM 127.0.0.1:7000: "
	for text, want := range map[string]string{
		"MOVED 3 127.0.0.1:1": "MOVED",
		addr + "it does not answer and is tried again soon: EOF":                        resting,
		addr + "it did not answer in time (upstream-timeout); the command may have run": late,
		addr + "dial tcp 127.0.0.1:7000: connect: connection refused":                   lost,
		addr + "read tcp 127.0.0.1:1->127.0.0.1:7000: read: connection reset by peer":   lost,
		addr + "its queue is full (upstream-queue)":                                     overflow,
		"UPSTREAM no node can be reached: x: dial tcp 127.0.0.1:1: i/o":                 "",
		addr + "redirection without end: MOVED 3 127.0.0.1:1":                           "",
	} {
		if want == "" {
			want = text
		}
		require.Equal(t, []string{want}, kinds(errors.New(text)))
	}
	require.Equal(t, []string{lost, "ASK"}, kinds(errors.Join(errors.New(addr+"EOF"), errors.New("ASK 1 x"))))
	require.Empty(t, kinds(nil))
}
