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

	mu        sync.Mutex // protects the fields below
	said      Said
	state     State
	ackOffset int64 // what it has confirmed
	ackedUs   int64 // when it last sent something
	copy      *Reader
	marked    bool // the copy ends with a mark, so that it must be confirmed before the stream follows
	stream    *Reader
	head      []byte // sent before the copy
	gone      bool
	softUs    int64         // when the soft limit was reached; 0: it is not
	copyTaken int64         // how much of the copy was sent at movedUs; -1: all
	movedUs   int64         // when copyTaken last changed
	nudge     chan struct{} // makes WriteTo look again
	newline   bool          // one is due
	greeted   bool          // it was online when a ping was sent
	confirmed bool          // it has loaded the copy: the stream may follow
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
		Addr: addr, Kill: kill, changed: changed, said: said, ackedUs: nowUs, nudge: make(chan struct{}, 1),
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
	out := ReplicaStatus{
		IP: r.said.IP, Addr: r.Addr, Port: r.said.Port,
		State: r.state, Offset: r.ackOffset, AckedUs: r.ackedUs,
	}
	if r.stream != nil {
		out.Unread = r.stream.Unread()
	}
	return out
}

// Ack notes that the replica has confirmed an offset.
func (r *Replica) Ack(offset, nowUs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ackOffset = max(r.ackOffset, offset)
	r.ackedUs = nowUs
	if r.state == SendBulk && !r.confirmed {
		r.confirmed = true
		r.goOnline()
	}
}

// goOnline begins the stream if the copy was sent and is confirmed. It requires mu.
func (r *Replica) goOnline() {
	if r.state == SendBulk && r.copy == nil && r.confirmed && !r.said.RDB {
		r.state = Online
		r.wakeUp()
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
	r.ackedUs = nowUs
}

// wakeUp makes WriteTo look again. It requires mu.
func (r *Replica) wakeUp() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// Close ends WriteTo.
func (r *Replica) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	if r.copy != nil {
		r.copy.Close()
	}
	if r.stream != nil {
		r.stream.Close()
	}
	r.wakeUp()
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
	from := r.copy
	switch {
	case r.gone:
		r.mu.Unlock()
		return nil, true, ErrClosed
	case len(r.head) > 0:
		b, r.head = r.head, nil
		r.mu.Unlock()
		return b, false, nil
	case r.newline && r.mayKeepAlive():
		r.newline = false
		r.mu.Unlock()
		return []byte("\n"), false, nil
	case from != nil:
	case r.state == Online:
		from = r.stream
	}
	r.mu.Unlock()
	if from == nil {
		<-r.nudge
		return nil, false, nil
	}
	b, err = from.Next(r.nudge)
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
	r.copy.Close()
	r.copy = nil
	r.confirmed = r.confirmed || !r.marked
	r.goOnline()
	return r.said.RDB
}

// mayKeepAlive reports whether empty lines may be sent: nothing of the copy was. It requires mu.
func (r *Replica) mayKeepAlive() bool {
	if r.state == SendBulk && r.copy != nil {
		taken, _ := r.copy.progress()
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
	r.head, r.stream, r.state, r.ackOffset = []byte(head), stream, Online, from
	r.confirmed = true
}

// begins makes the replica get a copy and then the stream.
func (r *Replica) begins(head string, marked bool, copied, stream *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		copied.Close()
	}
	if r.gone || r.said.RDB {
		stream.Close()
	}
	r.newline = false
	r.head, r.marked, r.copy, r.stream, r.state = []byte(head), marked, copied, stream, SendBulk
	r.wakeUp()
}
