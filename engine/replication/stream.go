package replication

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/zlimit/zlimit/store/effects"
)

// NoID is the identifier of no history.
var NoID = strings.Repeat("0", 40)

// NewID returns a random identifier, as a new history has one.
func NewID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	return hex.EncodeToString(b[:])
}

// A Stream is the history of a keyspace, as its replicas get it: commands in RESP. Its methods may be
// called concurrently. The zero value must be initialized by Init.
type Stream struct {
	chain
	history  history // protected by mu, as are the fields below
	first    *block  // the oldest block of the backlog; nil: there is none
	size     int64   // repl-backlog-size
	selected int     // the database that is selected at the end; -1: unknown
	buf      []byte
}

// A history is what a Stream has a part of.
type history struct {
	id, previous string
	previousEnd  int64 // the first offset that is not of the previous history; -1: there is none
	following    bool  // it is a master's: nothing can be put into it
}

// begin begins a history that continues no other.
func (h *history) begin(id string) { h.id, h.previous, h.previousEnd = id, NoID, -1 }

// rename gives the history another identifier behind an offset.
func (h *history) rename(id string, end int64) { h.previous, h.previousEnd, h.id = h.id, end+1, id }

// has reports whether a position is in the history, unless it is beyond the end.
func (h *history) has(at Position) bool {
	return strings.EqualFold(at.ID, h.id) || strings.EqualFold(at.ID, h.previous) && at.Offset < h.previousEnd
}

// Init begins a new history.
func (s *Stream) Init() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.begin(NewID())
	s.selected = -1
}

// A Position is a place in a history.
type Position struct {
	ID     string
	Offset int64 // of the last byte
}

// A Status describes a Stream for INFO.
type Status struct {
	Position
	Previous    string
	PreviousEnd int64 // -1: none
	Active      bool
	DB          int // the database that is selected at the end; 0 if that is unknown
	Size        int64
	First       int64 // offset of the backlog's first byte
	Held        int64 // bytes of the backlog
}

// Status returns the state.
func (s *Stream) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Status{
		Position: s.position(), Previous: s.history.previous, PreviousEnd: s.history.previousEnd,
		Active: s.first != nil, DB: max(s.selected, 0), Size: s.size,
	}
	if s.first != nil {
		out.First, out.Held = s.first.at+1, s.end-s.first.at
	}
	return out
}

// Position returns where the history ends.
func (s *Stream) Position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position()
}

func (s *Stream) position() Position { return Position{s.history.id, s.end} }

// Active reports whether there is a backlog: without one nothing is recorded.
func (s *Stream) Active() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first != nil
}

// Leads reports whether there is a backlog, and the history is no master's.
func (s *Stream) Leads() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first != nil && !s.history.following
}

// SetSize sets how many bytes the backlog keeps at least.
func (s *Stream) SetSize(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = bytes
	s.trim()
}

// Activate begins the backlog if there is none.
func (s *Stream) Activate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activate()
}

func (s *Stream) activate() {
	if s.first == nil {
		s.first = s.restart(s.end)
		s.selected = -1
	}
}

// Deactivate frees the backlog. What happens from here on is not recorded, so it is a new history. Readers
// are closed.
func (s *Stream) Deactivate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart(s.end)
	s.first = nil
	s.history.begin(NewID())
}

// Restore sets the position that a server continues when it starts again, and the database that is selected
// there. If promoted, the position's history ends there and a new one begins.
func (s *Stream) Restore(at Position, db int, promoted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.id = at.ID
	s.first, s.selected = s.restart(at.Offset), db
	if promoted {
		s.fork()
	}
}

// Reset makes the stream follow another history from a position on, where a database is selected. Readers
// are closed.
func (s *Stream) Reset(at Position, db int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.following = true
	s.history.begin(at.ID)
	s.first, s.selected = s.restart(at.Offset), db
}

// Rename gives the history another identifier from here on, since a master has been promoted. Readers are
// closed, so that nobody goes on under the old identifier, whose history may go on elsewhere.
func (s *Stream) Rename(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != s.history.id {
		s.rename(id)
	}
}

func (s *Stream) rename(id string) {
	s.history.rename(id, s.end)
	s.dropAll()
}

// Fork begins a new history that continues the present one, and is no master's. Readers are closed, as
// Rename does.
func (s *Stream) Fork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fork()
}

func (s *Stream) fork() {
	s.rename(NewID())
	s.selected, s.history.following = -1, false
}

// Append appends the commands of a group, and returns the offset behind it.
func (s *Stream) Append(g *effects.Group) (end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf, s.selected = g.AppendAllTo(s.buf[:0], s.selected)
	s.add(s.buf)
	if cap(s.buf) > blockSize {
		s.buf = nil // memory that one huge group needed is released
	}
	return s.end
}

// Tell appends a command to replicas that changes nothing, unless the history is a master's.
func (s *Stream) Tell(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.history.following {
		s.add(b)
	}
}

// Follow appends bytes of the master's stream, after which a database is selected.
func (s *Stream) Follow(b []byte, db int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.selected = db
	s.add(b)
}

// SetFollowing says whether what comes next is a master's.
func (s *Stream) SetFollowing(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.following = on
}

func (s *Stream) add(b []byte) {
	if s.first == nil {
		return
	}
	last := s.last
	s.write(b)
	if s.last != last {
		s.trim()
	}
}

// trim drops the oldest blocks that the backlog can do without.
func (s *Stream) trim() {
	for s.first != nil && s.first.next != nil && s.end-s.first.next.at >= s.size {
		s.first = s.first.next
	}
}

// Here returns the present position and a reader from it on, for a replica that gets a copy of the keys
// as they are now. A master's next command is preceded by SELECT.
func (s *Stream) Here() (Position, *Reader) {
	at, readers := s.HereFor(1)
	return at, readers[0]
}

// HereFor is Here for n replicas that get one copy.
func (s *Stream) HereFor(n int) (Position, []*Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activate()
	if !s.history.following {
		s.selected = -1
	}
	readers := make([]*Reader, n)
	for i := range readers {
		readers[i] = s.open(s.last, len(s.last.data))
	}
	return s.position(), readers
}

// Continue returns a reader for a replica that has followed a history up to an offset. It reports false
// if the history is another one, or the backlog does not reach back to there.
func (s *Stream) Continue(from Position) (id string, r *Reader, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.history.has(from) || s.first == nil || from.Offset < s.first.at || from.Offset > s.end {
		return "", nil, false
	}
	b := s.first
	for b.next != nil && from.Offset >= b.next.at {
		b = b.next
	}
	return s.history.id, s.open(b, int(from.Offset-b.at)), true
}

// Memory returns the bytes of the backlog, and how many more are kept for a replica that is further behind.
func (s *Stream) Memory() (backlog, more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first != nil {
		backlog = s.end - s.first.at
	}
	return backlog, max(s.unread()-backlog, 0)
}
