package replication

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// whatMasterSends is everything that a master sends to a new replica.
func whatMasterSends(copied string) int {
	const replies = len("+PONG\r\n") + 2*len("+OK\r\n")
	return replies + len(copied) + len(streamOfCuts)
}

var (
	keysOfCuts   = string(rawAll("SET a 1", "SET b 2"))
	streamOfCuts = string(rawAll("SELECT 0", "SET c 3", "MULTI", "SET d 4", "SET e 5", "EXEC",
		"PING", "SET f 6"))
)

// A link that is cut after any byte has the old state or the new one, and comes back.
func TestCutAtEveryByte(t *testing.T) {
	for name, copied := range map[string]string{
		"sized":  "\n" + fullAt100 + "\n" + sized(keysOfCuts),
		"marked": "\n" + fullAt100 + "\n" + marked(keysOfCuts),
	} {
		t.Run(name, func(t *testing.T) {
			for left := range whatMasterSends(copied) + 1 {
				cutAfter(t, left, copied)
			}
		})
	}
}

// cutAfter lets a link follow a master that is cut off after some bytes, and then one that is not.
func cutAfter(t *testing.T, left int, copied string) {
	t.Helper()
	withRig(t, func(t *testing.T, r *rig) {
		r.keeper.keys = []byte("old")
		r.tune = func(master conn) { master.out.left = left }
		r.later(0)
		r.send(streamOfCuts)
		require.Equal(t, Connect, r.Status().State, "cut after %d", left)

		stream := int(r.keeper.stream.Position().Offset) - 100
		if r.keeper.loads == 0 {
			require.Equal(t, "old", r.keeper.get(), "cut after %d", left)
			require.False(t, r.keeper.stream.Active())
			stream = 0
		} else {
			want := keysOfCuts + string(onlyWrites([]byte(streamOfCuts[:stream])))
			require.Equal(t, want, r.keeper.get(), "cut after %d", left)
		}

		r.tune = nil
		if r.keeper.loads > 0 {
			r.scripts = []script{handshake("+CONTINUE\r\n")}
		}
		r.later(second)
		require.True(t, r.Up(), "cut after %d: %s", left, r.Status().Why)
		r.send(streamOfCuts[stream:])
		want := keysOfCuts + string(onlyWrites([]byte(streamOfCuts)))
		require.Equal(t, want, r.keeper.get(), "cut after %d", left)
		require.Equal(t, Position{idA, int64(100 + len(streamOfCuts))}, r.keeper.stream.Position())
		require.Equal(t, 1, r.keeper.loads)
	}, handshake(copied))
}

// The other direction: the link's own words are cut.
func TestQuestionsCutAtEveryByte(t *testing.T) {
	asked := len(rawAll("PING", "REPLCONF listening-port 6390", "REPLCONF capa eof capa psync2",
		"PSYNC ? -1"))
	for left := range asked {
		withRig(t, func(t *testing.T, r *rig) {
			r.tune = func(master conn) { master.in.left = left }
			r.later(0)
			require.Equal(t, Connect, r.Status().State, "cut after %d", left)
			require.Zero(t, r.keeper.loads)
			r.tune = nil
			r.later(second)
			require.True(t, r.Up())
		}, handshake(fullAt100+sized("")))
	}
}

// Close returns at any moment.
func TestCloseAtEveryByte(t *testing.T) {
	copied := fullAt100 + marked(keysOfCuts)
	for left := range whatMasterSends(copied) + 1 {
		withRig(t, func(t *testing.T, r *rig) {
			r.tune = func(master conn) {
				master.out.left = left
				master.out.cut = func() { // the connection stands still instead
					master.out.closed, master.out.full, master.out.held = false, 1, 1
				}
			}
			r.later(0)
			go r.sendLater(streamOfCuts)
			synctest.Wait()
			r.Close()
			synctest.Wait()
			_ = r.conn.Close()
		}, handshake(copied))
	}
}

// sendLater is send for a goroutine that may block.
func (r *rig) sendLater(text string) { _, _ = r.conn.Write([]byte(text)) }

// TestEndBeforePSYNC: while a link introduces itself, its follower becomes a master, with a history of its
// own. The link then sends no PSYNC.
func TestEndBeforePSYNC(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.keeper.stream.Reset(Position{NewID(), 100}, 0)
		r.keeper.asked = func() {
			r.End()
			r.keeper.stream.Fork()
		}
		r.later(0)
		asked := r.questions()
		require.Regexp(t, `^REPLCONF capa`, asked[len(asked)-1])
	}, handshake("+CONTINUE\r\n"))
}

func TestCloseWhileConnecting(t *testing.T) {
	for name, late := range map[string]bool{"Dial fails": false, "Dial succeeds nevertheless": true} {
		t.Run(name, func(t *testing.T) {
			for _, timeout := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					var now clock
					near, far := connect()
					l := NewLink(LinkOptions{
						Addr: "master:6379", Follower: newKeeper(), NowUs: now.now,
						Settings: settings, Log: discard,
						Dial: func(_ string, stop <-chan struct{}) (io.ReadWriteCloser, error) {
							<-stop
							if late {
								return near, nil
							}
							return nil, errors.New("stopped")
						},
					})
					l.Tick()
					synctest.Wait()
					require.Equal(t, Connecting, l.Status().State)
					if timeout {
						now.advance(61 * second)
						l.Tick()
						synctest.Wait()
						require.Equal(t, Connect, l.Status().State)
						require.Contains(t, l.Status().Why, "repl-timeout")
					}
					l.Close()
					if late {
						_, err := far.Write([]byte("x"))
						require.Error(t, err, "the connection is closed")
					}
				})
			}
		})
	}
}

func TestCloseWhileLoading(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		loading, goOn := make(chan struct{}), make(chan struct{})
		r.keeper.whole = func([]byte) error {
			close(loading)
			<-goOn
			return nil
		}
		r.later(0)
		<-loading
		closed := false
		go func() {
			r.Close()
			closed = true
		}()
		synctest.Wait()
		require.False(t, closed, "Close waits until nothing more is applied")
		close(goOn)
		synctest.Wait()
		require.True(t, closed)
	}, handshake(fullAt100+sized(strings.Repeat("x", 10))))
}

// A master hears of a replica that loads.
func TestNewlinesWhileLoading(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.keeper.whole = func([]byte) error { return nil }
		r.Close()
		r.link(&slowKeeper{r.keeper, &r.now})
		r.later(second)
		require.True(t, r.Up())
		asked := r.questions()
		require.Equal(t, []string{"PSYNC ? -1", "", "", "", "REPLCONF ACK 100"}, asked[len(asked)-5:])
	}, handshake(fullAt100+sized("")))
}

// A slowKeeper takes 300 seconds to load.
type slowKeeper struct {
	*keeper
	now *clock
}

func (k *slowKeeper) Load(f io.ReaderAt, size int64, at Position, progress func()) error {
	for range 3 {
		k.now.advance(100 * second)
		progress()
		progress()
	}
	return k.keeper.Load(f, size, at, progress)
}
