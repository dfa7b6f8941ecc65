package server_test

import (
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/server"
)

// A kind is what a node of a test of replication runs.
type kind string

const (
	ours    kind = "zlimit"
	redis   kind = "redis"
	release kind = "0.1.0" // a process, in real time
)

// A node is a server in a test of replication, and a connection to it.
type node struct {
	*wire
	kind  kind
	addr  string
	srv   *server.Server // nil: another process
	redis *oracle.Redis
	held  bool         // its clocks stand, but for jumps
	extra atomic.Int64 // microseconds that its clocks are ahead of the machine's
	end   func()       // stops it; it may be called again
}

// fabric are the nodes of one test. They have no periodic work but what until does.
type fabric struct {
	t    *testing.T
	held bool // the clocks stand, but for jumps
	// program is what runs as redis-server: one of oracle.Others.
	program string
	// release is the program of the servers of that kind.
	release string
	ahead   time.Duration // of the clocks of servers of ours that start
	nodes   []*node
}

// fabricTimeout bounds, in real time, how long a test waits for what does not come about.
const fabricTimeout = 120 * time.Second

func newFabric(t *testing.T) *fabric { return &fabric{t: t} }

// node starts a server. The test is skipped if there is no redis-server to be one.
func (f *fabric) node(k kind, directives ...string) *node {
	return f.nodeOn(k, nil, directives...)
}

// nodeOn starts a server on a disk, which redis-server ignores.
func (f *fabric) nodeOn(k kind, on disk.FS, directives ...string) *node {
	t := f.t
	t.Helper()
	directives = append([]string{"--repl-diskless-sync-delay", "0"}, directives...)
	n := &node{kind: k, held: f.held}
	n.extra.Store(f.ahead.Microseconds())
	switch k {
	case redis:
		find := oracle.FindRealTime
		if f.held {
			find = oracle.Find
		}
		if err := find(); err != nil {
			t.Skip("there is no redis-server on this machine to be the other half: ", err)
		}
		o := oracle.Options{RealTime: !f.held, Args: directives, Program: f.program}
		if f.held {
			o.NowMs = time.Now().UnixMilli()
		}
		r, err := oracle.Start(o)
		require.NoError(t, err)
		n.redis, n.addr, n.end = r, r.Addr(), func() { require.NoError(t, r.Close()) }
	case release:
		n.startRelease(t, f.release, append([]string{"--enable-debug-command", "yes"}, directives...))
	default:
		n.startOurs(t, on, append([]string{"--enable-debug-command", "yes"}, directives...))
	}
	t.Cleanup(n.end)
	f.nodes = append(f.nodes, n)
	n.wire = n.dial(t)
	if n.srv != nil {
		eventually(t, func() bool { return n.call(t, "PING") == "+PONG" }, func() {})
	}
	return n
}

func (n *node) startOurs(t *testing.T, on disk.FS, directives []string) {
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(append([]string{"--bind", "127.0.0.1"}, directives...), nil))
	began := time.Now()
	beganUs := began.UnixMicro()
	elapsedUs := func() int64 {
		if n.held {
			return n.extra.Load()
		}
		return n.extra.Load() + time.Since(began).Microseconds()
	}
	srv, err := server.Listen(server.Options{
		Config: cfg, FreePort: true, NoCron: true, Disk: on,
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return 1 + elapsedUs() }, // 0 stands for never
			Wall:      func() int64 { return beganUs + elapsedUs() },
		}),
	})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	n.srv, n.addr = srv, srv.Addr().String()
	ended := false
	n.end = func() {
		if !ended {
			ended = true
			require.NoError(t, srv.Close())
			require.NoError(t, <-served)
		}
	}
}

// dial opens another connection.
func (n *node) dial(t *testing.T) *wire {
	t.Helper()
	c, err := net.Dial("tcp", n.addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return newWire(c)
}

// hostPort returns the node's address as REPLICAOF takes it.
func (n *node) hostPort() (host, port string) {
	host, port, _ = net.SplitHostPort(n.addr)
	return host, port
}

// jump moves the clocks ahead: of redis-server the wall clock, which must be held.
func (n *node) jump(t *testing.T, d time.Duration) {
	n.extra.Add(d.Microseconds())
	if n.redis != nil && d != 0 {
		require.NoError(t, n.redis.SetClock(time.Now().UnixMilli()+n.extra.Load()/1000))
	}
}

// do sends a line, in which words are quoted as in Go, and returns the reply.
func (n *node) do(t *testing.T, line string) string {
	t.Helper()
	return doLine(t, n.wire, line)
}

func doLine(t *testing.T, w *wire, line string) string {
	t.Helper()
	words, err := oracle.Words(line)
	require.NoError(t, err)
	require.NoError(t, w.send(words), line)
	return w.reply(t)
}

// fill sends lines, and each must succeed.
func (n *node) fill(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.NotRegexp(t, "^-", n.do(t, line), line)
	}
}

// info returns the fields of a section of INFO.
func (n *node) info(t *testing.T, section string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for line := range strings.SplitSeq(n.do(t, "INFO "+section), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// field returns a field of INFO replication.
func (n *node) field(t *testing.T, name string) string {
	t.Helper()
	return n.info(t, "replication")[name]
}

// until waits for a condition while the servers of ours do their periodic work.
func (f *fabric) until(ok func() bool, what ...any) {
	f.t.Helper()
	if comesAbout(fabricTimeout, ok, f.tick) {
		return
	}
	for _, n := range f.nodes {
		f.t.Log(n.kind, n.addr, n.do(f.t, "INFO replication"))
	}
	require.Fail(f.t, "it has not come about", what...)
}

// await returns the next reply of a connection, and does the periodic work meanwhile. Before a copy a master
// sends empty lines once a second, which it skips.
func (f *fabric) await(w *wire) (reply string) {
	f.t.Helper()
	arrived := make(chan string, 1)
	go func() {
		for first, err := w.r.Peek(1); err == nil && first[0] == '\n'; first, err = w.r.Peek(1) {
			_, _ = w.r.Discard(1) // it is buffered
		}
		b, err := w.readReply()
		if err != nil {
			b = []byte(err.Error())
		}
		arrived <- strings.TrimSuffix(string(b), "\r\n")
	}()
	f.until(func() bool {
		select {
		case reply = <-arrived:
			return true
		default:
			runtime.Gosched()
			return false
		}
	}, "no reply")
	return reply
}

// wait sends WAIT and returns the reply.
func (f *fabric) wait(w *wire, replicas, timeoutMs string) string {
	f.t.Helper()
	require.NoError(f.t, w.send([][]byte{[]byte("WAIT"), []byte(replicas), []byte(timeoutMs)}))
	return f.await(w)
}

func (f *fabric) tick() {
	for _, n := range f.nodes {
		if n.srv != nil {
			n.srv.Engine().Tick()
		}
	}
}

// follow makes a node a replica of another one and waits until it has everything.
func (f *fabric) follow(replica, master *node) {
	f.t.Helper()
	host, port := master.hostPort()
	require.Equal(f.t, "+OK", replica.call(f.t, "REPLICAOF", host, port))
	f.caughtUp(replica, master)
}

// caughtUp waits until a replica has applied what its master had done.
func (f *fabric) caughtUp(replica, master *node) {
	f.t.Helper()
	want := master.offset(f.t)
	f.until(func() bool {
		fields := replica.info(f.t, "replication")
		at, _ := strconv.ParseInt(fields["slave_repl_offset"], 10, 64)
		require.NotContains(f.t, fields["master_link_error"], "cannot be followed")
		return fields["master_link_status"] == "up" && at >= want &&
			fields["master_replid"] == master.field(f.t, "master_replid")
	}, "the replica does not follow")
}

func (n *node) offset(t *testing.T) int64 {
	t.Helper()
	at, err := strconv.ParseInt(n.field(t, "master_repl_offset"), 10, 64)
	require.NoError(t, err)
	return at
}

// counts returns how many full copies and continuations a master has begun.
func (n *node) counts(t *testing.T) (full, partial string) {
	t.Helper()
	stats := n.info(t, "stats")
	return stats["sync_full"], stats["sync_partial_ok"]
}

// deadlines returns the deadline of each key in each database.
func (n *node) deadlines(t *testing.T) (out []string) {
	t.Helper()
	var lines []string
	for db := range 16 {
		lines = append(lines, "SELECT "+strconv.Itoa(db), "KEYS *")
	}
	for i, reply := range n.calls(t, lines...) {
		for j, key := range strings.Split(reply, "\r\n") {
			if j > 0 && j%2 == 0 {
				require.Equal(t, "+OK", doLine(t, n.wire, lines[i-1]))
				out = append(out, strconv.Itoa(i/2)+" "+key+" "+n.call(t, "PEXPIRETIME", key))
			}
		}
	}
	require.Equal(t, "+OK", n.call(t, "SELECT", "0"))
	slices.Sort(out)
	return out
}

// holds returns what a node holds: a digest, and deadlines to the millisecond.
func (n *node) holds(t *testing.T) []string {
	t.Helper()
	return append(n.deadlines(t), n.call(t, "DEBUG", "DIGEST"))
}

// requireSame requires that a replica holds what its master does. If the master itself holds something else
// afterwards, a key has expired between the two looks, and they are repeated. What has expired is reclaimed
// first, since the digest of redis-server counts it until then.
func (f *fabric) requireSame(replica, master *node) {
	f.t.Helper()
	for {
		f.tick()
		f.caughtUp(replica, master)
		want := master.holds(f.t)
		got := replica.holds(f.t)
		if !slices.Equal(want, got) && !slices.Equal(want, master.holds(f.t)) {
			continue
		}
		require.Equal(f.t, want, got)
		return
	}
}

// pairings runs a test with a master and a replica of each kind. Two redis-servers would show nothing about
// ours: what each side of one does stands beside ours.
func pairings(t *testing.T, test func(t *testing.T, f *fabric, master, replica *node)) {
	for _, m := range []kind{ours, redis} {
		for _, r := range []kind{ours, redis} {
			if m == redis && r == redis {
				continue
			}
			t.Run(string(r)+" follows "+string(m), func(t *testing.T) {
				t.Parallel()
				f := newFabric(t)
				test(t, f, f.node(m), f.node(r))
			})
		}
	}
}

// jumpOurs moves the clocks of a server of ours ahead, and leaves redis-server alone.
func (n *node) jumpOurs(t *testing.T, d time.Duration) {
	if n.kind == ours {
		n.jump(t, d)
	}
}
