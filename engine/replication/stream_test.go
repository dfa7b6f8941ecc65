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
