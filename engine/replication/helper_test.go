package replication

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store/effects"
)

const second = 1_000_000

// A pipe is one direction of a connection in memory. Each write is one read, unless the reader's buffer
// is smaller.
type pipe struct {
	mu     sync.Mutex
	cond   *sync.Cond
	pieces [][]byte
	left   int // how many bytes it carries until the connection is cut; -1: no limit
	full   int // how many bytes a writer may be ahead; 0: no limit
	held   int
	closed bool
	cut    func()
}

func newPipe() *pipe {
	p := &pipe{left: -1}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.full > 0 && p.held >= p.full && !p.closed {
		p.cond.Wait()
	}
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	cut := p.left >= 0 && len(b) >= p.left
	if cut {
		b = b[:p.left]
	}
	if p.left >= 0 {
		p.left -= len(b)
	}
	if len(b) > 0 {
		p.pieces, p.held = append(p.pieces, bytes.Clone(b)), p.held+len(b)
	}
	p.cond.Broadcast()
	if cut {
		p.closed = true
		p.cut()
		return len(b), io.ErrClosedPipe
	}
	return len(b), nil
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pieces) == 0 && !p.closed {
		p.cond.Wait()
	}
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	p.held -= n
	p.cond.Broadcast()
	if p.pieces[0] = p.pieces[0][n:]; len(p.pieces[0]) == 0 {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

// shut closes the pipe; what was written may still be read, unless it is discarded.
func (p *pipe) shut(discard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if discard {
		p.pieces, p.held = nil, 0
	}
	p.cond.Broadcast()
}

// A conn is one end of a connection in memory.
type conn struct{ in, out *pipe }

// connect returns the two ends of a connection.
func connect() (replica, master conn) {
	toMaster, toReplica := newPipe(), newPipe()
	toMaster.cut = func() { toReplica.shut(false) }
	toReplica.cut = func() { toMaster.shut(false) }
	return conn{toReplica, toMaster}, conn{toMaster, toReplica}
}

func (c conn) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c conn) Write(b []byte) (int, error) { return c.out.Write(b) }

func (c conn) Close() error {
	c.in.shut(true)
	c.out.shut(false)
	return nil
}

// A clock stands still unless it is advanced.
type clock struct{ us atomic.Int64 }

func (c *clock) now() int64          { return c.us.Load() }
func (c *clock) advance(us int64)    { c.us.Add(us) }
func discard(bool, string, ...any)   {}
func settings() LinkSettings         { return LinkSettings{Port: 6390, TimeoutUs: 60 * second} }
func position(s *Stream) (id string) { return s.Position().ID }
func raw(command string) []byte      { return Command(strings.Fields(command)...) }
func rawAll(commands ...string) (b []byte) {
	for _, c := range commands {
		b = append(b, raw(c)...)
	}
	return b
}

// groupOf returns a group of commands in a database.
func groupOf(db int, commands ...string) *effects.Group {
	var g effects.Group
	for _, c := range commands {
		var args [][]byte
		for _, word := range strings.Fields(c) {
			args = append(args, []byte(word))
		}
		g.Add(db, args...)
	}
	return &g
}

// Copies in these tests begin and end as follows, so that half of one is noticed.
const copyHead, copyEnd = "REDIS0011", "#end#"

var errHalf = errors.New("half a copy")

// A keeper is a Follower whose keys are the commands that were applied, one after the other, after the
// copy that was loaded.
type keeper struct {
	stream Stream
	whole  func(copied []byte) error // nil: copyHead and copyEnd are looked for
	refuse func(args [][]byte) error // nil: every command is applied

	mu            sync.Mutex // protects the fields below
	keys          []byte
	transaction   []byte // what has arrived of the transaction under way
	open          bool
	loads         int
	continued     int
	online        int
	promoted      bool // what the link still brings is dropped
	spools        int  // that are not closed
	spoolCapacity int  // of a disk that fills up; 0: no limit
}

func newKeeper() *keeper {
	k := &keeper{}
	k.stream.Init()
	k.stream.SetSize(1 << 20)
	return k
}

func (k *keeper) Position() (Position, bool) { return k.stream.Position(), k.stream.Active() }

func (k *keeper) Continue(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.continued++
	k.transaction, k.open = nil, false
	if !k.promoted {
		k.stream.Rename(id)
	}
}

func (k *keeper) Load(f io.ReaderAt, size int64, at Position, progress func()) error {
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	progress()
	if k.whole != nil {
		if err := k.whole(b); err != nil {
			return err
		}
	} else {
		text, begins := bytes.CutPrefix(b, []byte(copyHead))
		text, ends := bytes.CutSuffix(text, []byte(copyEnd))
		if !begins || !ends {
			return errHalf
		}
		b = text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.promoted {
		return ErrClosed
	}
	k.keys, k.transaction, k.open = b, nil, false
	k.loads++
	k.stream.Reset(at)
	return nil
}

func (k *keeper) Apply(args [][]byte, raw []byte) error {
	if k.refuse != nil {
		if err := k.refuse(args); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.promoted {
		return ErrClosed
	}
	k.transaction = append(k.transaction, raw...)
	verb := ""
	if len(args) > 0 {
		verb = string(args[0])
	}
	switch verb {
	case "MULTI":
		k.open = true
	case "EXEC":
		k.open = false
	}
	if !k.open {
		k.keys = append(k.keys, onlyWrites(k.transaction)...)
		k.stream.AppendRaw(k.transaction)
		k.transaction = nil
	}
	return nil
}

// onlyWrites returns the commands of a stream that change keys.
func onlyWrites(stream []byte) (out []byte) {
	p := parser{in: bufio.NewReader(bytes.NewReader(stream))}
	for {
		c, err := p.next()
		if err != nil {
			return out
		}
		if len(c.args) > 0 && string(c.args[0]) == "SET" {
			out = append(out, c.raw...)
		}
	}
}

func (k *keeper) Online()  { k.count(&k.online, 1) }
func (k *keeper) Offline() { k.count(&k.online, -1) }

func (k *keeper) count(n *int, by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*n += by
}

func (k *keeper) get() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.keys)
}

func (k *keeper) Spool() (Spool, error) {
	k.count(&k.spools, 1)
	return &memorySpool{k: k}, nil
}

// A memorySpool is a Spool in memory.
type memorySpool struct {
	k *keeper
	b []byte
}

var errDiskFull = errors.New("no space left on device")

func (s *memorySpool) Write(b []byte) (int, error) {
	if c := s.k.spoolCapacity; c > 0 && len(s.b)+len(b) > c {
		return 0, errDiskFull
	}
	s.b = append(s.b, b...)
	return len(b), nil
}

func (s *memorySpool) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(b, at)
}

func (s *memorySpool) Close() error {
	s.k.count(&s.k.spools, -1)
	return nil
}

// copyOf is a copy whose keys are given.
func copyOf(keys string) string { return copyHead + keys + copyEnd }

// sized and marked are the two forms in which a copy is sent.
func sized(keys string) string { return fmt.Sprintf("$%d\r\n%s", len(copyOf(keys)), copyOf(keys)) }

func marked(keys string) string { return "$EOF:" + mark + "\r\n" + copyOf(keys) + mark }

const (
	mark = "0123456789abcdef0123456789abcdef01234567"
	idA  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	idB  = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// readAll reads what a reader has, and requires that it has no more.
func readAll(t *testing.T, r *Reader) string {
	t.Helper()
	interrupt := make(chan struct{})
	close(interrupt)
	var out []byte
	for {
		b, err := r.Next(interrupt)
		require.NoError(t, err)
		if b == nil {
			return string(out)
		}
		out = append(out, b...)
	}
}
