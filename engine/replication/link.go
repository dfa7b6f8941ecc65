package replication

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A LinkState is how far a link is, as ROLE names it.
type LinkState string

// The states of a link.
const (
	Connect    LinkState = "connect"    // it will connect at a Tick
	Connecting LinkState = "connecting" // it connects
	Handshake  LinkState = "handshake"  // it is connected and introduces itself
	Syncing    LinkState = "sync"       // it gets a copy of the keys
	Connected  LinkState = "connected"  // it follows the stream
	Stopped    LinkState = "stopped"    // it met what it cannot follow: somebody must act
)

// A Follower is the server that a link feeds. Its methods are called on the link's goroutine, one at a
// time.
type Follower interface {
	// Position returns what the follower has, or false if that is in no history.
	Position() (Position, bool)

	// Continue says that the stream goes on from Position, in a history of that identifier.
	Continue(id string)

	// Load replaces all keys by those of a copy in the form of dump.rdb, which stands for a position.
	// An error that wraps ErrForeign stops the link; after others the link tries again. Unless the copy
	// is whole and can be held, nothing has changed. progress is called now and then.
	Load(f io.ReaderAt, size int64, at Position, progress func()) error

	// Apply runs a command of the stream. raw is how it arrived; without args it is an empty line.
	// Position stays where it is within a transaction.
	Apply(args [][]byte, raw []byte) error

	// Spool returns a place for a copy.
	Spool() (Spool, error)

	// Online is called when the link follows the stream, and Offline when it does so no longer.
	Online()
	Offline()
}

// ErrForeign is wrapped by errors about what a server of this kind does not hold or cannot follow.
var ErrForeign = errors.New("what the master has sent cannot be followed")

// A Spool holds a copy that arrives.
type Spool interface {
	io.Writer
	io.ReaderAt
	Close() error // it removes the copy
}

// LinkOptions configures a Link.
type LinkOptions struct {
	Addr string // host:port
	// Dial connects. It returns soon after stop is closed.
	Dial func(addr string, stop <-chan struct{}) (io.ReadWriteCloser, error)
	// Settings returns what the directives say now.
	Settings func() LinkSettings
	Follower Follower
	NowUs    func() int64 // real time
	// Log writes a line of the server's log.
	Log func(warning bool, text string, attrs ...any)
}

// LinkSettings are the directives that a Link follows.
type LinkSettings struct {
	User, Password string // masteruser, masterauth
	Port           int    // what is announced
	IP             string // replica-announce-ip
	TimeoutUs      int64  // repl-timeout
}

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
	closing bool
	acked   int64 // real time, in seconds
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

// Close ends the link and waits until nothing more is applied. The Follower must not call it.
func (l *Link) Close() {
	l.mu.Lock()
	if !l.closing {
		l.closing = true
		close(l.stop)
		l.hangUp()
	}
	l.mu.Unlock()
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

// Command encodes a command in RESP.
func Command[T string | []byte](args ...T) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
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
	wasUp := l.state == Connected
	if wasUp {
		l.downUs = l.o.NowUs()
	}
	l.conn, l.cancel, l.state, l.left = nil, nil, Connect, -1
	closing, foreign := l.closing, errors.Is(err, ErrForeign)
	if foreign {
		l.state = Stopped
	}
	if l.why = err.Error(); l.silent {
		l.why = "nothing has arrived for repl-timeout"
	}
	why := l.why
	l.mu.Unlock()
	if wasUp {
		l.o.Follower.Offline()
	}
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
	if l.closing {
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
	err = l.follow(in)
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

// ask sends a command and returns the reply, which is one line.
func ask(conn io.Writer, in *bufio.Reader, args ...string) (string, error) {
	if _, err := conn.Write(Command(args...)); err != nil {
		return "", err
	}
	for {
		line, err := readLine(in)
		if err != nil {
			return "", err
		}
		if len(line) > 0 { // empty lines keep the connection alive
			return string(line), nil
		}
	}
}

// introduce is the handshake up to PSYNC.
func (l *Link) introduce(conn io.Writer, in *bufio.Reader) error {
	reply, err := ask(conn, in, "PING")
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(reply, "+"), strings.HasPrefix(reply, "-NOAUTH"),
		strings.HasPrefix(reply, "-NOPERM"), strings.HasPrefix(reply, "-ERR operation not permitted"):
	default:
		return refused("PING", reply)
	}
	o := l.o.Settings()
	if o.Password != "" {
		args := []string{"AUTH", o.Password}
		if o.User != "" {
			args = []string{"AUTH", o.User, o.Password}
		}
		if reply, err = ask(conn, in, args...); err != nil {
			return err
		}
		if reply[0] != '+' {
			return refused("AUTH", reply)
		}
	}
	introductions := [][]string{{"REPLCONF", "listening-port", strconv.Itoa(o.Port)}}
	if o.IP != "" {
		introductions = append(introductions, []string{"REPLCONF", "ip-address", o.IP})
	}
	introductions = append(introductions, []string{"REPLCONF", "capa", "eof", "capa", "psync2"})
	for _, args := range introductions {
		reply, err := ask(conn, in, args...)
		if err != nil {
			return err
		}
		if reply[0] == '-' && !strings.HasPrefix(reply, "-ERR") {
			return refused(strings.Join(args[:2], " "), reply) // such as NOAUTH; old masters lack options
		}
	}
	return nil
}

func refused(what, reply string) error {
	return fmt.Errorf("the master answers %s: %q", what, reply)
}

// sync asks for the stream, from where the follower is if that can be, or after a copy of all keys.
func (l *Link) sync(conn io.Writer, in *bufio.Reader) error {
	from, ok := l.o.Follower.Position()
	args := []string{"PSYNC", "?", "-1"}
	if ok {
		args = []string{"PSYNC", from.ID, strconv.FormatInt(from.Offset+1, 10)}
	}
	reply, err := ask(conn, in, args...)
	if err != nil {
		return err
	}
	verb, rest, _ := strings.Cut(reply, " ")
	words := strings.Fields(rest)
	switch {
	case len(words) > 0 && len(words[0]) != len(NoID):
	case verb == "+CONTINUE" && ok:
		if len(words) > 0 {
			from.ID = words[0]
		}
		l.o.Follower.Continue(from.ID)
		l.online(from.Offset)
		return nil
	case verb == "+FULLRESYNC" && len(words) == 2:
		offset, err := strconv.ParseInt(words[1], 10, 64)
		if err == nil && offset >= 0 {
			return l.full(conn, in, Position{words[0], offset})
		}
	}
	return refused("PSYNC", reply)
}

// online notes that the stream follows.
func (l *Link) online(offset int64) {
	l.mu.Lock()
	l.state, l.offset, l.applied, l.why = Connected, offset, offset, ""
	l.acked = l.o.NowUs() / 1_000_000
	l.mu.Unlock()
	l.o.Follower.Online()
	l.ack()
}

// full receives a copy of all keys and loads it.
func (l *Link) full(conn io.Writer, in *bufio.Reader, at Position) error {
	l.mu.Lock()
	l.state, l.read, l.left = Syncing, 0, -1
	l.mu.Unlock()
	head, err := readLine(in)
	for err == nil && len(head) == 0 {
		head, err = readLine(in)
	}
	if err != nil {
		return err
	}
	spool, err := l.o.Follower.Spool()
	if err != nil {
		return err
	}
	defer func() {
		if err := spool.Close(); err != nil {
			l.o.Log(true, "removing the received copy of the keys failed", "error", err)
		}
	}()
	var size int64
	mark, hasMark := bytes.CutPrefix(head, []byte("$EOF:"))
	switch {
	case hasMark && len(mark) == len(NoID):
		size, err = l.receiveMarked(spool, in, bytes.Clone(mark))
	case head[0] == '$':
		size, err = l.receive(spool, in, head[1:])
	default:
		return refused("the copy", string(head))
	}
	if err != nil {
		return fmt.Errorf("receiving a copy of the keys: %w", err)
	}
	lastUs := l.o.NowUs()
	err = l.o.Follower.Load(spool, size, at, func() {
		l.lastUs.Store(l.o.NowUs())
		if nowUs := l.o.NowUs(); nowUs-lastUs >= 1_000_000 {
			lastUs = nowUs
			_, _ = io.WriteString(conn, "\n") // the master hears that we are there
		}
	})
	if err != nil {
		return fmt.Errorf("loading the copy of the master's keys: %w", err)
	}
	l.lastUs.Store(l.o.NowUs())
	l.online(at.Offset)
	return nil
}

// receive receives a copy of known length.
func (l *Link) receive(to io.Writer, in *bufio.Reader, digits []byte) (int64, error) {
	size, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("its length is %q", digits)
	}
	l.count(0, size)
	n, err := io.CopyN(&counter{to, l, size}, in, size)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// receiveMarked receives a copy that a mark ends.
func (l *Link) receiveMarked(to io.Writer, in *bufio.Reader, mark []byte) (int64, error) {
	out := &counter{to, l, -1}
	var size int64
	for {
		// Look at what is buffered, and keep what may be the beginning of the mark.
		if _, err := in.Peek(len(mark)); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return size, err
		}
		b, _ := in.Peek(in.Buffered())
		n, found := len(b)-len(mark)+1, false
		if i := bytes.Index(b, mark); i >= 0 {
			n, found = i, true
		}
		if _, err := out.Write(b[:n]); err != nil {
			return size, err
		}
		size += int64(n)
		if found {
			n += len(mark)
		}
		_, _ = in.Discard(n)
		if found {
			return size, nil
		}
	}
}

// count notes how much of a copy was received.
func (l *Link) count(read, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read += read
	if size >= 0 {
		l.left = size - l.read
	}
}

type counter struct {
	io.Writer
	l    *Link
	size int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.l.count(int64(n), c.size)
	return n, err
}

// follow applies the stream until the connection ends.
func (l *Link) follow(in *bufio.Reader) error {
	p := parser{in: in}
	for {
		c, err := p.next()
		if err != nil {
			return err
		}
		wanted := len(c.args) == 3 && equalFold(c.args[0], "REPLCONF") && equalFold(c.args[1], "GETACK")
		if err := l.o.Follower.Apply(c.args, c.raw); err != nil {
			return err
		}
		at, ok := l.o.Follower.Position()
		l.mu.Lock()
		l.offset += int64(len(c.raw))
		if ok {
			l.applied = min(at.Offset, l.offset)
		}
		l.mu.Unlock()
		if wanted {
			l.ack()
		}
	}
}

func equalFold(b []byte, s string) bool { return strings.EqualFold(string(b), s) }
