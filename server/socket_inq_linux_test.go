//go:build amd64 || arm64

package server

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReadsOnceARequest: a connection whose client waits for each reply waits for the
// next request without trying to read first.
func TestReadsOnceARequest(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	const requests = 1000
	client := make(chan error, 1)
	go func() {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			client <- err
			return
		}
		defer nc.Close()
		reply := make([]byte, 4)
		for range requests {
			if _, err = nc.Write([]byte("ping")); err == nil {
				_, err = io.ReadFull(nc, reply)
			}
			if err != nil {
				break
			}
		}
		client <- err
	}()
	nc, err := l.Accept()
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	s := newSocket(nc)
	in := newReader(limits{})
	turns := 0
	s.reading = func(fd uintptr) bool {
		answered, waits := turns, s.waits
		finished := s.readOnce(fd)
		if turns > answered {
			require.False(t, finished, "it would be read again")
			require.Equal(t, waits+1, s.waits, "it was read again")
		}
		if !finished {
			require.Zero(t, cap(in.buf)+cap(s.in.buf), "what waits holds no buffer")
		}
		return finished
	}
	_, err = s.readInto(in, func(n int) bool {
		turns++
		sent, err := s.writeSome(in.buf[:n])
		require.NoError(t, err)
		require.Equal(t, n, sent)
		return true
	})
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, <-client)
	require.Equal(t, requests, turns)
}
