package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// maxIdle is how many connections of their own a node keeps that nobody uses.
const maxIdle = 64

// An ownConn is a connection for one call that may block, or for a session between WATCH and EXEC.
// It is never made anew: what a lost one knew is lost.
type ownConn struct {
	node   *node
	lane   laneKey
	client *redis.Client

	mu     sync.Mutex
	nc     net.Conn // protected by mu
	dialed bool     // protected by mu
	closed bool     // protected by mu
}

var errLost = errors.New("the connection is lost")

// own returns a connection that nobody uses.
func (n *node) own(db, proto int) *ownConn {
	k := laneKey{db, proto}
	idle, closed := n.conns.take(k)
	if idle != nil {
		return idle
	}
	c := &ownConn{node: n, lane: k, closed: closed}
	o := n.upstream.clientOptions(n.addr)
	dial := o.Dialer
	o.DB, o.Protocol, o.PoolSize = db, proto, 1
	o.ReadTimeout, o.ReadBufferSize, o.WriteBufferSize = -1, ownBuffer, ownBuffer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return c.dial(func() (net.Conn, error) { return dial(ctx, network, addr) })
	}
	c.client = redis.NewClient(o)
	return c
}

// ownBuffer is the size of the two buffers of such a connection.
const ownBuffer = 4 << 10

// dial makes the connection, once.
func (c *ownConn) dial(dial func() (net.Conn, error)) (net.Conn, error) {
	c.mu.Lock()
	again := c.dialed || c.closed
	c.dialed = true
	c.mu.Unlock()
	if again {
		return nil, &dialError{errLost}
	}
	nc, err := dial()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nc = nc
	if c.closed {
		nc.Close()
	}
	return nc, nil
}

// close ends the connection, and whatever it does. Any goroutine may call it.
func (c *ownConn) close() {
	c.mu.Lock()
	c.closed = true
	nc := c.nc
	c.mu.Unlock()
	if nc != nil {
		nc.Close()
	}
	_ = c.client.Close()
}

// release gives a connection that can be used again back.
func (c *ownConn) release() {
	c.mu.Lock()
	usable := !c.closed // otherwise it was ended when its reply had come
	c.mu.Unlock()
	if !usable || !c.node.conns.put(c) {
		c.close()
	}
}

// exchange sends commands and reads their replies, until over is closed.
func (c *ownConn) exchange(items []*item, over <-chan struct{}) (err error) {
	endedBy(over, c.close, func() { err = explain(c.node.exchange(c.client, items)) })
	return err
}

// exchangeUnit is exchange for a unit. What it writes is confirmed by replicas if they are to be waited for.
func (c *ownConn) exchangeUnit(x *unit, over <-chan struct{}) error {
	u := c.node.upstream
	if u.options.WaitReplicas == 0 || !x.write {
		return c.exchange(x.items, over)
	}
	wait := u.wait()
	err := c.exchange(append(slices.Clip(x.items), wait), over)
	if err == nil && !isNull(x.last().reply) { // else nothing was written
		u.confirm(x, wait)
	}
	return err
}

// endedBy runs a function, and end if over is closed meanwhile. Once it has returned, end does not run
// any more: what end would end may be somebody else's by then.
func endedBy(over <-chan struct{}, end, run func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-over:
			end()
		case <-done:
		}
	})
	run()
	close(done)
	watching.Wait()
}

// within returns a channel that is closed after the timeout, and a function that frees it.
func (u *Upstream) within(timeout time.Duration) (<-chan struct{}, func()) {
	ctx, cancel := context.WithTimeout(u.ending, timeout)
	return ctx.Done(), cancel
}

// Await runs a call that may block, on a connection of its own. It returns soon after over is closed.
func (u *Upstream) Await(c *call.Call, over <-chan struct{}) {
	due := time.Now().Add(u.options.Timeout)
	slot, ok := slotOf(c.Cmd.AppendKeys(nil, c.Args))
	if !ok && u.current(due).kind == Cluster {
		c.Reply = errorReply(crossSlot)
		return
	}
	x := &unit{call: c, args: c.Args, slot: slot, write: true}
	pause := time.Duration(0)
	for x.reply == nil && x.err == nil {
		if pause > 0 {
			u.rest(pause, due)
		}
		n := x.route.to
		if n == nil {
			n = u.current(due).master(slot)
		}
		if x.node = n; n != nil {
			x.compose()
			conn := n.own(c.DB, c.Proto)
			if err := conn.exchangeUnit(x, over); err != nil {
				x.first[0].err = err
				conn.close()
			} else {
				conn.release()
			}
		}
		select {
		case <-over:
			return
		case <-u.ending.Done():
			x.err = errLost
			continue
		default:
		}
		if x.reply != nil {
			break
		}
		if _, later := u.judge(x, due); later {
			pause = min(max(2*pause, minPause), maxPause)
		}
	}
	u.finish(x)
}

// A watch is a connection that watches keys.
type watch struct {
	upstream *Upstream
	conn     *ownConn
	slot     int
	watching bool // keys are watched on the connection
	lost     bool // a connection that watched keys is gone: EXEC is aborted
}

// watch makes the keys of a call watched.
func (u *Upstream) watch(c *call.Call) {
	due := time.Now().Add(u.options.Timeout)
	clustered := u.current(due).kind == Cluster
	slot, ok := slotOf(c.Cmd.AppendKeys(nil, c.Args))
	old, _ := c.Watch.Conn.(*watch)
	if clustered && (!ok || old != nil && old.slot != slot) {
		c.Reply = errorReply(crossSlot)
		return
	}
	if old == nil {
		old = &watch{upstream: u, slot: slot}
	}
	x := &unit{call: c, args: c.Args, slot: slot}
	pause := time.Duration(0)
	for x.reply == nil && x.err == nil {
		if old.lost {
			c.Reply = encode(resp.OK, c.Proto)
			return
		}
		if pause > 0 {
			u.rest(pause, due)
		}
		if old.conn == nil {
			n := x.route.to
			if n == nil {
				n = u.current(due).master(slot)
			}
			if x.node = n; n != nil {
				old.conn = n.own(c.DB, c.Proto)
			}
		}
		if old.conn != nil {
			x.node = old.conn.node
			x.compose()
			over, cancel := u.within(u.options.Timeout)
			x.reply, x.first[0].err = old.conn.run(x, over)
			cancel()
		}
		if x.reply != nil {
			break
		}
		again, later := u.judge(x, due)
		if again || x.err != nil {
			old.drop()
		}
		if later {
			pause = min(max(2*pause, minPause), maxPause)
		}
	}
	u.finish(x)
	if old.conn == nil && !old.lost {
		c.Watch.Conn = nil
		return
	}
	old.watching = old.watching || isOK(c.Reply)
	c.Watch.Conn = old
}

// run sends a unit, in the call's database. It returns the error reply if that cannot be selected.
func (c *ownConn) run(x *unit, over <-chan struct{}) (refusal []byte, err error) {
	if db := x.call.DB; c.lane.db != db {
		it := &item{args: [][]byte{wordSelect, strconv.AppendInt(nil, int64(db), 10)}}
		if err := c.exchange([]*item{it}, over); err != nil || !isOK(it.reply) {
			return it.reply, err
		}
		c.lane.db = db
	}
	return nil, c.exchangeUnit(x, over)
}

// drop gives the connection up.
func (w *watch) drop() {
	if w.conn != nil {
		w.lost = w.lost || w.watching
		w.conn.close()
		w.conn = nil
	}
}

// run runs a transaction on the connection. If the connection, or the slot, is gone, the transaction
// is aborted as if a key had changed.
func (w *watch) run(c *call.Call) {
	u := w.upstream
	clustered := u.isCluster()
	x, refusal := u.transaction(c, clustered)
	if refusal == nil && clustered && x.slot != anySlot && x.slot != w.slot {
		refusal = errorReply(crossSlot)
	}
	if refusal != nil {
		c.Reply = refusal
		w.Close()
		return
	}
	if w.lost {
		c.Reply = nullArray(c)
		return
	}
	x.node = w.conn.node
	if !u.limits.prepare(x) {
		w.Close()
		if x.err == nil {
			c.Reply = nullArray(c)
			return
		}
		u.finish(x)
		return
	}
	x.compose()
	over, cancel := u.within(u.answering())
	defer cancel()
	refusal, err := w.conn.run(x, over)
	var notSent *unsent
	switch {
	case refusal != nil:
		w.Close()
		c.Reply = refusal
		return
	case errors.As(err, &notSent):
		w.drop()
		c.Reply = nullArray(c)
		return
	case err != nil:
		w.drop()
		x.err = fmt.Errorf("%s: %w; the command may have run", x.node.addr, err)
	case redirects[code(x.verdict())] != 0, len(x.limits) > 0 && u.limits.recover(x, x.verdict()):
		w.Close()
		c.Reply = nullArray(c)
		return
	default:
		if x.reply == nil {
			x.answered()
		}
		if w.watching = false; x.selects() {
			w.drop()
		}
		w.Close()
	}
	u.finish(x)
}

// Close ends the watch.
func (w *watch) Close() {
	if w.conn == nil {
		return
	}
	conn := w.conn
	w.conn = nil
	if w.watching {
		over, cancel := w.upstream.within(w.upstream.options.Timeout)
		defer cancel()
		it := &item{args: [][]byte{[]byte("UNWATCH")}}
		if err := conn.exchange([]*item{it}, over); err != nil || !isOK(it.reply) {
			conn.close()
			return
		}
	}
	conn.release()
}

// nullArray returns the reply of an EXEC whose watched keys have changed.
func nullArray(c *call.Call) []byte {
	if isProto3(c) {
		return []byte("_\r\n")
	}
	return []byte("*-1\r\n")
}
