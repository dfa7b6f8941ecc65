package upstream

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLongRepliesAreNotSilence reads a reply that arrives in parts, each within the deadline and all
// together far beyond it, and then waits for one that never comes.
func TestLongRepliesAreNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const span, parts = time.Second, 20
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		c := &patient{Conn: here}
		go func() {
			for range parts {
				time.Sleep(span * 9 / 10) //nolint:forbidigo // the bubble's clock
				_, _ = there.Write([]byte("part"))
			}
		}()

		began := time.Now()
		require.NoError(t, c.SetReadDeadline(began.Add(span)))
		buf := make([]byte, 16)
		for range parts {
			n, err := c.Read(buf)
			require.NoError(t, err, time.Since(began))
			require.Equal(t, "part", string(buf[:n]))
		}
		require.Greater(t, time.Since(began), 10*span)

		last := time.Now()
		_, err := c.Read(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.GreaterOrEqual(t, time.Since(last), span)
		require.LessOrEqual(t, time.Since(last), 2*span)

		began = time.Now()
		require.NoError(t, c.SetDeadline(began.Add(span)))
		_, err = c.Read(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, span, time.Since(began), "nothing has arrived since the deadline was set")
	})
}
