package replication

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
)

// MasterOptions configures a Master.
type MasterOptions struct {
	// Snapshot writes the keys of one instant to w in the form of dump.rdb, and calls begin at that
	// instant, with every shard locked. It is called on a goroutine of its own, by one at a time.
	Snapshot func(w io.Writer, stop <-chan struct{}, begin func()) error

	// Activated is called, with every shard locked, when changes are to be recorded from now on.
	Activated func()

	// Log writes a line of the server's log.
	Log func(warning bool, text string, attrs ...any)
}

// MasterSettings are the directives that a Master follows.
type MasterSettings struct {
	SyncDelayUs  int64 // repl-diskless-sync-delay
	SyncReplicas int   // repl-diskless-sync-max-replicas; 0: no limit
	PingUs       int64 // repl-ping-replica-period
	TimeoutUs    int64 // repl-timeout
	BacklogTTLUs int64 // repl-backlog-ttl; 0: for ever
	HardBytes    int64 // client-output-buffer-limit replica
	SoftBytes    int64
	SoftUs       int64
}

// A Master serves the replicas of this server from a Stream. Methods may be called concurrently.
type Master struct {
	stream  *Stream
	options MasterOptions

	mu        sync.Mutex
	replicas  []*Replica // all that have sent PSYNC or SYNC; protected by mu, as are the fields below
	waiting   []*Replica // those that wait for a copy which has not begun
	dueUs     int64      // when the copy for them begins
	copying   bool
	stop      chan struct{} // closed to stop the copy
	tasks     sync.WaitGroup
	pingedUs  int64
	lonelyUs  int64         // since when there is no replica; 0: there are some, or no backlog
	changed   chan struct{} // closed and replaced when an acknowledgement arrives
	full      int64
	partial   int64
	partialNo int64
	closed    bool
}

// NewMaster returns a Master without replicas.
func NewMaster(s *Stream, o MasterOptions) *Master {
	return &Master{stream: s, options: o, changed: make(chan struct{})}
}

// errStopped ends a copy whose replicas are all gone.
var errStopped = errors.New("replication: nobody wants the copy any more")

// PSYNC begins to serve a replica that has followed a history up to an offset, or none. The reply is
// what the returned Replica writes.
func (m *Master) PSYNC(addr string, from Position, said Said, nowUs int64, delayUs int64, kill func()) *Replica {
	r := newReplica(addr, said, nowUs, kill)
	id, reader, ok := m.stream.Continue(from)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replicas = append(m.replicas, r)
	m.lonelyUs = 0
	if ok {
		m.partial++
		r.continues(id, from.Offset, reader)
		m.options.Log(false, "partial resynchronization", "replica", addr, "offset", from.Offset)
		return r
	}
	if from.ID != "?" {
		m.partialNo++
	}
	m.full++
	r.state = WaitBgsave
	if len(m.waiting) == 0 {
		m.dueUs = nowUs + delayUs
	}
	m.waiting = append(m.waiting, r)
	return r
}

// Remove ends the service of a replica.
func (m *Master) Remove(r *Replica) {
	r.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(x *Replica) bool { return x == r }
	m.replicas = slices.DeleteFunc(m.replicas, same)
	m.waiting = slices.DeleteFunc(m.waiting, same)
	close(m.changed)
	m.changed = make(chan struct{})
}

// Ack notes that a replica has confirmed an offset.
func (m *Master) Ack(r *Replica, offset, nowUs int64) {
	r.Ack(offset, nowUs)
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

// Acked returns how many replicas have confirmed an offset, and a channel that is closed when that may
// have changed.
func (m *Master) Acked(offset int64) (n int, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.replicas {
		if s := r.Status(); s.State == Online && s.Offset >= offset {
			n++
		}
	}
	return n, m.changed
}

// Good returns how many replicas are online and have sent something within lagUs.
func (m *Master) Good(nowUs, lagUs int64) int {
	n := 0
	for _, r := range m.Replicas() {
		if r.State == Online && nowUs-r.AckedUs <= lagUs {
			n++
		}
	}
	return n
}

// Replicas returns the state of each replica, in the order in which they came.
func (m *Master) Replicas() []ReplicaStatus {
	m.mu.Lock()
	all := slices.Clone(m.replicas)
	m.mu.Unlock()
	out := make([]ReplicaStatus, len(all))
	for i, r := range all {
		out[i] = r.Status()
	}
	return out
}

// Counts returns how many full copies and partial resynchronizations were begun, and how many partial
// ones were refused.
func (m *Master) Counts() (full, partial, refused int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.full, m.partial, m.partialNo
}

// KillAll disconnects every replica.
func (m *Master) KillAll() {
	m.mu.Lock()
	all := slices.Clone(m.replicas)
	m.mu.Unlock()
	for _, r := range all {
		r.Kill()
	}
}

// Close stops a copy and waits until it has ended.
func (m *Master) Close() {
	m.mu.Lock()
	m.closed = true
	if m.copying {
		closeOnce(m.stop)
	}
	m.mu.Unlock()
	m.tasks.Wait()
}

// closeOnce requires a lock under which only it closes c.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// Tick does what is due. nowUs is real time. A replica that has replicas passes on the pings of its master,
// and keeps its backlog.
func (m *Master) Tick(nowUs int64, o MasterSettings, isMaster bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isMaster {
		m.tickBacklog(nowUs, o)
	}
	if len(m.replicas) == 0 {
		if m.copying {
			closeOnce(m.stop)
		}
		return
	}
	if nowUs-m.pingedUs >= o.PingUs {
		m.pingedUs = nowUs
		if isMaster {
			m.stream.AppendRaw([]byte("*1\r\n$4\r\nPING\r\n"))
		}
		for _, r := range m.waiting {
			r.sendNewline()
		}
	}
	for _, r := range m.replicas {
		if why := r.overdue(nowUs, o); why != "" {
			m.options.Log(true, "disconnecting a replica: "+why, "replica", r.Addr)
			r.Kill()
		}
	}
	enough := o.SyncReplicas > 0 && len(m.waiting) >= o.SyncReplicas
	if len(m.waiting) > 0 && !m.copying && !m.closed && (nowUs >= m.dueUs || enough) {
		m.copying, m.stop = true, make(chan struct{})
		m.tasks.Go(m.copy)
	}
}

// tickBacklog frees the backlog when there has been no replica for long. It requires mu.
func (m *Master) tickBacklog(nowUs int64, o MasterSettings) {
	switch {
	case len(m.replicas) > 0 || o.BacklogTTLUs == 0 || !m.stream.Active():
		m.lonelyUs = 0
	case m.lonelyUs == 0:
		m.lonelyUs = nowUs
	case nowUs-m.lonelyUs > o.BacklogTTLUs:
		m.lonelyUs = 0
		m.stream.Deactivate()
	}
}

// sendNewline keeps a connection alive that waits.
func (r *Replica) sendNewline() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == WaitBgsave {
		r.newline = true
		r.wakeUp()
	}
}

// overdue returns why a replica is to be disconnected, or "".
func (r *Replica) overdue(nowUs int64, o MasterSettings) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state == Online && nowUs-r.ackedUs > o.TimeoutUs:
		return "it has been silent for repl-timeout"
	case r.copy != nil && !r.copyMoves(nowUs, o.TimeoutUs):
		return "it has read nothing of the copy for repl-timeout"
	case r.stream == nil:
		return ""
	}
	unread := r.stream.Unread()
	switch {
	case o.HardBytes > 0 && unread >= o.HardBytes:
		return "client-output-buffer-limit"
	case o.SoftBytes <= 0 || unread < o.SoftBytes:
		r.softUs = 0
	case r.softUs == 0:
		r.softUs = nowUs
	case nowUs-r.softUs >= o.SoftUs:
		return "client-output-buffer-limit"
	}
	return ""
}

// copyMoves reports whether the replica reads the copy. It requires mu.
func (r *Replica) copyMoves(nowUs, timeoutUs int64) bool {
	left := r.copy.Unread()
	if left == 0 || left != r.copyLeft || r.movedUs == 0 {
		r.copyLeft, r.movedUs = left, nowUs
	}
	return nowUs-r.movedUs <= timeoutUs
}

// copy sends the keys to all that wait. It is the only goroutine that does.
func (m *Master) copy() {
	t := &transfer{stop: m.stop}
	t.room = make(chan struct{}, 1)
	t.mu.Lock()
	first := t.restart(0)
	t.mu.Unlock()
	mark := NewID()
	var followers []*Replica
	begin := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		followers, m.waiting = m.waiting, nil
		m.options.Activated()
		for _, r := range followers {
			at, stream := m.stream.Here()
			head := fmt.Sprintf("+FULLRESYNC %s %d\r\n", at.ID, at.Offset)
			if r.said.SYNC {
				head = ""
			}
			t.mu.Lock()
			copied := t.open(first, 0)
			t.mu.Unlock()
			if !r.said.EOF {
				t.whole = true // its length is sent before
			}
			r.begins(head, copied, stream)
		}
		first = nil
		m.options.Log(false, "sending a copy of the keys", "replicas", len(followers))
		t.begin(mark)
	}
	err := m.options.Snapshot(t, m.stop, begin)
	if err == nil {
		err = t.complete(mark)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copying = false
	if err != nil {
		m.options.Log(true, "sending a copy of the keys failed", "error", err)
		t.finish(err)
		for _, r := range followers {
			r.Kill()
		}
	}
}

// A transfer is a copy on its way to replicas. It does not run far ahead of the slowest.
type transfer struct {
	chain
	whole bool   // kept until its length is known
	held  []byte // of it
	stop  <-chan struct{}
}

// aheadBytes is how much of a copy may wait in memory.
const aheadBytes = 4 << 20

func (t *transfer) begin(mark string) {
	if !t.whole {
		t.put([]byte("$EOF:" + mark + "\r\n"))
	}
}

// Write appends a piece of the copy. It blocks while the slowest replica is far behind.
func (t *transfer) Write(b []byte) (int, error) {
	if t.whole {
		t.held = append(t.held, b...)
		return len(b), nil
	}
	t.put(b)
	return len(b), t.waitForRoom()
}

// waitForRoom blocks while a replica is far behind.
func (t *transfer) waitForRoom() error {
	for {
		t.mu.Lock()
		far := t.unread() > aheadBytes
		t.mu.Unlock()
		if !far {
			return nil
		}
		select {
		case <-t.room:
		case <-t.stop:
			return errStopped
		}
	}
}

func (t *transfer) put(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(b)
}

// complete ends the copy.
func (t *transfer) complete(mark string) error {
	if t.whole {
		t.put([]byte("$" + strconv.Itoa(len(t.held)) + "\r\n"))
		t.put(t.held)
	} else {
		t.put([]byte(mark))
	}
	t.finish(io.EOF)
	return nil
}
