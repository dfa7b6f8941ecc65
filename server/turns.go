package server

import (
	"net"
	"os"
	"runtime"
	"sync"
)

// turnBytes is how much input and output of one connection, that always has some, is
// handled before others have their turn: about a millisecond's work.
const turnBytes = 64 << 10

// argBytes is what each argument of a long command counts for beside its bytes: see Session.TakeLongArgs.
const argBytes = turnBytes / 1000

// maxTurns is how many turns a connection waits for at once, so that a huge command is not followed by a wait
// that is as long.
const maxTurns = 16

// turns lets a busy connection step aside, so that what has arrived for others is noticed.
// Go looks at the sockets only when no goroutine can run, or every ten milliseconds. So
// runtime.Gosched does not help if some connections always have work: they would take
// turns, and nobody else would be seen. A connection that waits for its turn instead
// waits for a pipe, that is, until Go looks at the sockets.
type turns struct {
	r, w *os.File

	mu      sync.Mutex
	waiting []chan struct{}
	over    bool
	taken   int // for tests
}

// newTurns returns nil if there are no pipes: then nobody waits. Close it.
func newTurns() *turns {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	t := &turns{r: r, w: w}
	go t.run()
	return t
}

func (t *turns) run() {
	var b [64]byte
	for {
		_, err := t.r.Read(b[:])
		t.mu.Lock()
		all := t.waiting
		t.waiting = nil
		t.over = err != nil
		t.mu.Unlock()
		for _, waiting := range all {
			waiting <- struct{}{}
		}
		if err != nil {
			t.r.Close()
			return
		}
	}
}

// wait waits for a turn. mine is the connection's own channel, of capacity 1.
func (t *turns) wait(mine chan struct{}) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	t.waiting = append(t.waiting, mine)
	t.taken++
	if len(t.waiting) == 1 {
		// The pipe has room: run takes the byte before there is another one. If the
		// pipe was closed, run wakes all.
		_, _ = t.w.Write([]byte{0})
	}
	t.mu.Unlock()
	<-mine
	runtime.Gosched() // those whose input was found at the same time were woken later
}

// close releases all that wait.
func (t *turns) close() {
	_ = t.w.Close() // run reads the end of the pipe
}

// startTurns makes connections take turns if those of l are the system's.
func (s *Server) startTurns(l net.Listener) {
	switch l.Addr().(type) {
	case *net.TCPAddr, *net.UnixAddr:
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isClosing() && s.turns.Load() == nil {
		s.turns.Store(newTurns())
	}
}

// A pace is how much a connection has done since others had their turn.
type pace struct {
	traffic int           // bytes of input and output since it took a turn or waited for input
	owed    int           // what long commands count for since it has stepped aside for them
	waits   int           // of the socket, when traffic was last changed
	turn    chan struct{} // its own, for turns.wait; made when it is needed
}

// received counts input. waits is how often the socket has waited for input.
func (p *pace) received(n, waits int) {
	if waits != p.waits {
		p.waits, p.traffic = waits, 0
	}
	p.traffic += n
}

// takeTurns waits for n turns. In one, others run what has arrived, and their clients' next requests arrive
// only then.
func (p *pace) takeTurns(turns *turns, n int) {
	p.traffic = 0
	if turns == nil {
		return
	}
	if p.turn == nil {
		p.turn = make(chan struct{}, 1)
	}
	for range n {
		turns.wait(p.turn)
	}
}
