package replication

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A master that does not read must not keep the link from reading.
func TestMasterThatReadsNothing(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		r.conn.in.mu.Lock()
		r.conn.in.full, r.conn.in.held = 1, 1 // writers block
		r.conn.in.mu.Unlock()
		r.later(second)
		r.send(string(raw("SET a 1")))
		require.Equal(t, string(raw("SET a 1")), r.keeper.get())
	}, handshake(fullAt(100)+sized("")))
}

func TestSilentMaster(t *testing.T) {
	silent := script{"PING": "", "PSYNC": ""}
	for _, c := range []struct {
		name   string
		script script
		state  LinkState
	}{
		{"to PING", script{"PING": ""}, Handshake},
		{"to AUTH", script{"PING": "+PONG\r\n", "AUTH": ""}, Handshake},
		{"to REPLCONF", script{"PING": "+PONG\r\n", "REPLCONF": ""}, Handshake},
		{"to PSYNC", script{"PING": "+PONG\r\n", "PSYNC": ""}, Handshake},
		{"before the copy", handshake(fullAt(100)), Syncing},
		{"in the copy", handshake(fullAt(100) + "$100\r\n" + copyHead), Syncing},
		{"in the marked copy", handshake(fullAt(100) + "$EOF:" + mark + "\r\n" + copyHead), Syncing},
		{"in the stream", handshake(fullAt(100) + sized("")), Connected},
		{"in a command", handshake(fullAt(100) + sized("") + "*2\r\n$3\r\n"), Connected},
	} {
		t.Run(c.name, func(t *testing.T) {
			withRig(t, func(t *testing.T, r *rig) {
				r.settings.Password = "secret"
				r.later(0)
				require.Equal(t, c.state, r.Status().State)
				r.later(60 * second)
				require.Equal(t, c.state, r.Status().State)
				r.later(1)
				require.Equal(t, Connect, r.Status().State)
				require.Contains(t, r.Status().Why, "repl-timeout")
				require.NotZero(t, r.Status().DownUs)
				r.later(second)
				require.Equal(t, 2, r.dials, "it tries again")
			}, c.script, silent)
		})
	}
	t.Run("newlines are signs of life", func(t *testing.T) {
		withRig(t, func(t *testing.T, r *rig) {
			r.later(0)
			for range 10 {
				r.later(50 * second)
				r.send("\n")
			}
			require.Equal(t, Handshake, r.Status().State)
		}, script{"PING": "+PONG\r\n", "PSYNC": "\n"})
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		script script
		why    string // contained in Why
	}{
		{"PING: LOADING", script{"PING": "-LOADING Redis is loading\r\n"}, "-LOADING"},
		{"AUTH", script{"PING": "-NOAUTH no\r\n", "AUTH": "-WRONGPASS no\r\n"}, "-WRONGPASS"},
		{"REPLCONF", script{"PING": "+PONG\r\n", "REPLCONF": "-NOAUTH no\r\n"}, "-NOAUTH"},
		{"NOMASTERLINK", handshake("-NOMASTERLINK no\r\n"), "-NOMASTERLINK"},
		{"PSYNC: LOADING", handshake("-LOADING Redis is loading\r\n"), "-LOADING"},
		{"PSYNC: ERR", handshake("-ERR unknown command\r\n"), "-ERR"},
		{"PSYNC: spaces", handshake("   \r\n"), "PSYNC"},
		{"PSYNC: a status", handshake("+OK\r\n"), "+OK"},
		{"PSYNC: CONTINUE unasked", handshake("+CONTINUE\r\n"), "+CONTINUE"},
		{"39 bytes", handshake("+FULLRESYNC " + idA[1:] + " 100\r\n"), "FULLRESYNC"},
		{"41 bytes", handshake("+FULLRESYNC " + idA + "a 100\r\n"), "FULLRESYNC"},
		{"no offset", handshake("+FULLRESYNC " + idA + "\r\n"), "FULLRESYNC"},
		{"a third word", handshake("+FULLRESYNC " + idA + " 1 2\r\n"), "FULLRESYNC"},
		{"negative offset", handshake("+FULLRESYNC " + idA + " -1\r\n"), "FULLRESYNC"},
		{"too large an offset", handshake("+FULLRESYNC " + idA + " 9223372036854775808\r\n"), "FULLRESYNC"},
		{"offset is text", handshake("+FULLRESYNC " + idA + " x\r\n"), "FULLRESYNC"},
		{"too long a line", script{"PING": strings.Repeat("+", maxLine+1)}, "too long a line"},
		{"length -1", handshake(fullAt(1) + "$-1\r\n"), "-1"},
		{"no length", handshake(fullAt(1) + "$\r\n"), "length"},
		{"length is text", handshake(fullAt(1) + "$x\r\n"), "length"},
		{"too large a length", handshake(fullAt(1) + "$9223372036854775808\r\n"), "length"},
		{"short mark", handshake(fullAt(1) + "$EOF:" + mark[1:] + "\r\n"), "length"},
		{"no copy", handshake(fullAt(1) + "-ERR out of memory\r\n"), "-ERR"},
		{"garbage for a copy", handshake(fullAt(1) + "*3\r\n"), "*3"},
		{"another file", handshake(fullAt(1) + "$5\r\nhello"), errHalf.Error()},
		{"another file, marked", handshake(fullAt(1) + "$EOF:" + mark + "\r\nhello" + mark), errHalf.Error()},
		{"disk full", handshake(fullAt(1) + sized(strings.Repeat("x", 2000))), errDiskFull.Error()},
		{"disk full, marked", handshake(fullAt(1) + marked(strings.Repeat("x", 2000))), errDiskFull.Error()},
		{
			"disk full, no end", handshake(fullAt(1) + "$99999999999999\r\n" + strings.Repeat("x", 2000)),
			errDiskFull.Error(),
		},
		{"inline command", handshake(fullAt(1) + sized("") + "PING\r\n"), "protocol error"},
		{"no count", handshake(fullAt(1) + sized("") + "*\r\n"), "protocol error"},
		{"count -1", handshake(fullAt(1) + sized("") + "*-1\r\n"), "protocol error"},
		{"many arguments", handshake(fullAt(1) + sized("") + "*1048577\r\n"), "protocol error"},
		{"large argument", handshake(fullAt(1) + sized("") + "*1\r\n$536870913\r\n"), "protocol error"},
		{"huge argument", handshake(fullAt(1) + sized("") + "*1\r\n$99999999999999\r\n"), "protocol error"},
		{"negative argument", handshake(fullAt(1) + sized("") + "*1\r\n$-1\r\n"), "protocol error"},
		{"array in a command", handshake(fullAt(1) + sized("") + "*1\r\n*1\r\n"), "protocol error"},
		{"no end of an argument", handshake(fullAt(1) + sized("") + "*1\r\n$4\r\nPINGxx"), "protocol error"},
		{
			"long line in the stream", handshake(fullAt(1) + sized("") + strings.Repeat("9", maxLine+1)),
			"too long a line",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			withRig(t, func(t *testing.T, r *rig) {
				r.settings.Password, r.keeper.spoolCapacity = "secret", 1000
				r.keeper.keys = []byte("old")
				r.later(0)
				status := r.Status()
				require.Equal(t, Connect, status.State)
				require.Contains(t, status.Why, c.why)
				if r.keeper.loads == 0 {
					require.Equal(t, "old", r.keeper.get())
				}
				require.Len(t, r.logged, 1)
				r.later(second - 1)
				require.Equal(t, 1, r.dials, "it tries again after a second, not before")
				r.later(1)
				require.Equal(t, 2, r.dials)
				require.Equal(t, Connected, r.Status().State, r.Status().Why)
				require.Empty(t, r.Status().Why)
				require.Equal(t, "new", r.keeper.get())
			}, c.script, handshake(fullAt(100)+marked("new")))
		})
	}
}

func TestLinkThatCannotConnect(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		for range 50 {
			r.later(second / 10)
		}
		require.Equal(t, 5, r.dials)
		require.Equal(t, "connection refused", r.Status().Why)
	})
}

func TestOldMastersLackOptions(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		require.True(t, r.Up())
	}, script{
		"PING": "-NOPERM no\r\n", "REPLCONF": "-ERR Unrecognized REPLCONF option\r\n", "REPLCONF ACK": "",
		"PSYNC": fullAt(100) + sized(""),
	})
}

// What cannot be followed stops the link for good: to try again would change nothing.
func TestStopped(t *testing.T) {
	for name, do := range map[string]func(k *keeper){
		"a foreign command": func(k *keeper) {
			k.refuse = func(args [][]byte) error {
				if string(args[0]) == "XADD" {
					return fmt.Errorf("%w: the command XADD", ErrForeign)
				}
				return nil
			}
		},
		"a foreign copy": func(k *keeper) {
			k.whole = func([]byte) error { return fmt.Errorf("%w: a stream, XADD", ErrForeign) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, func(t *testing.T, r *rig) {
				do(r.keeper)
				r.later(0)
				r.send(string(rawAll("SET a 1", "XADD s * a b", "SET b 2")))
				status := r.Status()
				require.Equal(t, Stopped, status.State)
				require.Contains(t, status.Why, "XADD")
				require.NotContains(t, r.keeper.get(), "b")
				for range 100 {
					r.later(10 * second)
				}
				require.Equal(t, 1, r.dials)
				require.Equal(t, status, r.Status())
				require.Contains(t, r.logged[len(r.logged)-1], "stopped")

				// REPLICAOF makes a new link for the same follower.
				r.Close()
				r.keeper.refuse, r.keeper.whole = nil, nil
				again := newRig(handshake("+CONTINUE\r\n"), handshake(fullAt(200)+sized("new")))
				again.Close()
				again.Link = NewLink(LinkOptions{
					Addr: "master:6379", Dial: again.dial, Follower: r.keeper,
					NowUs: again.now.now, Settings: settings, Log: discard,
				})
				defer again.Close()
				again.later(0)
				again.later(second)
				require.True(t, again.Up(), again.Status().Why)
			}, handshake(fullAt(100)+sized("")))
		})
	}
}
