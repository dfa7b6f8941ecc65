package replication

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
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

func (g *guard) Continue(id string) error {
	if g.ended() {
		return ErrClosed
	}
	return g.keeper.Continue(id)
}

func (g *guard) Load(f io.ReaderAt, size int64, at Position, progress func()) error {
	if g.ended() {
		return ErrClosed
	}
	return g.keeper.Load(f, size, at, progress)
}

func (g *guard) Apply(args [][]byte, raw []byte, stop <-chan struct{}) error {
	if g.ended() {
		return ErrClosed
	}
	return g.keeper.Apply(args, raw, stop)
}

func (g *guard) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

func (n *node) snapshot(w io.Writer, _ Part, _ <-chan struct{}, begin func() Position) error {
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
	n.keeper.stream.SetFollowing(true)
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

// sent reports whether all of the stream was sent to every replica.
func (n *node) sent() bool {
	return !slices.ContainsFunc(n.master.Replicas(), func(r ReplicaStatus) bool { return r.Unread > 0 })
}
