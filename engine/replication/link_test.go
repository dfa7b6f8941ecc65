package replication

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A scripted master answers commands by their first words. What is not in the script is answered +OK, and
// REPLCONF ACK nothing.
type script map[string]string

// handshake is the script of a master that accepts everything up to PSYNC.
func handshake(psync string) script { return script{"PING": "+PONG\r\n", "PSYNC": psync} }

// A rig is a link with a keeper behind it and scripted masters before it.
type rig struct {
	*Link
	keeper   *keeper
	now      clock
	settings LinkSettings

	mu      sync.Mutex // protects the fields below
	scripts []script   // of the connections to come; the last one stays
	tune    func(master conn)
	dials   int
	asked   []string // what the masters were asked
	conn    conn     // the present master's end
	logged  []string
}

func newRig(scripts ...script) *rig {
	r := &rig{keeper: newKeeper(), settings: settings(), scripts: scripts}
	r.now.advance(1000 * second)
	r.Link = NewLink(LinkOptions{
		Addr: "master:6379", Dial: r.dial, Follower: r.keeper, NowUs: r.now.now,
		Settings: func() LinkSettings { return r.settings },
		Log: func(_ bool, text string, _ ...any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.logged = append(r.logged, text)
		},
	})
	return r
}

func (r *rig) dial(string, <-chan struct{}) (io.ReadWriteCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dials++
	if len(r.scripts) == 0 {
		return nil, errors.New("connection refused")
	}
	s := r.scripts[0]
	if len(r.scripts) > 1 {
		r.scripts = r.scripts[1:]
	}
	near, far := connect()
	r.conn = far
	if r.tune != nil {
		r.tune(far)
	}
	go r.play(far, s)
	return near, nil
}

// play answers what a link asks.
func (r *rig) play(c conn, s script) {
	p := parser{in: bufio.NewReader(c)}
	for {
		cmd, err := p.next()
		if err != nil {
			return
		}
		line := lineOf(cmd.args)
		r.mu.Lock()
		r.asked = append(r.asked, line)
		r.mu.Unlock()
		reply, known := "", false
		for n := len(line); n >= 0 && !known; n-- { // the longest prefix that the script has
			reply, known = s[line[:n]]
		}
		if !known && !strings.HasPrefix(line, "REPLCONF ACK") && line != "" {
			reply = "+OK\r\n"
		}
		if reply != "" {
			_, _ = c.Write([]byte(reply))
		}
	}
}

func lineOf(args [][]byte) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = string(a)
	}
	return strings.Join(words, " ")
}

// send sends what the present master has to say next.
func (r *rig) send(text string) {
	_, _ = r.conn.Write([]byte(text))
	synctest.Wait()
}

// later ticks once, some time later.
func (r *rig) later(us int64) {
	r.now.advance(us)
	r.Tick()
	synctest.Wait()
}

// questions returns what the masters were asked since the last call.
func (r *rig) questions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.asked
	r.asked = nil
	return out
}

// withRig runs a test of a link, and requires that Close ends every goroutine.
func withRig(t *testing.T, f func(t *testing.T, r *rig), scripts ...script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(scripts...)
		defer func() {
			r.Close()
			r.Close()
			synctest.Wait()
			require.Zero(t, r.keeper.spools, "no copy is left on disk")
			require.Zero(t, r.keeper.online, "as often offline as online")
		}()
		f(t, r)
	})
}

func fullAt(offset int) string { return fmt.Sprintf("+FULLRESYNC %s %d\r\n", idA, offset) }

func TestHandshake(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *LinkSettings)
		want   []string
	}{
		{"plain", func(*LinkSettings) {}, []string{
			"PING", "REPLCONF listening-port 6390", "REPLCONF capa eof capa psync2", "PSYNC ? -1",
			"REPLCONF ACK 100",
		}},
		{"password", func(s *LinkSettings) { s.Password = "secret" }, []string{
			"PING", "AUTH secret", "REPLCONF listening-port 6390", "REPLCONF capa eof capa psync2",
			"PSYNC ? -1", "REPLCONF ACK 100",
		}},
		{"user and address", func(s *LinkSettings) {
			s.User, s.Password, s.IP = "u", "p", "10.0.0.1"
		}, []string{
			"PING", "AUTH u p", "REPLCONF listening-port 6390", "REPLCONF ip-address 10.0.0.1",
			"REPLCONF capa eof capa psync2", "PSYNC ? -1", "REPLCONF ACK 100",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			withRig(t, func(t *testing.T, r *rig) {
				c.change(&r.settings)
				r.later(0)
				require.Equal(t, c.want, r.questions())
				require.True(t, r.Up())
			}, handshake(fullAt(100)+sized("")))
		})
	}
}

func TestFullSync(t *testing.T) {
	keys := string(rawAll("SET a 1", "SET b 2"))
	for name, sent := range map[string]string{
		"sized":                   fullAt(100) + sized(keys),
		"marked":                  fullAt(100) + marked(keys),
		"newlines before":         "\n\n" + fullAt(100) + "\n\n\n" + sized(keys),
		"newlines before, marked": "\n" + fullAt(100) + "\n" + marked(keys),
		"empty":                   fullAt(100) + sized(""),
		"large":                   fullAt(100) + marked(pattern(5*maxLine)),
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, func(t *testing.T, r *rig) {
				r.later(0)
				require.Equal(t, Connected, r.Status().State, r.Status().Why)
				want := map[string]string{"empty": "", "large": pattern(5 * maxLine)}
				if text, ok := want[name]; ok {
					require.True(t, text == r.keeper.get())
				} else {
					require.Equal(t, keys, r.keeper.get())
				}
				require.Equal(t, Position{idA, 100}, r.keeper.stream.Position())
				require.Equal(t, 1, r.keeper.online)
				r.send(string(rawAll("SELECT 0", "SET c 3")))
				require.True(t, strings.HasSuffix(r.keeper.get(), string(raw("SET c 3"))))
				require.EqualValues(t, 100+len(rawAll("SELECT 0", "SET c 3")), r.Status().Offset)
			}, handshake(sent))
		})
	}
}

// The mark may arrive in any number of pieces, and the stream may follow at once.
func TestMarkInPieces(t *testing.T) {
	keys := mark[:20] + mark[:39] + "x" // which is nearly the mark
	sent := marked(keys) + ping
	for cut := 1; cut < len(sent); cut++ {
		withRig(t, func(t *testing.T, r *rig) {
			r.later(0)
			r.send(sent[:cut])
			r.send(sent[cut:])
			require.Equal(t, keys, r.keeper.get(), "cut at %d", cut)
			require.EqualValues(t, 100+len(ping), r.Status().Offset)
		}, handshake(fullAt(100)))
	}
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		for i := range sent {
			r.send(sent[i : i+1])
		}
		require.Equal(t, keys, r.keeper.get())
	}, handshake(fullAt(100)))
}

func TestProgressOfACopy(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		r.send("$100\r\n" + copyHead + strings.Repeat("x", 31))
		status := r.Status()
		require.Equal(t, []int64{40, 60, -1}, []int64{status.Read, status.Left, status.Offset})
		require.True(t, status.Syncing)
		require.Equal(t, Syncing, status.State)
		require.False(t, r.Up())
	}, handshake(fullAt(100)))
}

func TestPartialSync(t *testing.T) {
	for name, reply := range map[string]string{
		"the same history": "+CONTINUE\r\n", "by its name": "+CONTINUE " + idA + "\r\n",
		"a new name": "+CONTINUE " + idB + "\r\n", "after newlines": "\n\n+CONTINUE\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, func(t *testing.T, r *rig) {
				r.later(0)
				r.send(string(rawAll("SELECT 0", "SET a 1", "MULTI", "SET lost 1")))
				whole := 100 + len(rawAll("SELECT 0", "SET a 1"))
				_ = r.conn.Close()
				synctest.Wait()
				require.Equal(t, Connect, r.Status().State)
				require.Zero(t, r.keeper.online)
				require.NotEmpty(t, r.Status().Why)
				r.questions()
				r.later(second)
				asked := r.questions()
				require.Equal(t, fmt.Sprintf("PSYNC %s %d", idA, whole+1), asked[len(asked)-2],
					"half a transaction is not kept")
				require.Equal(t, fmt.Sprintf("REPLCONF ACK %d", whole), asked[len(asked)-1])
				r.send(string(raw("SET b 2")))
				require.Equal(t, string(rawAll("SET a 1", "SET b 2")), r.keeper.get())
				want := Position{idA, int64(whole + len(raw("SET b 2")))}
				if name == "a new name" {
					want.ID = idB
					require.Equal(t, idA, r.keeper.stream.Status().Previous)
				}
				require.Equal(t, want, r.keeper.stream.Position())
				require.Equal(t, 1, r.keeper.loads)
			}, handshake(fullAt(100)+sized("")), handshake(reply))
		})
	}
}

func TestAcknowledgements(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		r.questions()
		for range 30 {
			r.later(second / 10)
		}
		require.Equal(t, []string{"REPLCONF ACK 100", "REPLCONF ACK 100", "REPLCONF ACK 100"}, r.questions(),
			"one each second")
		getAck := "REPLCONF GETACK *"
		r.send(string(raw(getAck)))
		require.Equal(t, []string{fmt.Sprintf("REPLCONF ACK %d", 100+len(raw(getAck)))}, r.questions())
		r.send(string(raw("replconf getack *")))
		require.Len(t, r.questions(), 1)
		at := r.keeper.stream.Position().Offset
		r.send(string(rawAll("MULTI", "SET a 1")))
		r.later(second)
		require.Equal(t, []string{fmt.Sprintf("REPLCONF ACK %d", at)}, r.questions(),
			"half a transaction is not confirmed")
		require.Equal(t, at+int64(len(rawAll("MULTI", "SET a 1"))), r.Status().Offset)
		r.send(string(raw("EXEC")))
		r.later(second)
		at = r.keeper.stream.Position().Offset
		require.Equal(t, []string{fmt.Sprintf("REPLCONF ACK %d", at)}, r.questions())
		r.send("\n")
		require.Equal(t, Connected, r.Status().State, "an empty line is no error")
	}, handshake(fullAt(100)+sized("")))
}

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
