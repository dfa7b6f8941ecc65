package replication

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newStream returns a stream that follows history A from an offset on, with a backlog of a size.
func newStream(at, size int64) *Stream {
	s := &Stream{}
	s.Init()
	s.SetSize(size)
	s.Reset(Position{idA, at}, 0)
	return s
}

func TestStreamCountsBytes(t *testing.T) {
	var s Stream
	s.Init()
	s.SetSize(1 << 20)
	require.False(t, s.Active())
	require.Zero(t, s.Append(groupOf(0, "SET a 1")), "nothing is recorded without a backlog")
	s.Follow(raw("PING"), 0)
	require.Zero(t, s.Position().Offset)

	at, r := s.Here()
	require.True(t, s.Active())
	require.Equal(t, Position{position(&s), 0}, at)
	want := rawAll("SELECT 0", "SET a 1")
	require.EqualValues(t, len(want), s.Append(groupOf(0, "SET a 1")))
	s.Follow(raw("PING"), 0)
	s.Append(groupOf(0, "SET a 2", "SET b 2"))
	s.Append(groupOf(3, "SET c 3"))
	want = append(want, rawAll("PING", "MULTI", "SET a 2", "SET b 2", "EXEC", "SELECT 3", "SET c 3")...)
	require.Equal(t, string(want), readAll(t, r))
	require.EqualValues(t, len(want), s.Position().Offset)
	require.Equal(t, Status{
		Position: Position{position(&s), int64(len(want))}, Previous: NoID, PreviousEnd: -1,
		Active: true, DB: 3, Size: 1 << 20, First: 1, Held: int64(len(want)),
	}, s.Status())

	_, r = s.Here()
	s.Append(groupOf(3, "SET d 4"))
	require.Equal(t, string(rawAll("SELECT 3", "SET d 4")), readAll(t, r), "a copy selects no database")
}

func TestStreamContinue(t *testing.T) {
	s := newStream(100, 1<<20)
	s.Follow([]byte("0123456789"), 0) // 101 to 110
	for _, c := range []struct {
		name string
		from Position
		want string
		no   bool
	}{
		{"from the first byte held", Position{idA, 100}, "0123456789", false},
		{"one before it", Position{idA, 99}, "", true},
		{"in the middle", Position{idA, 104}, "456789", false},
		{"the last byte", Position{idA, 109}, "9", false},
		{"at the end", Position{idA, 110}, "", false},
		{"one behind the end", Position{idA, 111}, "", true},
		{"negative", Position{idA, -2}, "", true},
		{"another history", Position{idB, 104}, "", true},
		{"no history", Position{"?", -2}, "", true},
		{"the name of no history", Position{NoID, 104}, "", true},
		{"the name of no history, negative", Position{NoID, -9}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, r, ok := s.Continue(c.from)
			require.Equal(t, !c.no, ok)
			if !ok {
				require.Nil(t, r)
				return
			}
			require.Equal(t, idA, id)
			require.EqualValues(t, len(c.want), r.Unread())
			require.Equal(t, c.want, readAll(t, r))
			r.Close()
		})
	}
}

func TestStreamContinuesThePreviousHistory(t *testing.T) {
	begin := map[string]func(s *Stream){
		"renamed": func(s *Stream) { s.Rename(idB) },
		"forked":  (*Stream).Fork,
		"restored": func(s *Stream) {
			s.Restore(s.Position(), 0, true)
		},
	}
	for name, fork := range begin {
		t.Run(name, func(t *testing.T) {
			s := newStream(100, 1<<20)
			s.Follow([]byte("01234"), 0)
			fork(s)
			s.Follow([]byte("56789"), 0)
			status := s.Status()
			require.Equal(t, idA, status.Previous)
			require.EqualValues(t, 106, status.PreviousEnd)
			require.NotEqual(t, idA, status.ID)
			for offset := int64(99); offset <= 111; offset++ {
				first := status.First - 1
				_, r, ok := s.Continue(Position{idA, offset})
				require.Equal(t, offset >= first && offset <= 105, ok, "previous history, from %d", offset)
				if ok {
					require.Equal(t, "0123456789"[offset-100:], readAll(t, r))
				}
				id, r, ok := s.Continue(Position{status.ID, offset})
				require.Equal(t, offset >= first && offset <= 110, ok, "present history, from %d", offset)
				if ok {
					require.Equal(t, status.ID, id)
					require.Equal(t, "0123456789"[offset-100:], readAll(t, r))
				}
			}
		})
	}
}

func TestRenameToTheSameNameChangesNothing(t *testing.T) {
	s := newStream(100, 1<<20)
	_, r := s.Here()
	s.Rename(idA)
	require.Equal(t, NoID, s.Status().Previous)
	require.Empty(t, readAll(t, r))
}

func TestRestore(t *testing.T) {
	var s Stream
	s.Init()
	s.SetSize(100)
	s.Restore(Position{idB, 42}, 0, false)
	require.Equal(t, Status{
		Position: Position{idB, 42}, Previous: NoID, PreviousEnd: -1, Active: true, Size: 100, First: 43,
	}, s.Status())
	_, _, ok := s.Continue(Position{idB, 42})
	require.True(t, ok)
	_, _, ok = s.Continue(Position{idB, 41})
	require.False(t, ok)
}

// pattern is a text of which no two near places are alike.
func pattern(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(string(raw(strings.Repeat("x", i%7+1) + " " + digits36(i))))
	}
	return b.String()[:n]
}

// digits36 returns a short text that depends on n.
func digits36(n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	out := []byte{digits[n%36]}
	for n /= 36; n > 0; n /= 36 {
		out = append(out, digits[n%36])
	}
	return string(out)
}

func TestStreamAcrossBlocks(t *testing.T) {
	text := pattern(3*blockSize + 100)
	pieces := map[string]int{
		"at once": len(text), "a byte short of a block": blockSize - 1, "a block": blockSize,
		"a byte more than a block": blockSize + 1, "odd pieces": 977,
	}
	for name, piece := range pieces {
		t.Run(name, func(t *testing.T) {
			s := newStream(0, 1<<30)
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				s.Follow([]byte(rest[:n]), 0)
				rest = rest[n:]
			}
			for _, border := range []int{0, blockSize, 2 * blockSize, 3 * blockSize, len(text)} {
				for from := max(border-1, 0); from <= min(border+1, len(text)); from++ {
					_, r, ok := s.Continue(Position{idA, int64(from)})
					require.True(t, ok)
					require.True(t, text[from:] == readAll(t, r), "from %d", from)
					r.Close()
				}
			}
		})
	}
}

func TestBacklogIsTrimmed(t *testing.T) {
	text := pattern(10 * blockSize)
	for _, size := range []int64{1, 1000, blockSize, blockSize + 1, 5 * blockSize} {
		s := newStream(7, size)
		for rest := text; rest != ""; rest = rest[4096:] {
			s.Follow([]byte(rest[:4096]), 0)
			status := s.Status()
			end := status.Offset
			require.GreaterOrEqual(t, status.Held, min(size, end-7), "it holds at least its size")
			require.LessOrEqual(t, status.Held, size+2*blockSize, "and not much more")
			require.Equal(t, end-status.Held+1, status.First)
		}
		first := s.Status().First
		_, r, ok := s.Continue(Position{idA, first - 1})
		require.True(t, ok)
		require.True(t, text[first-1-7:] == readAll(t, r))
		_, _, ok = s.Continue(Position{idA, first - 2})
		require.False(t, ok)
	}
}

// TestWhoPutsSelect checks that a master begins a copy's stream with SELECT, and that a replica, which
// cannot, says which database is selected.
func TestWhoPutsSelect(t *testing.T) {
	s := newStream(100, 1<<20)
	s.Reset(Position{idB, 7}, 3)
	s.Follow([]byte("x"), 5)
	_, r := s.Here()
	require.Equal(t, 5, s.Status().DB)
	s.Follow([]byte("y"), 5)
	require.Equal(t, "y", readAll(t, r))
	s.Fork()
	require.Zero(t, s.Status().DB)
	s.Follow([]byte("z"), 2)
	s.Here()
	require.Zero(t, s.Status().DB, "a master selects")
}
