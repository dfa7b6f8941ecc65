package replication

import (
	"errors"
	"io"
	"strings"
	"sync"
)

// A State is how far a replica is, as INFO names it.
type State string

// The states of a replica.
const (
	WaitBgsave State = "wait_bgsave" // a full copy is due or is being made
	SendBulk   State = "send_bulk"   // it is being sent
	Online     State = "online"      // it gets the stream
)

// A Replica is a follower of this server: what it has said by REPLCONF and PSYNC, and what it is sent.
// Methods may be called concurrently, but those of its session only by that.
type Replica struct {
	Addr string // of the connection
	// Kill closes the connection. Any goroutine may call it.
	Kill func()
	// changed is called, without mu, when the replica may have come online by itself.
	changed func()

	mu      sync.Mutex // protects the fields below
	said    Said
	state   State
	ack     ack
	copy    sentCopy
	stream  sentStream
	out     outbox
	gone    bool
	greeted bool // it was online when a ping was sent
}

// An ack is what a replica has confirmed.
type ack struct {
	offset int64
	us     int64 // when it last sent something
}

// advance notes that an offset was confirmed.
func (a *ack) advance(offset, nowUs int64) { a.offset, a.us = max(a.offset, offset), nowUs }

// A sentCopy is the copy that a replica gets.
type sentCopy struct {
	from      *Reader // nil: there is none, or it was sent
	confirmed bool    // it need not be confirmed any more before the stream follows
	taken     int64   // how much of it was sent at movedUs; -1: all
	movedUs   int64   // when taken last changed
}

// noteProgress notes when the replica last took something of the copy that there was.
func (c *sentCopy) noteProgress(nowUs int64) {
	taken, unread := int64(-1), int64(1)
	if c.from != nil {
		taken, unread = c.from.progress()
	}
	if taken != c.taken || unread == 0 || c.movedUs == 0 {
		c.taken, c.movedUs = taken, nowUs
	}
}

// A sentStream is the stream that a replica gets.
type sentStream struct {
	from   *Reader // nil: it gets none yet
	softUs int64   // when the soft limit was reached; 0: it is not
}

// unread returns the bytes of the stream that were not sent.
func (s *sentStream) unread() int64 {
	if s.from == nil {
		return 0
	}
	return s.from.Unread()
}

// exceeds reports whether more waits to be sent than client-output-buffer-limit allows.
func (s *sentStream) exceeds(nowUs int64, o MasterSettings) bool {
	unread := s.unread()
	switch {
	case o.HardBytes > 0 && unread >= o.HardBytes:
		return true
	case o.SoftBytes <= 0 || unread < o.SoftBytes:
		s.softUs = 0
	case s.softUs == 0:
		s.softUs = nowUs
	case nowUs-s.softUs >= o.SoftUs:
		return true
	}
	return false
}

// An outbox is what is sent before more of the copy or the stream.
type outbox struct {
	head    []byte        // sent first
	newline bool          // one is due
	nudge   chan struct{} // makes WriteTo look again
}

// wakeUp makes WriteTo look again.
func (o *outbox) wakeUp() {
	select {
	case o.nudge <- struct{}{}:
	default:
	}
}

// Said is what a replica has said of itself by REPLCONF.
type Said struct {
	Port   int
	IP     string // empty: that of its connection
	EOF    bool   // it takes a copy whose length is not known before
	PSYNC2 bool   // it knows +CONTINUE with an identifier
	RDB    bool   // it wants a copy and no stream
	SYNC   bool   // it has sent SYNC, which has no reply but the copy
	Part   Part   // what it wants a copy of
}

// Part is what a copy has.
type Part uint8

// The parts, as REPLCONF rdb-filter-only names them.
const (
	Everything Part = iota
	FunctionsOnly
	Nothing
)

// newReplica returns a replica that nothing is sent to yet.
func newReplica(addr string, said Said, nowUs int64, kill, changed func()) *Replica {
	return &Replica{
		Addr: addr, Kill: kill, changed: changed, said: said,
		ack: ack{us: nowUs}, out: outbox{nudge: make(chan struct{}, 1)},
	}
}

// A ReplicaStatus describes a replica for INFO and ROLE.
type ReplicaStatus struct {
	IP      string // empty: that of Addr
	Addr    string
	Port    int
	State   State
	Offset  int64
	AckedUs int64 // on the clock of Ack
	Unread  int64 // bytes of the stream that it was not sent
}

// Host returns the address at which the replica is reached.
func (s *ReplicaStatus) Host() string {
	if s.IP != "" {
		return s.IP
	}
	host := s.Addr
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}

// Status returns the state.
func (r *Replica) Status() ReplicaStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReplicaStatus{
		IP: r.said.IP, Addr: r.Addr, Port: r.said.Port,
		State: r.state, Offset: r.ack.offset, AckedUs: r.ack.us, Unread: r.stream.unread(),
	}
}

// Ack notes that the replica has confirmed an offset.
func (r *Replica) Ack(offset, nowUs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ack.advance(offset, nowUs)
	if r.state == SendBulk && !r.copy.confirmed {
		r.copy.confirmed = true
		r.goOnline()
	}
}

// goOnline begins the stream if the copy was sent and is confirmed. It requires mu.
func (r *Replica) goOnline() {
	if r.state == SendBulk && r.copy.from == nil && r.copy.confirmed && !r.said.RDB {
		r.state = Online
		r.out.wakeUp()
	}
}

// greet reports whether the replica is online, once.
func (r *Replica) greet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.greeted || r.state != Online {
		return false
	}
	r.greeted = true
	return true
}

// Heard notes that the replica has sent an empty line, as it does while it loads the copy.
func (r *Replica) Heard(nowUs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ack.us = nowUs
}

// Close ends WriteTo.
func (r *Replica) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	if r.copy.from != nil {
		r.copy.from.Close()
	}
	if r.stream.from != nil {
		r.stream.from.Close()
	}
	r.out.wakeUp()
}

// WriteTo sends the replica what it is to get, until it is gone. It is called once.
func (r *Replica) WriteTo(w io.Writer) (int64, error) {
	var n int64
	for {
		b, done, err := r.next()
		if len(b) > 0 {
			m, err := w.Write(b)
			n += int64(m)
			if err != nil {
				return n, err
			}
		}
		if done || err != nil {
			return n, err
		}
	}
}

// next returns what is to be sent next; it blocks until there is something.
func (r *Replica) next() (b []byte, done bool, err error) {
	r.mu.Lock()
	from := r.copy.from
	switch {
	case r.gone:
		r.mu.Unlock()
		return nil, true, ErrClosed
	case len(r.out.head) > 0:
		b, r.out.head = r.out.head, nil
		r.mu.Unlock()
		return b, false, nil
	case r.out.newline && r.mayKeepAlive():
		r.out.newline = false
		r.mu.Unlock()
		return []byte("\n"), false, nil
	case from != nil:
	case r.state == Online:
		from = r.stream.from
	}
	r.mu.Unlock()
	if from == nil {
		<-r.out.nudge
		return nil, false, nil
	}
	b, err = from.Next(r.out.nudge)
	if errors.Is(err, io.EOF) {
		done = r.copied()
		r.changed()
		return nil, done, nil
	}
	return b, false, err
}

// copied notes that the copy was sent. It reports whether that was all.
func (r *Replica) copied() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy.from.Close()
	r.copy.from = nil
	r.goOnline()
	return r.said.RDB
}

// mayKeepAlive reports whether empty lines may be sent: nothing of the copy was. It requires mu.
func (r *Replica) mayKeepAlive() bool {
	if r.state == SendBulk && r.copy.from != nil {
		taken, _ := r.copy.from.progress()
		return taken == 0
	}
	return r.state == WaitBgsave
}

// continues makes the replica go on where it was.
func (r *Replica) continues(id string, from int64, stream *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	head := "+CONTINUE\r\n"
	if r.said.PSYNC2 {
		head = "+CONTINUE " + id + "\r\n"
	}
	r.out.head, r.stream.from, r.state, r.ack.offset = []byte(head), stream, Online, from
}

// begins makes the replica get a copy and then the stream. If the copy ends with a mark, it must be confirmed
// before the stream follows.
func (r *Replica) begins(head string, marked bool, copied, stream *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		copied.Close()
	}
	if r.gone || r.said.RDB {
		stream.Close()
	}
	r.out.head, r.out.newline = []byte(head), false
	r.copy.from, r.copy.confirmed, r.stream.from, r.state = copied, !marked, stream, SendBulk
	r.out.wakeUp()
}
