package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// pairedSink returns a sink and the master's end of its connection.
func pairedSink(t *testing.T) (s *sink, master int) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fds[1]) })
	s = &sink{fd: fds[0], buf: make([]byte, sinkRead)}
	t.Cleanup(s.shut)
	return s, fds[1]
}

// said returns what the sink has sent.
func said(t *testing.T, master int) string {
	buf := make([]byte, 1000)
	n, err := syscall.Read(master, buf)
	require.NoError(t, err)
	return string(buf[:n])
}

// A sink finds the end of its copy however the bytes are cut, and confirms it.
func TestSinkFindsTheEnd(t *testing.T) {
	mark := strings.Repeat("0123456789abcdef", 3)[:40]
	// The copy has a part of the mark, and the mark with something behind it.
	text := "+OK\r\n\n+FULLRESYNC " + mark + " 700\r\n\n$EOF:" + mark + "\r\n" +
		"REDIS" + mark[:39] + "x" + mark[:7] + mark
	for size := 1; size <= len(text); size++ {
		s, master := pairedSink(t)
		for rest := text; len(rest) > 0; {
			require.NotEqual(t, sinkFollowing, s.state, "size %d, with %d to come", size, len(rest))
			n := min(size, len(rest))
			require.NoError(t, s.feed([]byte(rest[:n])))
			rest = rest[n:]
		}
		require.Equal(t, sinkFollowing, s.state, "size %d", size)
		require.Positive(t, s.took)
		require.NoError(t, s.feed([]byte("*1\r\n$4\r\nPING\r\n")))
		require.NoError(t, s.ack(0))
		require.Equal(t, "PSYNC ? -1\r\nREPLCONF ACK 700\r\nREPLCONF ACK 714\r\n", said(t, master))
	}
}

func TestSinkRefuses(t *testing.T) {
	for _, text := range []string{"-ERR no\r\n", "+CONTINUE\r\n", "+FULLRESYNC id x\r\n", "$5\r\nREDIS"} {
		s, _ := pairedSink(t)
		require.ErrorIs(t, s.feed([]byte(text)), errHandshake, text)
	}
	s, master := pairedSink(t)
	require.NoError(t, s.receive(), "nothing has arrived")
	require.NoError(t, syscall.Shutdown(master, syscall.SHUT_WR))
	require.ErrorIs(t, s.receive(), errHungUp)
}

// A load reads its sink, and a paced one may end with the copy.
func TestLoadReadsSink(t *testing.T) {
	const mark = "0123456789012345678901234567890123456789"
	s, master := pairedSink(t)
	begin := "+FULLRESYNC x 0\r\n$EOF:" + mark + "\r\n"
	address := serve(t, func(n int64) string {
		text := "\n"
		if n > 10 {
			text = fmt.Sprintf("byte %d", n)
		}
		switch n {
		case 10:
			text = begin
		case 100:
			text = mark
		}
		if n == 1 || n <= 100 && n >= 10 {
			if _, err := syscall.Write(master, []byte(text)); err != nil {
				return ""
			}
		}
		return "+PONG\r\n"
	})
	l := pings(address, 1, 1, 0)
	l.sink, l.duration, l.perSecond, l.during = s, ioTimeout, 1e6, s.phase
	tally, err := l.run(context.Background())
	require.NoError(t, err)
	require.Equal(t, sinkFollowing, s.state)
	require.GreaterOrEqual(t, tally.all, int64(100))
	require.Less(t, tally.latency.total, tally.all, "only what is answered while the copy is sent")
	require.Positive(t, tally.latency.total)

	_, err = syscall.Write(master, make([]byte, 1000))
	require.NoError(t, err)
	l = pings(address, 1, 1, 50)
	l.sink = s
	_, err = l.run(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 1000, s.offset)
}
