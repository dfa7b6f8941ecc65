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
	acks chan struct{} // lets acker confirm
	stop chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended

	lastUs atomic.Int64 // when something last arrived, or the attempt began

	mu      sync.Mutex // protects the fields below
	state   LinkState
	why     string // of the last failure
	silent  bool   // the attempt was ended because nothing arrived
	conn    io.ReadWriteCloser
	cancel  chan struct{} // closed to end the attempt
	offset  int64         // of what was received
	applied int64         // offset of what was applied: without the transaction under way
	triedUs int64         // when the last attempt began
	downUs  int64         // since when it is not Connected
	left    int64         // of the copy; -1: unknown
	read    int64         // of the copy
	acked   int64         // real time, in seconds

	applying bool // a command is being applied: nothing is read meanwhile
}

// retryUs is how long after the beginning of an attempt the next one may begin.
const retryUs = 1_000_000

// NewLink returns a link that connects at the first Tick, and tries again at most once a second.
func NewLink(o LinkOptions) *Link {
	nowUs := o.NowUs()
	l := &Link{
		o: o, tick: make(chan struct{}, 1), acks: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
		state: Connect, downUs: nowUs, triedUs: nowUs - retryUs, left: -1,
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
		Addr: l.o.Addr, State: l.state, Why: l.why, Offset: -1, LastUs: l.lastUs.Load(),
		DownUs: l.downUs, Read: l.read, Left: l.left, Syncing: l.state == Syncing,
	}
	if l.state == Connected {
		out.DownUs, out.Offset = 0, l.offset
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
	l.hangUp()
}

// Close ends the link and waits until nothing more is applied. The Follower must not call it.
func (l *Link) Close() {
	l.End()
	<-l.done
}

// hangUp ends the present attempt. It requires mu.
func (l *Link) hangUp() {
	if l.cancel != nil {
		closeOnce(l.cancel)
	}
	if conn := l.conn; conn != nil {
		go func() { _ = conn.Close() }() // over TLS it may wait for the master
	}
}

// Drop ends the connection, if there is one. The link connects again.
func (l *Link) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hangUp()
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
		if nowUs-l.triedUs >= retryUs {
			select {
			case l.tick <- struct{}{}:
			default:
			}
		}
		return
	case Connected:
		if second := nowUs / 1_000_000; second != l.acked {
			l.acked = second
			l.ack()
		}
		if l.applying {
			l.lastUs.Store(nowUs)
			return
		}
	}
	if nowUs-l.lastUs.Load() > timeoutUs {
		l.silent = true
		l.hangUp()
	}
}

// ack lets acker confirm what was applied.
func (l *Link) ack() {
	select {
	case l.acks <- struct{}{}:
	default:
	}
}

// acker confirms what was applied, whenever ack was called, until over is closed or the connection
// fails. A master that reads nothing blocks nobody else.
func (l *Link) acker(conn io.Writer, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-l.acks:
		}
		l.mu.Lock()
		offset := l.applied
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
		err := l.attempt()
		if l.ended(err) {
			return
		}
	}
}

// ended notes how an attempt has ended. It reports whether that was the last one.
func (l *Link) ended(err error) bool {
	l.mu.Lock()
	if l.conn != nil {
		_ = l.conn.Close()
	}
	if l.state == Connected {
		l.downUs = l.o.NowUs()
	}
	l.conn, l.cancel, l.state, l.left = nil, nil, Connect, -1
	closing, foreign := isClosed(l.stop), errors.Is(err, ErrForeign)
	if foreign {
		l.state = Stopped
	}
	if l.why = err.Error(); l.silent {
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

// attempt connects and follows the master until that fails.
func (l *Link) attempt() error {
	cancel := make(chan struct{})
	l.mu.Lock()
	if isClosed(l.stop) {
		l.mu.Unlock()
		return ErrClosed
	}
	l.state, l.cancel, l.silent = Connecting, cancel, false
	l.triedUs = l.o.NowUs()
	l.lastUs.Store(l.triedUs)
	l.mu.Unlock()
	conn, err := l.o.Dial(l.o.Addr, cancel)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.conn, l.state = conn, Handshake
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
		t.l.lastUs.Store(t.l.o.NowUs())
	}
	return n, err
}

// online notes that the stream follows.
func (l *Link) online(offset int64) {
	l.o.Follower.Connected(true)
	l.mu.Lock()
	l.state, l.offset, l.applied, l.why = Connected, offset, offset, ""
	l.acked = l.o.NowUs() / 1_000_000
	l.mu.Unlock()
	l.ack()
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
		l.beginApply(len(c.raw))
		err = l.o.Follower.Apply(c.args, c.raw, stop)
		l.endApply()
		if err != nil {
			return err
		}
		if wanted {
			l.ack()
		}
	}
}

// beginApply counts a command that has arrived.
func (l *Link) beginApply(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offset += int64(size)
	l.applying = true
}

// endApply notes what was applied.
func (l *Link) endApply() {
	at, ok := l.o.Follower.Position()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applying = false
	if ok {
		l.applied = min(at.Offset, l.offset)
	}
}

func equalFold(b []byte, s string) bool { return strings.EqualFold(string(b), s) }
