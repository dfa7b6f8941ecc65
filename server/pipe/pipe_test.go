package pipe_test

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server/pipe"
)

func TestTransferLargerThanBuffer(t *testing.T) {
	a, b := pipe.New()
	text := strings.Repeat("0123456789", 50_000)
	go func() {
		_, _ = io.WriteString(a, text)
		_ = a.Close()
	}()
	got, err := io.ReadAll(b)
	require.NoError(t, err)
	require.True(t, text == string(got))
	_, err = b.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestReadSomeWriteSomeDoNotBlock(t *testing.T) {
	a, b := pipe.New()
	room := make([]byte, 10)
	n, err := b.ReadSome(room)
	require.Zero(t, n)
	require.NoError(t, err)
	n, err = a.WriteSome(make([]byte, 1<<20))
	require.NoError(t, err)
	require.Equal(t, 64<<10, n)
	n, err = b.ReadSome(room)
	require.NoError(t, err)
	require.Equal(t, 10, n)
	n, err = a.WriteSome(make([]byte, 1<<20))
	require.NoError(t, err)
	require.Equal(t, 10, n)
}

func TestCloseWrite(t *testing.T) {
	a, b := pipe.New()
	_, err := io.WriteString(a, "ask")
	require.NoError(t, err)
	require.NoError(t, a.CloseWrite())
	question, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, "ask", string(question))
	_, err = io.WriteString(b, "answer")
	require.NoError(t, err)
	require.NoError(t, b.Close())
	answer, err := io.ReadAll(a)
	require.NoError(t, err)
	require.Equal(t, "answer", string(answer))
	require.NoError(t, a.Close())
	_, err = a.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = a.Write([]byte("x"))
	require.ErrorIs(t, err, net.ErrClosed)
}

// TestCloseUnblocks: Close unblocks reads and writes of both ends.
func TestCloseUnblocks(t *testing.T) {
	for name, use := range map[string]func(waiting, closing *pipe.Conn) error{
		"own read":     func(w, _ *pipe.Conn) error { _, err := w.Read(make([]byte, 1)); return err },
		"own write":    func(w, _ *pipe.Conn) error { _, err := w.Write(make([]byte, 1<<20)); return err },
		"other's read": func(_, c *pipe.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"other's write": func(_, c *pipe.Conn) error {
			_, err := c.Write(make([]byte, 1<<20))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pipe.New()
				ended := make(chan error)
				go func() { ended <- use(a, b) }()
				synctest.Wait()
				require.NoError(t, a.Close())
				require.Error(t, <-ended)
			})
		})
	}
}

// TestDeadlines runs in a bubble and takes no real time.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New()
		begin := time.Now()
		_ = a.SetReadDeadline(begin.Add(time.Hour))
		_, err := a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Hour, time.Since(begin))
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the deadline stays")

		_ = a.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
			_, _ = io.WriteString(b, "x")
		}()
		n, err := a.Read(make([]byte, 1))
		require.NoError(t, err)
		require.Equal(t, 1, n)

		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		n, err = a.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 64<<10, n)

		ended := make(chan error)
		go func() { _, err := b.Write(make([]byte, 1<<20)); ended <- err }()
		synctest.Wait()
		_ = b.SetDeadline(time.Unix(1, 0)) // already passed, for a current write
		require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
	})
}

func TestListener(t *testing.T) {
	l := pipe.Listen()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	client, err := l.Dial(context.Background())
	require.NoError(t, err)
	server := <-accepted
	_, err = io.WriteString(client, "hello")
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(server, got)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	require.Equal(t, "pipe", client.RemoteAddr().String())

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = l.Dial(ctx) // no Accept
	require.ErrorIs(t, err, context.Canceled)

	ended := make(chan error, 1)
	go func() { _, err := l.Accept(); ended <- err }()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	_, err = l.Dial(context.Background())
	require.ErrorIs(t, err, net.ErrClosed)
}
