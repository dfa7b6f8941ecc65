package server_test

import (
	"bytes"
	"flag"
	"net"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A way is a direction of a relay.
type way int

const (
	toReplica way = iota
	toMaster
)

// A relay is what is between a replica and its master: it carries bytes, and is told to change one, or to
// keep back what follows a number of them. Both count from the beginning of each connection.
type relay struct {
	t    *testing.T
	l    net.Listener
	addr string // of the master

	mu      sync.Mutex // protects the fields below
	cond    *sync.Cond
	flips   [2]int  // the place of the byte that is changed; -1: none
	holds   [2]int  // how many bytes are carried; -1: all
	carried [2]int  // on the latest connection
	passed  [2]int  // likewise, with what is being carried
	flipped [2]bool // on any, since the place was set
	conns   []net.Conn
	tapes   [][2][]byte // what each connection has carried, if keeping
	keeping bool
	closed  bool
}

func newRelay(t *testing.T, master *node) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{t: t, l: l, addr: master.addr, flips: [2]int{-1, -1}, holds: [2]int{-1, -1}}
	r.cond = sync.NewCond(&r.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { r.serve(in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		r.closed = true
		for _, c := range r.conns {
			c.Close()
		}
		r.cond.Broadcast()
		r.mu.Unlock()
		running.Wait()
	})
	return r
}

// follow makes a node a replica of the master behind the relay.
func (r *relay) follow(replica *node) {
	r.t.Helper()
	host, port, _ := net.SplitHostPort(r.l.Addr().String())
	require.Equal(r.t, "+OK", replica.call(r.t, "REPLICAOF", host, port))
}

// flip changes one bit of the byte at a place, on every connection from the next on. -1 changes nothing.
func (r *relay) flip(w way, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flips[w], r.flipped[w] = at, false
}

// hold keeps back everything after n bytes, and -1 nothing.
func (r *relay) hold(w way, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[w] = n
	r.cond.Broadcast()
}

// freeze keeps back everything from now on, and returns after how many bytes.
func (r *relay) freeze(w way) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[w] = r.passed[w]
	return r.passed[w]
}

// state returns how many bytes the latest connection has carried, and whether one was changed.
func (r *relay) state(w way) (carried int, flipped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carried[w], r.flipped[w]
}

// keep keeps what is carried from now on.
func (r *relay) keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeping = true
}

// connections returns how many there were.
func (r *relay) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tapes)
}

// kept returns what a connection has carried.
func (r *relay) kept(i int) (replica, master []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tapes[i][toMaster], r.tapes[i][toReplica]
}

// handshake returns how much of the first connection is the handshake, and the copy for a replica.
func (r *relay) handshake(w way) int {
	r.t.Helper()
	replica, master := r.kept(0)
	if w == toMaster {
		psync := bytes.Index(replica, []byte("\r\nPSYNC\r\n"))
		require.Positive(r.t, psync)
		return psync + len("\r\nPSYNC\r\n") // its arguments are of no history
	}
	if head := regexp.MustCompile(`\$EOF:([0-9a-f]{40})\r\n`).FindSubmatch(master); head != nil {
		return bytes.LastIndex(master, head[1]) + len(head[1])
	}
	head := regexp.MustCompile(`\n\$(\d+)\r\n`).FindSubmatchIndex(master)
	require.NotNil(r.t, head)
	n, err := strconv.Atoi(string(master[head[2]:head[3]]))
	require.NoError(r.t, err)
	return head[1] + n
}

func (r *relay) serve(in net.Conn) {
	out, err := net.Dial("tcp", r.addr)
	if err != nil {
		in.Close()
		return
	}
	r.mu.Lock()
	r.conns, r.carried, r.passed = append(r.conns, in, out), [2]int{}, [2]int{}
	number := len(r.tapes)
	r.tapes = append(r.tapes, [2][]byte{})
	if r.closed {
		in.Close()
		out.Close()
	}
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.carry(toReplica, number, out, in) })
	both.Go(func() { r.carry(toMaster, number, in, out) })
	both.Wait()
}

// carry copies a connection until one side ends, and then ends both.
func (r *relay) carry(w way, number int, from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 4096)
	for n := 0; ; {
		got, err := from.Read(b)
		for piece := b[:got]; len(piece) > 0; {
			m := r.pass(w, number, n, piece)
			if m == 0 {
				return
			}
			r.mu.Lock()
			if r.keeping {
				r.tapes[number][w] = append(r.tapes[number][w], piece[:m]...)
			}
			r.mu.Unlock()
			if _, err := to.Write(piece[:m]); err != nil {
				return
			}
			n, piece = n+m, piece[m:]
			r.mu.Lock()
			if number == len(r.tapes)-1 {
				r.carried[w] = n
			}
			r.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// pass changes what is to be changed of a piece at a place, and returns how much of it may be carried. It
// waits while that is nothing, and returns 0 when the relay is closed.
func (r *relay) pass(w way, number, at int, piece []byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.holds[w] >= 0 && r.holds[w] <= at && !r.closed {
		r.cond.Wait()
	}
	if r.closed {
		return 0
	}
	n := len(piece)
	if r.holds[w] >= 0 {
		n = min(n, r.holds[w]-at)
	}
	if number == len(r.tapes)-1 {
		r.passed[w] = at + n
	}
	if i := r.flips[w] - at; i >= 0 && i < n {
		piece[i] ^= 1 << (r.flips[w] % 8)
		r.flipped[w] = true
	}
	return n
}

// relayed returns a master with few keys, a replica with its own, and a relay between them.
func relayed(t *testing.T, k kind) (f *fabric, master, replica *node, r *relay) {
	t.Helper()
	f = newFabric(t)
	// A redis-server sends a copy at once if it is from a file.
	master = f.node(k, "--repl-diskless-sync", map[kind]string{ours: "yes", redis: "no"}[k], "--hz", "500")
	replica = f.node(ours)
	master.fill(t, "SET k v PX 100000001", "ZADD z 1 a")
	replica.fill(t, "SET own v", "RPUSH k other")
	return f, master, replica, newRelay(t, master)
}

// settle waits until the link is up or an attempt has failed. A replica that only waits after a byte was
// changed is given time, so that it gives up after repl-timeout.
func (f *fabric) settle(replica *node, r *relay, w way) (up bool) {
	f.t.Helper()
	f.until(func() bool {
		fields := replica.info(f.t, "replication")
		up = fields["master_link_status"] == "up"
		if !up && fields["master_link_error"] == "" {
			if _, flipped := r.state(w); flipped {
				replica.jump(f.t, 500*time.Millisecond)
			}
			return false
		}
		return true
	}, "neither up nor failed")
	return up
}

// sameHistory requires that a replica is where its master is, in the same history, with the same keys.
func (f *fabric) sameHistory(replica, master *node, what ...any) {
	f.t.Helper()
	f.until(func() bool {
		// One INFO is one instant, so the replica's is asked first and last.
		return replica.field(f.t, "slave_repl_offset") == master.field(f.t, "master_repl_offset") &&
			replica.field(f.t, "master_replid") == master.field(f.t, "master_replid") &&
			replica.field(f.t, "master_link_status") == "up"
	}, what...)
	require.Equal(f.t, master.do(f.t, "DEBUG DIGEST"), replica.do(f.t, "DEBUG DIGEST"), what...)
}

// everyByte has the relay change and keep back each byte, not some: a copy for each takes minutes.
var everyByte = flag.Bool("everybyte", false, "change and keep back every byte of a copy, not some")

// stride is how far the bytes that are changed or kept back lie apart. It is odd, so that each place within
// numbers of eight bytes has its turn.
func stride() int {
	const some = 15
	if *everyByte {
		return 1
	}
	return some
}

// TestCorruptedSync: whichever byte of the handshake and of the copy is changed on its way, the replica has
// the master's keys and its place in the history, or its own keys and the reason in INFO. It tries again, and
// follows once nothing is changed.
func TestCorruptedSync(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{ours, redis} {
		for w, direction := range map[way]string{toReplica: "to the replica", toMaster: "to the master"} {
			t.Run(string(k)+"'s, "+direction, func(t *testing.T) {
				t.Parallel()
				f, master, replica, r := relayed(t, k)
				own := replica.do(t, "DEBUG DIGEST")
				r.keep()
				r.follow(replica)
				f.sameHistory(replica, master)
				total := r.handshake(w)
				ups, tries := 0, 0
				for at := 0; at < total; at += stride() {
					replica.fill(t, "REPLICAOF NO ONE", "FLUSHALL", "SET own v", "RPUSH k other")
					require.Equal(t, own, replica.do(t, "DEBUG DIGEST"))
					tries++
					r.flip(w, at)
					r.follow(replica)
					up := f.settle(replica, r, w)
					_, flipped := r.state(w)
					why := replica.field(t, "master_link_error")
					if !up {
						require.Equal(t, own, replica.do(t, "DEBUG DIGEST"), "byte %d: %s", at, why)
						require.NotContains(t, why, "cannot be followed", "byte %d", at)
						require.True(t, flipped, "byte %d: %s", at, why)
						r.flip(w, -1)
						f.until(func() bool {
							replica.jump(t, 100*time.Millisecond)
							return replica.field(t, "master_link_status") == "up"
						}, "byte %d", at)
					} else {
						ups++
					}
					master.fill(t, "SET at "+strconv.Itoa(at))
					f.sameHistory(replica, master, "byte %d, up %v: %s", at, up, why)
				}
				require.Less(t, ups, tries, "no change is noticed")
			})
		}
	}
}

// TestDelayedSync: wherever the handshake or the copy stands still, the replica answers and has its own
// keys, and when it goes on, it follows: nothing is asked for a second time.
func TestDelayedSync(t *testing.T) {
	t.Parallel()
	f, master, replica, r := relayed(t, ours)
	r.keep()
	r.follow(replica)
	f.sameHistory(replica, master)
	total := r.handshake(toReplica)
	full, _ := master.counts(t)
	require.Equal(t, "1", full)
	copies := 1
	for at := 0; at < total; at += stride() {
		replica.fill(t, "REPLICAOF NO ONE", "FLUSHALL", "SET own v", "RPUSH k other")
		own := replica.do(t, "DEBUG DIGEST")
		copies++
		r.hold(toReplica, at)
		r.follow(replica)
		f.until(func() bool {
			n, _ := r.state(toReplica)
			return n == at && replica.field(t, "master_link_status") != "" ||
				replica.field(t, "master_link_status") == "up"
		}, "byte %d", at)
		for range 3 {
			f.tick()
		}
		if replica.field(t, "master_link_status") == "up" {
			require.Equal(t, master.do(t, "DEBUG DIGEST"), replica.do(t, "DEBUG DIGEST"), "byte %d", at)
		} else {
			require.Equal(t, own, replica.do(t, "DEBUG DIGEST"), "byte %d", at)
			require.Equal(t, "+PONG", replica.do(t, "PING"))
		}
		r.hold(toReplica, -1)
		f.until(func() bool { return replica.field(t, "master_link_status") == "up" }, "byte %d", at)
		f.sameHistory(replica, master, "byte %d", at)
	}
	full, _ = master.counts(t)
	require.Equal(t, strconv.Itoa(copies), full)
}

// TestDelayedStream: what is on its way for long is late, and nothing else: WAIT counts no confirmation that
// has not arrived, the lag is in INFO, and the link is given up after repl-timeout and continues where it
// was.
func TestDelayedStream(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(ours)
		r := newRelay(t, master)
		r.follow(replica)
		master.fill(t, "SET k 1")
		f.sameHistory(replica, master)
		n := r.freeze(toReplica)
		master.fill(t, "SET k 2")
		require.Equal(t, ":0", f.wait(master.wire, "2", "1"), "nobody has confirmed it")
		require.Equal(t, "$1\r\n1", replica.do(t, "GET k"))
		require.Equal(t, "up", replica.field(t, "master_link_status"))
		r.hold(toReplica, n+10) // within the command
		f.until(func() bool { got, _ := r.state(toReplica); return got == n+10 })
		require.Equal(t, "$1\r\n1", replica.do(t, "GET k"))
		r.hold(toReplica, -1)
		require.Equal(t, ":1", f.wait(master.wire, "1", "0"))
		require.Equal(t, "$1\r\n2", replica.do(t, "GET k"))

		r.freeze(toMaster) // the replica has it, and its confirmation does not arrive
		master.fill(t, "SET k 3")
		f.until(func() bool { return replica.do(t, "GET k") == "$1\r\n3" })
		require.Equal(t, ":0", f.wait(master.wire, "1", "1"))
		r.hold(toMaster, -1)
		require.Equal(t, ":1", f.wait(master.wire, "1", "0"))

		r.hold(toReplica, 0) // and of the connections to come, so that the link stays down
		master.fill(t, "SET k 4")
		f.until(func() bool { // what is on its way when the time passes is heard after it
			replica.jump(t, 61*time.Second)
			return replica.field(t, "master_link_status") == "down"
		})
		require.Contains(t, replica.field(t, "master_link_error"), "repl-timeout")
		require.Equal(t, "$1\r\n3", replica.do(t, "GET k"))
		r.hold(toReplica, -1)
		replica.jump(t, 2*time.Second)
		f.sameHistory(replica, master)
		full, partial := master.counts(t)
		require.Equal(t, "1 1", full+" "+partial)
	})
}
