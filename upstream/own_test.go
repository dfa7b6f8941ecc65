package upstream

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestEndedByIsOver: what ends a call has ended when the call has returned, even if both come together.
// Otherwise it could close the connection of whoever uses that next.
func TestEndedByIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, ending, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
		ended, returned := false, false
		go func() {
			endedBy(over, func() {
				close(ending)
				<-release
				ended = true
			}, func() {
				close(over)
				<-ending // the call is answered while it is being ended
			})
			returned = true
		}()
		synctest.Wait()
		require.False(t, returned, "it has returned before the end")
		close(release)
		synctest.Wait()
		require.True(t, ended)
		require.True(t, returned)
	})
}

// TestEndedByIsNot: a call that nobody ends.
func TestEndedByIsNot(t *testing.T) {
	over := make(chan struct{})
	endedBy(over, func() { t.Error("ended") }, func() {})
	close(over)
}

// TestEndedConnectionIsNotReused: one that was closed as its reply came is given up.
func TestEndedConnectionIsNotReused(t *testing.T) {
	f := newFake(t, constant("+OK\r\n"))
	u := open(t, "redis+single://"+f.addr, nil)
	n := u.node(f.addr)
	c := n.own(0, 2)
	require.NoError(t, c.exchange([]*item{{args: [][]byte{[]byte("GET"), []byte("k")}}}, nil))
	c.release()
	require.Same(t, c, n.own(0, 2))
	c.close()
	c.release()
	require.NotSame(t, c, n.own(0, 2))
}
