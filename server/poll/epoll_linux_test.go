package poll

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func systemPoller(t *testing.T, do func(t *testing.T, p Poller, ready func())) {
	t.Run("epoll", func(t *testing.T) {
		p, err := NewEpoll()
		require.NoError(t, err)
		defer p.Close()
		near, far := socketPair(t)
		require.NoError(t, p.Add(near, 3))
		p.Poll() // it can be written to
		do(t, p, func() {
			var taken [1]byte
			_, _ = syscall.Read(near, taken[:]) // or the socket's buffer would be full one day
			_, err := syscall.Write(far, []byte("x"))
			require.NoError(t, err)
		})
	})
}

func socketPair(t *testing.T) (near, far int) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, fd := range pair {
			_ = syscall.Close(fd) // the test may have closed it
		}
	})
	return pair[0], pair[1]
}

// TestEndOfStream: the end is an event of its own, and it says so.
func TestEndOfStream(t *testing.T) {
	p, err := NewEpoll()
	require.NoError(t, err)
	defer p.Close()
	near, far := socketPair(t)
	require.NoError(t, p.Add(near, 7))
	p.Poll()
	_, err = syscall.Write(far, []byte("x"))
	require.NoError(t, err)
	require.Equal(t, []Event{{Token: 7, Readable: true}}, p.Wait())
	require.NoError(t, syscall.Shutdown(far, syscall.SHUT_WR))
	require.Equal(t, []Event{{Token: 7, Readable: true, Ended: true}}, p.Wait())
}

// TestAddRefuses: a descriptor that cannot be watched is an error.
func TestAddRefuses(t *testing.T) {
	p, err := NewEpoll()
	require.NoError(t, err)
	defer p.Close()
	require.ErrorIs(t, p.Add(-1, 0), syscall.EBADF)
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	_, err = io.WriteString(f, "x")
	require.NoError(t, err)
	require.ErrorIs(t, p.Add(int(f.Fd()), 0), syscall.EPERM)
}

// TestCloseReleases: nothing is left open.
func TestCloseReleases(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	before := open()
	for range 10 {
		p, err := NewEpoll()
		require.NoError(t, err)
		p.Close()
	}
	require.Equal(t, before, open())
}

// TestWakeAfterClose: a late wake-up does not write to what has the descriptor's number by then.
func TestWakeAfterClose(t *testing.T) {
	p, err := NewEpoll()
	require.NoError(t, err)
	number := p.wake
	p.Close()
	for near := -1; near <= number; { // all numbers up to this one are taken
		var far int
		near, far = socketPair(t)
		p.Wake()
		for _, fd := range []int{near, far} {
			_, err := syscall.Read(fd, make([]byte, 8))
			require.ErrorIs(t, err, syscall.EAGAIN, "descriptor %d", fd)
		}
	}
}
