package replication

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A Link connects a replica to its master, again and again until Close.
type Link struct {
	o    LinkOptions
	tick chan struct{} // Tick lets a link that waits connect
	stop chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // protects the fields below
	state   LinkState
	why     string // of the last failure
	downUs  int64  // since when it is not Connected
	attempt attempt
	copy    receivedCopy
	stream  receivedStream
	acks    acks
}

// An attempt is the last connection to the master, or the one under way.
type attempt struct {
	conn    io.ReadWriteCloser
	cancel  chan struct{} // closed to end it
	silent  bool          // it was ended because nothing arrived
	beganUs int64
	lastUs  atomic.Int64 // when something last arrived, or the attempt began; not protected by the Link's mu
}

// hangUp ends the attempt.
func (a *attempt) hangUp() {
	if a.cancel != nil {
		closeOnce(a.cancel)
	}
	if conn := a.conn; conn != nil {
		go func() { _ = conn.Close() }() // over TLS it may wait for the master
	}
}

// acks are the confirmations of what was applied.
type acks struct {
	due   chan struct{} // lets acker confirm
	lastS int64         // the second of real time for which one was requested
}

// request lets acker confirm what was applied.
func (a *acks) request() {
	select {
	case a.due <- struct{}{}:
	default:
	}
}

// A receivedCopy is how much of a copy has arrived.
type receivedCopy struct{ read, left int64 } // left is -1 if it is unknown

// add notes that more has arrived of a copy, whose size is -1 if it is unknown.
func (c *receivedCopy) add(n, size int64) {
	c.read += n
	if size >= 0 {
		c.left = size - c.read
	}
}

// A receivedStream is how much of the stream has arrived.
type receivedStream struct {
	offset   int64 // of what was received
	applied  int64 // offset of what was applied: without the transaction under way
	applying bool  // a command is being applied: nothing is read meanwhile
}

// begin notes that a command has arrived and is being applied.
func (s *receivedStream) begin(size int) {
	s.offset += int64(size)
	s.applying = true
}

// retryUs is how long after the beginning of an attempt the next one may begin.
const retryUs = 1_000_000

// NewLink returns a link that connects at the first Tick, and tries again at most once a second.
func NewLink(o LinkOptions) *Link {
	nowUs := o.NowUs()
	l := &Link{
		o: o, tick: make(chan struct{}, 1), acks: acks{due: make(chan struct{}, 1)},
		stop: make(chan struct{}), done: make(chan struct{}),
		state: Connect, downUs: nowUs, copy: receivedCopy{left: -1},
		attempt: attempt{beganUs: nowUs - retryUs},
	}
	go l.run()
	return l
}

// A LinkStatus describes a Link for INFO and ROLE.
type LinkStatus struct {
	Addr    string
	State   LinkState
	Why     string // the last failure; empty: none
	Offset  int64  // of what was received; -1: nothing
	LastUs  int64  // when something last arrived
	DownUs  int64  // since when the link is down; 0: it is up
	Read    int64  // of the copy
	Left    int64  // of the copy; -1: unknown
	Syncing bool
}

// Status returns the state.
func (l *Link) Status() LinkStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := LinkStatus{
		Addr: l.o.Addr, State: l.state, Why: l.why, Offset: -1, LastUs: l.attempt.lastUs.Load(),
		DownUs: l.downUs, Read: l.copy.read, Left: l.copy.left, Syncing: l.state == Syncing,
	}
	if l.state == Connected {
		out.DownUs, out.Offset = 0, l.stream.offset
	}
	return out
}

// Up reports whether the link follows the stream.
func (l *Link) Up() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == Connected
}

// End lets the link end: a position that the Follower takes from now on is told to no master. It waits for
// nothing, so what has arrived may still be applied.
func (l *Link) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	closeOnce(l.stop)
	l.attempt.hangUp()
}

// Close ends the link and waits until nothing more is applied. The Follower must not call it.
func (l *Link) Close() {
	l.End()
	<-l.done
}

// Drop ends the connection, if there is one. The link connects again.
func (l *Link) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt.hangUp()
}

// Tick does what is due: it starts another attempt, ends one that hears nothing, and confirms what was
// applied. Call it some times a second.
func (l *Link) Tick() {
	nowUs, timeoutUs := l.o.NowUs(), l.o.Settings().TimeoutUs
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case Stopped:
		return
	case Connect:
		if nowUs-l.attempt.beganUs >= retryUs {
			select {
			case l.tick <- struct{}{}:
			default:
			}
		}
		return
	case Connected:
		if second := nowUs / 1_000_000; second != l.acks.lastS {
			l.acks.lastS = second
			l.acks.request()
		}
		if l.stream.applying {
			l.attempt.lastUs.Store(nowUs)
			return
		}
	}
	if nowUs-l.attempt.lastUs.Load() > timeoutUs {
		l.attempt.silent = true
		l.attempt.hangUp()
	}
}

// acker confirms what was applied, whenever that was requested, until over is closed or the connection
// fails. A master that reads nothing blocks nobody else.
func (l *Link) acker(conn io.Writer, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-l.acks.due:
		}
		l.mu.Lock()
		offset := l.stream.applied
		l.mu.Unlock()
		if _, err := conn.Write(Command("REPLCONF", "ACK", strconv.FormatInt(offset, 10))); err != nil {
			return
		}
	}
}

// run is the link's goroutine.
func (l *Link) run() {
	defer close(l.done)
	for {
		select {
		case <-l.stop:
			return
		case <-l.tick:
		}
		err := l.try()
		if l.ended(err) {
			return
		}
	}
}

// ended notes how an attempt has ended. It reports whether that was the last one.
func (l *Link) ended(err error) bool {
	l.mu.Lock()
	if l.attempt.conn != nil {
		_ = l.attempt.conn.Close()
	}
	if l.state == Connected {
		l.downUs = l.o.NowUs()
	}
	l.attempt.conn, l.attempt.cancel, l.state, l.copy.left = nil, nil, Connect, -1
	closing, foreign := isClosed(l.stop), errors.Is(err, ErrForeign)
	if foreign {
		l.state = Stopped
	}
	if l.why = err.Error(); l.attempt.silent {
		l.why = "nothing has arrived for repl-timeout"
	}
	why := l.why
	l.mu.Unlock()
	if closing {
		return true
	}
	text := "the link to the master is down: trying again"
	if foreign {
		text = "the link to the master is stopped: REPLICAOF begins anew"
	}
	l.o.Log(true, text, "master", l.o.Addr, "error", why)
	return foreign
}

// try connects and follows the master until that fails.
func (l *Link) try() error {
	cancel := make(chan struct{})
	l.mu.Lock()
	if isClosed(l.stop) {
		l.mu.Unlock()
		return ErrClosed
	}
	l.state, l.attempt.cancel, l.attempt.silent = Connecting, cancel, false
	l.attempt.beganUs = l.o.NowUs()
	l.attempt.lastUs.Store(l.attempt.beganUs)
	l.mu.Unlock()
	conn, err := l.o.Dial(l.o.Addr, cancel)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.attempt.conn, l.state = conn, Handshake
	if isClosed(cancel) {
		_ = conn.Close()
	}
	l.mu.Unlock()
	in := bufio.NewReaderSize(&timedReader{conn, l}, maxLine)
	if err := l.introduce(conn, in); err != nil {
		return err
	}
	if err := l.sync(conn, in); err != nil {
		return err
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		l.acker(conn, over)
	}()
	err = l.follow(in, cancel)
	l.o.Follower.Connected(false)
	close(over)
	_ = conn.Close() // so that acker does not wait
	<-done
	return err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A timedReader notes when something arrives.
type timedReader struct {
	r io.Reader
	l *Link
}

func (t *timedReader) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if n > 0 {
		t.l.attempt.lastUs.Store(t.l.o.NowUs())
	}
	return n, err
}

// online notes that the stream follows.
func (l *Link) online(offset int64) {
	l.o.Follower.Connected(true)
	l.mu.Lock()
	l.state, l.why, l.stream.offset, l.stream.applied = Connected, "", offset, offset
	l.acks.lastS = l.o.NowUs() / 1_000_000
	l.mu.Unlock()
	l.acks.request()
}

// follow applies the stream until the connection ends or stop is closed.
func (l *Link) follow(in *bufio.Reader, stop <-chan struct{}) error {
	p := parser{in: in}
	for {
		if in.Buffered() == 0 {
			l.o.Follower.Idle()
		}
		c, err := p.next()
		if err != nil {
			return err
		}
		wanted := len(c.args) == 3 && equalFold(c.args[0], "REPLCONF") && equalFold(c.args[1], "GETACK")
		l.mu.Lock()
		l.stream.begin(len(c.raw))
		l.mu.Unlock()
		err = l.o.Follower.Apply(c.args, c.raw, stop)
		l.endApply()
		if err != nil {
			return err
		}
		if wanted {
			l.acks.request()
		}
	}
}

// endApply notes what was applied.
func (l *Link) endApply() {
	at, ok := l.o.Follower.Position()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream.applying = false
	if ok {
		l.stream.applied = min(at.Offset, l.stream.offset)
	}
}

func equalFold(b []byte, s string) bool { return strings.EqualFold(string(b), s) }
