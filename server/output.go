package server

import (
	"net"
	"sync"
	"time"

	"github.com/zlimit/zlimit/config"
)

// pumpBytes is what the pump gives the socket at a time: how finely it is seen
// that a slow client does take something.
const pumpBytes = 64 << 10

// An output sends replies without ever making the connection wait for a client
// that does not read: what the socket does not take at once is kept and sent
// by a goroutine of its own, the pump, and the connection goes on reading. A
// client may then send a pipeline of a million commands before it reads the
// first reply, as it may with Redis; how much is kept for it is bounded by
// client-output-buffer-limit.
//
// A reply that is made while it is sent is the pump's from the start, so that
// its making does not keep the connection from reading either.
//
// buf, append, flush and stream belong to the connection's goroutine.
type output struct {
	nc     net.Conn
	socket *socket      // nil where nc can only be written to by waiting
	buf    []byte       // replies of the batch under way
	sent   bool         // the last flush of any sent all that it had
	count  func(n int)  // is told what was written at once, by any goroutine; nil: nobody is
	settle func() error // waits until buf may be sent; an error says that it must not be. nil: it may

	complain func(format string, args ...any) // logs

	mu        sync.Mutex
	limit     config.OutputBufferLimit // protected by mu, as is what follows
	kept      []part                   // what comes after what the pump holds, in order
	keptBytes int                      // in kept
	held      int                      // bytes that the pump holds
	pumping   bool                     // the pump runs
	drained   *sync.Cond               // signalled when pumping ends
	failed    bool                     // the client is gone
	over      time.Time                // since when the soft limit is reached; zero: it is not
	soft      *time.Timer              // looks again when the soft limit's seconds are over
	broken    int                      // bytes that were waiting when a limit was broken
	taken     time.Time                // when the client last took something from the pump
	patient   time.Duration            // how long the pump waits for the client to take something; 0: for ever
}

func (o *output) append(b []byte) { o.buf = append(o.buf, b...) }

// obey sets the limit, and applies it to what is already waiting.
func (o *output) obey(limit config.OutputBufferLimit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = limit
	o.stopSoft() // its seconds may have changed
	o.check()
}

// flush sends what was collected. It reports whether the connection can go on:
// not if the client is gone, or leaves more unread than the limit allows.
func (o *output) flush() bool {
	if len(o.buf) == 0 {
		return true
	}
	o.sent = false
	var unsettled error
	if o.settle != nil {
		unsettled = o.settle()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.buf
	if unsettled != nil {
		o.fail()
	}
	if !o.pumping && !o.failed {
		n, err := o.writeNow(rest)
		o.wrote(n)
		rest = rest[n:]
		o.failed = err != nil
		o.sent = len(rest) == 0 && !o.failed
	}
	if len(rest) > 0 && !o.failed {
		o.keep(rest)
		o.check()
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > keptOutput {
		o.buf = nil
	}
	return !o.failed
}

// wrote counts what was written.
func (o *output) wrote(n int) {
	if n > 0 && o.count != nil {
		o.count(n)
	}
}

// writeNow writes what the socket takes without waiting.
func (o *output) writeNow(b []byte) (n int, err error) {
	if p, ok := o.nc.(unwaiting); ok {
		return p.WriteSome(b)
	}
	if o.socket == nil {
		return 0, nil
	}
	return o.socket.writeSome(b)
}

// unwaiting is a connection without a socket that can do by itself what a
// socket does: read and write without waiting (see package pipe).
type unwaiting interface {
	ReadSome(b []byte) (int, error)
	WriteSome(b []byte) (int, error)
}

// keep leaves b to the pump. It requires mu.
func (o *output) keep(b []byte) {
	if n := len(o.kept); n == 0 || o.kept[n-1].stream != nil {
		o.kept = append(o.kept, part{})
	}
	last := &o.kept[len(o.kept)-1]
	last.bytes = append(last.bytes, b...)
	o.keptBytes += len(b)
	o.startPump()
}

// startPump requires mu.
func (o *output) startPump() {
	if o.pumping {
		return
	}
	o.pumping = true
	if o.drained == nil {
		o.drained = sync.NewCond(&o.mu)
	}
	go o.pump()
}

// pump sends what is kept, waiting for the client as long as it takes.
func (o *output) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.kept) > 0 && !o.failed {
		next := o.kept[0]
		o.kept = o.kept[1:]
		if next.stream != nil {
			o.sendStream(next.stream)
			continue
		}
		o.keptBytes -= len(next.bytes)
		o.send(next.bytes)
	}
	o.kept, o.keptBytes, o.held, o.pumping = nil, 0, 0, false
	o.drained.Broadcast()
}

// send gives b to the client in small portions. It is the pump's, and requires
// mu, which it leaves while it waits.
func (o *output) send(b []byte) {
	o.held = len(b)
	for len(b) > 0 && !o.failed {
		o.limitPatience()
		o.mu.Unlock()
		n, err := o.nc.Write(b[:min(len(b), pumpBytes)])
		o.wrote(n)
		o.mu.Lock()
		b = b[n:]
		o.held = len(b)
		o.taken = time.Now()
		if err != nil {
			o.fail()
		}
		o.check()
	}
}

// fail gives the client up. It requires mu.
func (o *output) fail() {
	o.failed = true
	o.cut() // the reading side must notice
}

// cut ends the connection, whoever is in the middle of what: nothing more is read
// or sent. Its own goroutine closes it.
func (o *output) cut() {
	if o.socket != nil {
		o.socket.cut()
	} else {
		o.nc.Close()
	}
}

// giveUp ends a client for which so many bytes were waiting elsewhere.
func (o *output) giveUp(waiting int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.failed {
		o.broken = waiting
		o.fail()
	}
}

// check gives the client up if what is waiting breaks the limit. It requires
// mu.
func (o *output) check() {
	waiting := int64(o.keptBytes + o.held)
	reached := func(limit int64) bool { return limit > 0 && waiting >= limit }
	if o.failed || !reached(o.limit.SoftBytes) {
		o.over = time.Time{}
		o.stopSoft()
	} else if o.over.IsZero() {
		o.over = time.Now()
	}
	patience := time.Duration(min(o.limit.SoftSeconds, int64(maxPatience/time.Second))) * time.Second
	switch {
	case o.failed:
	case reached(o.limit.HardBytes), !o.over.IsZero() && time.Since(o.over) >= patience:
		o.broken = int(waiting)
		o.fail()
		o.stopSoft()
	case !o.over.IsZero() && o.soft == nil:
		// A client that is silent too must be found out.
		o.soft = time.AfterFunc(patience-time.Since(o.over), func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.soft = nil
			o.check()
		})
	}
}

// maxPatience stands for every longer soft limit, so that seconds do not
// overflow a Duration.
const maxPatience = 100 * 365 * 24 * time.Hour

func (o *output) stopSoft() {
	if o.soft != nil {
		o.soft.Stop()
		o.soft = nil
	}
}

// waiting returns the bytes that the client has not taken yet.
func (o *output) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.keptBytes + o.held
}

// lastTaken returns when the client last took something that had to wait.
func (o *output) lastTaken() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken
}

// overflow returns how many bytes were waiting when they broke the limit, 0 if
// they did not.
func (o *output) overflow() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.broken
}

// limitPatience gives the client time to take the next bytes. It requires mu.
func (o *output) limitPatience() {
	if o.patient > 0 {
		o.nc.SetWriteDeadline(time.Now().Add(o.patient))
	}
}

// last sends what was collected and waits for the client to take everything,
// for as long as it takes something now and then. It reports whether it did.
func (o *output) last(patient time.Duration) bool {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.patient = patient
	o.limitPatience() // also for the write under way
	for o.pumping {
		o.drained.Wait()
	}
	return !o.failed
}

// end closes the connection and waits for what goes on beside it.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true
	o.nc.Close()
	o.stopSoft()
	for o.pumping {
		o.drained.Wait()
	}
}
