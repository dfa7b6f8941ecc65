package replication

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A source is a master whose keys are the commands that were written, with a snapshot that tests can
// stop at.
type source struct {
	*Master
	stream   *Stream
	now      clock
	settings MasterSettings
	keys     []byte

	copies   int           // how many were begun
	fail     error         // what a snapshot ends with; nil: it succeeds
	failSoon bool          // before it begins
	gate     chan struct{} // a snapshot waits for an element before its end; nil: it does not
	padding  int           // makes copies larger
}

func newSource() *source {
	s := &source{stream: &Stream{}, settings: MasterSettings{
		PingUs: 10 * second, TimeoutUs: 60 * second, BacklogTTLUs: 3600 * second,
		HardBytes: 1 << 30,
	}}
	s.stream.Init()
	s.stream.SetSize(1 << 20)
	s.Master = NewMaster(s.stream, MasterOptions{
		Snapshot: s.snapshot, Activated: s.stream.Activate, Log: discard,
	})
	s.now.advance(1000 * second)
	return s
}

func (s *source) snapshot(w io.Writer, _ Part, stop <-chan struct{}, begin func() Position) error {
	if s.failSoon {
		return s.fail
	}
	begin()
	s.copies++
	text := copyHead + string(s.keys) + strings.Repeat("x", s.padding)
	for text != "" {
		n := min(10_000, len(text))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-stop:
			return errors.New("stopped")
		}
	}
	if s.fail != nil {
		return s.fail
	}
	_, err := io.WriteString(w, copyEnd)
	return err
}

// openGate lets a snapshot end.
func (s *source) openGate() {
	s.gate <- struct{}{}
	synctest.Wait()
}

// write changes keys.
func (s *source) write(command string) {
	s.keys = append(s.keys, raw(command)...)
	s.stream.Append(groupOf(0, command))
}

func (s *source) tick() {
	s.Tick(s.now.now(), s.settings)
	synctest.Wait()
}

// later lets time pass, in steps of a tenth of a second, as the server does.
func (s *source) later(us int64) {
	for range us / (second / 10) {
		s.now.advance(second / 10)
		s.tick()
	}
}

// A peer is a replica as the master sees it, with all that was sent to it.
type peer struct {
	*Replica
	conn   conn // its own end
	source *source
	killed bool
	err    error // of WriteTo, once it has ended
	ended  bool
}

// attach begins to serve a replica that reads nothing yet.
func (s *source) attach(from Position, said Said, full int) *peer {
	p := &peer{source: s}
	near, far := connect()
	p.conn, far.out.full = near, full
	p.Replica = s.PSYNC("peer", from, said, s.now.now(), s.settings.SyncDelayUs, func() {
		p.killed = true
		_ = far.Close()
	})
	go func() {
		_, p.err = p.WriteTo(far)
		p.ended = true
	}()
	return p
}

var (
	modern  = Said{Port: 6390, EOF: true, PSYNC2: true}
	ancient = Said{Port: 6391}
	nowhere = Position{"?", -2}
)

// got returns what has arrived since the last call.
func (p *peer) got() string {
	synctest.Wait()
	var out []byte
	for {
		p.conn.in.mu.Lock()
		more := len(p.conn.in.pieces) > 0
		p.conn.in.mu.Unlock()
		if !more {
			return string(out)
		}
		b := make([]byte, 64<<10)
		n, _ := p.conn.Read(b)
		out = append(out, b[:n]...)
		synctest.Wait()
	}
}

// ack confirms what it has.
func (p *peer) ack(offset int64) {
	p.source.Ack(p.Replica, offset, p.source.now.now())
	synctest.Wait()
}

// leave ends the connection, as a session does.
func (p *peer) leave() {
	_ = p.conn.Close()
	p.source.Remove(p.Replica)
	synctest.Wait()
}

// bubble runs a test of a master, and requires that every goroutine ends.
func bubble(t *testing.T, f func(t *testing.T, s *source)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		defer func() {
			s.Close()
			for _, r := range slices.Clone(s.replicas) {
				r.Kill()
				s.Remove(r)
			}
		}()
		f(t, s)
	})
}
