package replication

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestReadersKeepTheirBytes(t *testing.T) {
	s := newStream(0, 1<<30)
	_, behind := s.Here()
	text := pattern(10 * blockSize)
	s.Follow([]byte(text), 0)
	_, inTheMiddle, ok := s.Continue(Position{idA, 4*blockSize + 5})
	require.True(t, ok)
	backlog, more := s.Memory()
	require.EqualValues(t, len(text), backlog)
	require.Zero(t, more)

	s.SetSize(100)
	require.LessOrEqual(t, s.Status().Held, int64(blockSize))
	backlog, more = s.Memory()
	require.Equal(t, s.Status().Held, backlog)
	require.EqualValues(t, len(text), backlog+more, "what a reader keeps is counted")
	_, _, ok = s.Continue(Position{idA, 4*blockSize + 5})
	require.False(t, ok, "it is no longer in the backlog")

	require.True(t, text == readAll(t, behind))
	require.True(t, text[4*blockSize+5:] == readAll(t, inTheMiddle))
	_, more = s.Memory()
	require.Zero(t, more)
}

func TestReadersSeeTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream(0, 1<<30)
		text := pattern(6 * blockSize)
		var all sync.WaitGroup
		results := make([]strings.Builder, 16)
		for i := range results {
			_, r, ok := s.Continue(Position{idA, 0})
			require.True(t, ok)
			all.Go(func() {
				nudge := make(chan struct{}, 1)
				for {
					if i%2 == 0 { // some are interrupted now and then
						select {
						case nudge <- struct{}{}:
						default:
						}
					}
					b, err := r.Next(nudge)
					results[i].Write(b)
					if err != nil {
						return
					}
					if i%2 == 0 && results[i].Len() == len(text) {
						return
					}
				}
			})
		}
		for rest := text; rest != ""; {
			n := min(1+len(rest)%1500, len(rest))
			s.Follow([]byte(rest[:n]), 0)
			rest = rest[n:]
		}
		s.finish(ErrClosed)
		all.Wait()
		for i := range results {
			require.True(t, text == results[i].String(), "reader %d", i)
		}
	})
}

func TestWhatAReaderGotDoesNotChange(t *testing.T) {
	s := newStream(0, 1<<20)
	_, r := s.Here()
	s.Follow([]byte("abc"), 0)
	b, err := r.Next(nil)
	require.NoError(t, err)
	s.Follow([]byte("def"), 0)
	_ = append(b, "xyz"...) // it must not reach the block
	require.Equal(t, "def", readAll(t, r))
}

// TestBytesOfAClosedReaderStay checks that closing a reader does not invalidate the bytes that Next has
// returned: another goroutine may still be writing them to a socket.
func TestBytesOfAClosedReaderStay(t *testing.T) {
	c := &chain{spares: spares{reuses: true}}
	first := c.restart(0)
	closed, other := c.open(first, 0), c.open(first, 0)
	text := digits36(2 * blockSize)
	c.write([]byte(text))
	b, err := closed.Next(nil)
	require.NoError(t, err)
	closed.Close()
	for range 3 {
		for other.Unread() > 0 {
			_, err := other.Next(nil)
			require.NoError(t, err)
		}
		c.write(bytes.Repeat([]byte{'-'}, 2*blockSize))
	}
	require.True(t, text[:len(b)] == string(b))
}

// Two readers at different paces see the same bytes of a chain that uses its blocks again, and it needs no
// more blocks than the slower one is behind.
func TestBlocksAreUsedAgain(t *testing.T) {
	c := &chain{spares: spares{reuses: true}}
	first := c.restart(0)
	var want strings.Builder
	var got [2]strings.Builder
	readers := [2]*Reader{c.open(first, 0), c.open(first, 0)}
	behind := [2]int64{0, 2 * blockSize}
	seen := map[*block]bool{}
	read := func(i int, behind int64) {
		for readers[i].Unread() > behind {
			b, err := readers[i].Next(nil)
			require.NoError(t, err)
			got[i].Write(b)
		}
	}
	for i := range 40 {
		text := digits36(blockSize/2 + i)
		want.WriteString(text)
		c.write([]byte(text))
		seen[c.last] = true
		read(0, behind[0])
		read(1, behind[1])
	}
	read(1, 0)
	require.True(t, want.String() == got[0].String())
	require.True(t, want.String() == got[1].String())
	require.LessOrEqual(t, len(seen), 6)
}
