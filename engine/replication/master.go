package replication

import (
	"io"
	"slices"
	"strconv"
	"sync"
)

// MasterOptions configures a Master.
type MasterOptions struct {
	// Snapshot writes a part of what there is at one instant to w, in the form of dump.rdb. Before that it
	// calls begin at that instant, with every shard locked, which returns the place that the copy stands for.
	// It is called on a goroutine of its own, one call at a time.
	Snapshot func(w io.Writer, part Part, stop <-chan struct{}, begin func() Position) error

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
	NowMs        int64 // the server's time in unix milliseconds, which pings tell; 0: they tell none
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

	mu       sync.Mutex
	replicas []*Replica // all that have sent PSYNC or SYNC; protected by mu, as are the fields below
	copies   copies
	tasks    sync.WaitGroup
	pingedUs int64
	aliveUs  int64         // when empty lines were last sent
	lonelyUs int64         // since when there is no replica; 0: there are some, or no backlog
	changed  chan struct{} // closed and replaced when an acknowledgement arrives
	syncs    syncCounts
	closed   bool
}

// copies is the copy under way and the next one. Master.mu protects it.
type copies struct {
	waiting []*Replica    // for a copy which has not begun
	dueUs   int64         // when that begins
	stop    chan struct{} // closed to stop the copy under way; nil: there is none
}

// add makes a replica wait. The first one waits until dueUs for others.
func (c *copies) add(r *Replica, dueUs int64) {
	if len(c.waiting) == 0 {
		c.dueUs = dueUs
	}
	c.waiting = append(c.waiting, r)
}

// due reports whether a copy is to begin.
func (c *copies) due(nowUs int64, enough int) bool {
	n := len(c.waiting)
	return n > 0 && c.stop == nil && (nowUs >= c.dueUs || enough > 0 && n >= enough)
}

// stopCurrent stops the copy under way.
func (c *copies) stopCurrent() {
	if c.stop != nil {
		closeOnce(c.stop)
	}
}

// take removes those that wait for a part.
func (c *copies) take(part Part) (taken []*Replica) {
	c.waiting = slices.DeleteFunc(c.waiting, func(r *Replica) bool {
		if r.said.Part == part {
			taken = append(taken, r)
			return true
		}
		return false
	})
	return taken
}

// syncCounts counts calls of PSYNC. Master.mu protects it.
type syncCounts struct{ full, partial, refused int64 }

func (c *syncCounts) add(from Position, partial bool) {
	if partial {
		c.partial++
		return
	}
	if from.ID != "?" {
		c.refused++
	}
	c.full++
}

// NewMaster returns a Master without replicas.
func NewMaster(s *Stream, o MasterOptions) *Master {
	return &Master{stream: s, options: o, changed: make(chan struct{})}
}

// PSYNC begins to serve a replica that has followed a history up to an offset, or none. The reply is
// what the returned Replica writes.
func (m *Master) PSYNC(
	addr string, from Position, said Said, nowUs, delayUs int64, kill func(),
) *Replica {
	r := newReplica(addr, said, nowUs, kill, m.signal)
	id, reader, ok := m.stream.Continue(from)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replicas = append(m.replicas, r)
	m.lonelyUs = 0
	m.syncs.add(from, ok)
	if ok {
		r.continues(id, from.Offset, reader)
		m.options.Log(false, "partial resynchronization", "replica", addr, "offset", from.Offset)
		return r
	}
	r.state = WaitBgsave
	m.copies.add(r, nowUs+delayUs)
	return r
}

// Remove ends the service of a replica.
func (m *Master) Remove(r *Replica) {
	r.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(x *Replica) bool { return x == r }
	m.replicas = slices.DeleteFunc(m.replicas, same)
	m.copies.waiting = slices.DeleteFunc(m.copies.waiting, same)
	m.broadcast()
}

// Ack notes that a replica has confirmed an offset.
func (m *Master) Ack(r *Replica, offset, nowUs int64) {
	r.Ack(offset, nowUs)
	m.signal()
}

// signal lets those look again who wait for confirmations.
func (m *Master) signal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broadcast()
}

// broadcast is signal, and requires mu.
func (m *Master) broadcast() {
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

// Changed returns a channel that is closed when a replica has come, gone or confirmed something.
func (m *Master) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Behind returns how many replicas have not confirmed the whole stream. As in Redis, those are among them
// that get a copy.
func (m *Master) Behind() (n int) {
	at := m.stream.Position().Offset
	for _, r := range m.Replicas() {
		if r.Offset < at {
			n++
		}
	}
	return n
}

// Good returns how many replicas are online and have sent something within lagUs. As in Redis the whole
// seconds of the clock count: replicas confirm once a second, perhaps somewhat late, and are good with a lag
// of one.
func (m *Master) Good(nowUs, lagUs int64) int {
	const s = 1_000_000
	n := 0
	for _, r := range m.Replicas() {
		if r.State == Online && nowUs/s-r.AckedUs/s <= lagUs/s {
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

// Count returns how many replicas there are.
func (m *Master) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.replicas)
}

// Counts returns how many full copies and partial resynchronizations were begun, and how many partial
// ones were refused.
func (m *Master) Counts() (full, partial, refused int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.syncs.full, m.syncs.partial, m.syncs.refused
}

// ResetCounts makes the counts 0.
func (m *Master) ResetCounts() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncs = syncCounts{}
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

// StopCopy stops a copy that is being sent. Its replicas ask for another one.
func (m *Master) StopCopy() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copies.stopCurrent()
}

// Close stops a copy and waits until it has ended.
func (m *Master) Close() {
	m.mu.Lock()
	m.closed = true
	m.copies.stopCurrent()
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
func (m *Master) Tick(nowUs int64, o MasterSettings) {
	for _, r := range m.tick(nowUs, o) {
		r.Kill()
		r.Close()
	}
}

// tick is Tick, except that it returns whom to disconnect.
func (m *Master) tick(nowUs int64, o MasterSettings) (overdue []*Replica) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tickBacklog(nowUs, o)
	if len(m.replicas) == 0 {
		m.copies.stopCurrent()
		return nil
	}
	if news := o.NowMs != 0 && m.greet(); news || nowUs-m.pingedUs >= o.PingUs {
		m.pingedUs = nowUs
		m.stream.Tell(pingAt(o.NowMs))
	}
	if nowUs-m.aliveUs >= keepAliveUs {
		m.aliveUs = nowUs
		for _, r := range m.replicas {
			r.sendNewline()
		}
	}
	for _, r := range m.replicas {
		if why := r.overdue(nowUs, o); why != "" {
			m.options.Log(true, "disconnecting a replica: "+why, "replica", r.Addr)
			overdue = append(overdue, r)
		}
	}
	if !m.closed && m.copies.due(nowUs, o.SyncReplicas) {
		stop := make(chan struct{})
		m.copies.stop = stop
		m.tasks.Go(func() { m.copy(stop) })
	}
	return overdue
}

// greet reports whether a replica has come online that was sent no ping yet. It requires mu.
func (m *Master) greet() (news bool) {
	for _, r := range m.replicas {
		news = r.greet() || news
	}
	return news
}

// pingAt returns a ping that tells the time, for a replica to continue it: see docs/adr/0043. Redis takes
// the message of a ping for what it is.
func pingAt(nowMs int64) []byte {
	if nowMs == 0 {
		return Command("PING")
	}
	return Command("PING", strconv.FormatInt(nowMs, 10))
}

// keepAliveUs is how often a replica that waits for a copy is sent an empty line.
const keepAliveUs = 1_000_000

// tickBacklog frees the backlog when there has been no replica for long. It requires mu.
func (m *Master) tickBacklog(nowUs int64, o MasterSettings) {
	switch {
	case len(m.replicas) > 0 || o.BacklogTTLUs == 0 || !m.stream.Leads():
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
	if r.mayKeepAlive() {
		r.out.newline = true
		r.out.wakeUp()
	}
}

// overdue returns why a replica is to be disconnected, or "".
func (r *Replica) overdue(nowUs int64, o MasterSettings) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == SendBulk {
		r.copy.noteProgress(nowUs)
	}
	const silent = "it has been silent for repl-timeout"
	answers := !r.said.SYNC && !r.said.RDB // it sends acknowledgements
	switch {
	case r.gone:
		return ""
	case r.state == Online && answers && nowUs-r.ack.us > o.TimeoutUs:
		return silent
	case r.state == SendBulk && r.copy.from == nil && answers &&
		nowUs-max(r.ack.us, r.copy.movedUs) > o.TimeoutUs:
		return silent
	case r.copy.from != nil && nowUs-r.copy.movedUs > o.TimeoutUs:
		return "it has read nothing of the copy for repl-timeout"
	case r.stream.exceeds(nowUs, o):
		return "client-output-buffer-limit"
	}
	return ""
}
