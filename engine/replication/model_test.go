package replication

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// A node is a server in small: a keeper whose stream other nodes may follow. It is a master unless it has
// a link.
type node struct {
	keeper *keeper
	master *Master
	name   string
	model  *model
	link   *Link
	behind *guard // the link's follower
	of     *node  // its master
}

// A guard is the follower of one link: what a link that was replaced still brings is dropped.
type guard struct {
	*keeper
	over bool  // protected by keeper.mu
	off  int64 // a fault: by how much Position is wrong
}

func (g *guard) Position() (Position, bool) {
	at, ok := g.keeper.Position()
	at.Offset += g.off
	return at, ok
}

func (g *guard) Continue(id string) {
	if !g.ended() {
		g.keeper.Continue(id)
	}
}

func (g *guard) Load(f io.ReaderAt, size int64, at Position, progress func()) error {
	if g.ended() {
		return ErrClosed
	}
	return g.keeper.Load(f, size, at, progress)
}

func (g *guard) Apply(args [][]byte, raw []byte) error {
	if g.ended() {
		return ErrClosed
	}
	return g.keeper.Apply(args, raw)
}

func (g *guard) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

// A model is some nodes, of which one began as the master of the others, and what goes wrong.
type model struct {
	random  *rand.Rand
	off     int64 // a fault: by how much replicas are wrong about their offsets
	now     clock
	nodes   []*node
	counter int
	log     []string

	mu    sync.Mutex // protects the fields below
	conns []conn     // the replicas' ends
	wrong string     // a violation that a goroutine has seen
}

func newModel(seed uint64, size int, off int64) *model {
	m := &model{random: rand.New(rand.NewPCG(seed, 1)), off: off}
	m.now.advance(1000 * second)
	for i := range size {
		n := &node{keeper: newKeeper(), model: m, name: string(rune('A' + i))}
		n.keeper.stream.SetSize([]int64{100, 1 << 20}[m.random.IntN(2)])
		n.master = NewMaster(&n.keeper.stream, MasterOptions{
			Snapshot: n.snapshot, Activated: n.keeper.stream.Activate, Log: discard,
		})
		m.nodes = append(m.nodes, n)
	}
	for _, n := range m.nodes[1:] {
		n.follow(m.nodes[0])
	}
	return m
}

func (n *node) snapshot(w io.Writer, _ <-chan struct{}, begin func()) error {
	n.keeper.mu.Lock()
	begin()
	text := copyOf(string(n.keeper.keys))
	n.keeper.mu.Unlock()
	for len(text) > 100 {
		if _, err := io.WriteString(w, text[:100]); err != nil {
			return err
		}
		text = text[100:]
	}
	_, err := io.WriteString(w, text)
	return err
}

// follow is REPLICAOF.
func (n *node) follow(of *node) {
	n.unlink()
	n.of = of
	n.behind = &guard{keeper: n.keeper, off: n.model.off}
	n.link = NewLink(LinkOptions{
		Addr: of.name, Follower: n.behind, NowUs: n.model.now.now, Log: discard,
		Settings: func() LinkSettings { return LinkSettings{TimeoutUs: 60 * second} },
		Dial:     func(string, <-chan struct{}) (io.ReadWriteCloser, error) { return n.dial(of) },
	})
}

func (n *node) unlink() {
	if n.link != nil {
		n.keeper.mu.Lock()
		n.behind.over = true
		n.keeper.mu.Unlock()
		n.link.Close()
		n.link, n.of = nil, nil
	}
}

// promote is REPLICAOF NO ONE.
func (n *node) promote() {
	n.unlink()
	n.keeper.stream.Fork()
}

// dial connects to another node.
func (n *node) dial(of *node) (io.ReadWriteCloser, error) {
	near, far := connect()
	n.model.mu.Lock()
	n.model.conns = append(n.model.conns, near)
	n.model.mu.Unlock()
	go of.serve(far)
	return checkedConn{near, n}, nil
}

// A checkedConn sees to it that a replica confirms only what it has applied.
type checkedConn struct {
	conn
	node *node
}

func (c checkedConn) Write(b []byte) (int, error) {
	p := parser{in: bufio.NewReader(strings.NewReader(string(b)))}
	if cmd, err := p.next(); err == nil && len(cmd.args) == 3 && string(cmd.args[1]) == "ACK" {
		offset, _ := strconv.ParseInt(string(cmd.args[2]), 10, 64)
		if has := c.node.keeper.stream.Position().Offset; offset > has {
			c.node.model.mu.Lock()
			c.node.model.wrong = fmt.Sprintf("%s confirms %d and has %d", c.node.name, offset, has)
			c.node.model.mu.Unlock()
		}
	}
	return c.conn.Write(b)
}

// serve is a session of a replica.
func (n *node) serve(c conn) {
	defer c.Close()
	p := parser{in: bufio.NewReader(c)}
	said := Said{PSYNC2: n.model.now.now()%2 == 0, EOF: n.model.counter%3 > 0}
	var r *Replica
	for {
		cmd, err := p.next()
		if err != nil {
			break
		}
		switch words := strings.Fields(lineOf(cmd.args)); {
		case len(words) == 0:
		case words[0] == "PING":
			_, _ = io.WriteString(c, "+PONG\r\n")
		case words[0] == "PSYNC" && n.link != nil && !n.link.Up():
			_, _ = io.WriteString(c, "-NOMASTERLINK no\r\n")
		case words[0] == "PSYNC":
			offset, _ := strconv.ParseInt(words[2], 10, 64)
			from := Position{words[1], offset - 1}
			r = n.master.PSYNC("peer", from, said, n.model.now.now(), 0, func() { c.Close() })
			defer n.master.Remove(r)
			go func() {
				defer c.Close()
				_, _ = r.WriteTo(c)
			}()
		case words[0] == "REPLCONF" && words[1] == "ACK":
			offset, _ := strconv.ParseInt(words[2], 10, 64)
			n.master.Ack(r, offset, n.model.now.now())
		default:
			_, _ = io.WriteString(c, "+OK\r\n")
		}
	}
}

// write changes keys of a master.
func (n *node) write() {
	m := n.model
	var commands []string
	for range 1 + m.random.IntN(3) {
		m.counter++
		commands = append(commands, fmt.Sprintf("SET %s %d", n.name, m.counter))
	}
	n.keeper.mu.Lock()
	defer n.keeper.mu.Unlock()
	n.keeper.keys = append(n.keeper.keys, rawAll(commands...)...)
	n.keeper.stream.Append(groupOf(m.random.IntN(2), commands...))
}

// tick lets time pass everywhere.
func (m *model) tick(us int64) {
	m.now.advance(us)
	for _, n := range m.nodes {
		n.master.Tick(m.now.now(), MasterSettings{PingUs: 10 * second, TimeoutUs: 60 * second}, n.link == nil)
		if n.link != nil {
			n.link.Tick()
		}
	}
}

// step does something at random.
func (m *model) step() {
	n := m.nodes[m.random.IntN(len(m.nodes))]
	switch k := m.random.IntN(100); {
	case k < 40:
		for n.link != nil {
			n = n.of
		}
		m.note("%s writes", n.name)
		n.write()
	case k < 55:
		if len(m.conns) > 0 {
			c := m.conns[len(m.conns)-1-m.random.IntN(min(3, len(m.conns)))]
			c.in.mu.Lock()
			c.in.left = m.random.IntN(200)
			m.note("a connection will be cut after %d bytes", c.in.left)
			c.in.mu.Unlock()
		}
	case k < 60:
		if n.link != nil {
			m.note("%s is promoted", n.name)
			n.promote()
		}
	case k < 67:
		to := m.nodes[m.random.IntN(len(m.nodes))]
		for x := to; x != nil; x = x.of {
			if x == n {
				return // it would be a circle
			}
		}
		m.note("%s becomes a replica of %s", n.name, to.name)
		n.follow(to)
	case k < 75:
		for n.link != nil {
			n = n.of
		}
		// An empty line is one byte: histories differ by no more.
		line := [][]byte{raw("REPLCONF GETACK *"), []byte("\n")}[m.random.IntN(2)]
		m.note("%s sends %q", n.name, line)
		n.keeper.stream.AppendRaw(line)
	default:
		m.note("a second passes")
		m.tick(second)
	}
	synctest.Wait()
}

func (m *model) note(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// check returns what is wrong now. Everything that was sent has arrived.
func (m *model) check() error {
	if m.wrong != "" {
		return errors.New(m.wrong)
	}
	for _, n := range m.nodes {
		if n.link == nil || !n.link.Up() || !n.of.sent() {
			continue
		}
		mine, theirs := n.keeper.get(), n.of.keeper.get()
		at, of := n.keeper.stream.Position(), n.of.keeper.stream.Position()
		switch {
		case mine != theirs:
			return fmt.Errorf("%s differs from %s:\n%q\n%q", n.name, n.of.name, mine, theirs)
		case at != of:
			return fmt.Errorf("%s is at %v, %s at %v", n.name, at, n.of.name, of)
		}
	}
	return nil
}

// sent reports whether all of the stream was sent to every replica.
func (n *node) sent() bool {
	return !slices.ContainsFunc(n.master.Replicas(), func(r ReplicaStatus) bool { return r.Unread > 0 })
}

// settle cuts nothing more, waits until every link is up, and returns what is wrong then.
func (m *model) settle() error {
	for _, c := range m.conns {
		c.in.mu.Lock()
		c.in.left = -1
		c.in.mu.Unlock()
	}
	for range 20 {
		m.tick(second)
		synctest.Wait()
	}
	for _, n := range m.nodes {
		if n.link == nil {
			n.write()
		}
	}
	synctest.Wait()
	for _, n := range m.nodes {
		if n.link != nil && (!n.link.Up() || !n.of.sent()) {
			return fmt.Errorf("%s does not follow %s: %+v", n.name, n.of.name, n.link.Status())
		}
	}
	return m.check()
}

func (m *model) close() {
	for _, n := range m.nodes {
		n.unlink()
	}
	for _, c := range m.conns {
		_ = c.Close()
	}
	for _, n := range m.nodes {
		n.master.Close()
	}
}

// runModel runs a schedule, and returns what was done and what is wrong after it.
func runModel(t *testing.T, seed uint64, off int64) (log []string, loads, continued int, err error) {
	synctest.Test(t, func(*testing.T) {
		m := newModel(seed, 3, off)
		defer m.close()
		synctest.Wait()
		for range 40 {
			if m.step(); err == nil {
				err = m.check()
			}
			if err != nil {
				break
			}
		}
		if err == nil {
			m.note("all is repaired")
			err = m.settle()
		}
		log = m.log
		for _, n := range m.nodes {
			loads, continued = loads+n.keeper.loads, continued+n.keeper.continued
		}
	})
	return log, loads, continued, err
}

// Random schedules of a master and two replicas that are cut, promoted and turned into each other's
// replicas: whoever follows has its master's keys, nothing twice, nothing skipped.
func TestModel(t *testing.T) {
	schedules := 2000
	if testing.Short() || race.Enabled {
		schedules = 200
	}
	seed := rand.Uint64()
	loads, continued := 0, 0
	for i := range schedules {
		log, l, c, err := runModel(t, seed+uint64(i), 0)
		require.NoError(t, err, "seed %d:\n%s", seed+uint64(i), strings.Join(log, "\n"))
		loads, continued = loads+l, continued+c
	}
	t.Logf("seed %d: %d full and %d partial resynchronizations", seed, loads, continued)
	require.Greater(t, loads, schedules)
	require.Greater(t, continued, schedules/2)
}

// The model notices replicas that are wrong about their offsets by one.
func TestModelCanFail(t *testing.T) {
	for _, off := range []int64{-1, 1} {
		caught := 0
		for seed := range uint64(100) {
			if _, _, _, err := runModel(t, seed, off); err != nil {
				caught++
			}
		}
		require.Greater(t, caught, 20, "off by %d", off)
	}
}
