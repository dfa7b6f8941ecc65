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
				require.Equal(t, 1, r.keeper.idle)
				r.send(string(rawAll("SELECT 0", "SET c 3")))
				require.True(t, strings.HasSuffix(r.keeper.get(), string(raw("SET c 3"))))
				require.EqualValues(t, 100+len(rawAll("SELECT 0", "SET c 3")), r.Status().Offset)
				require.Equal(t, 2, r.keeper.idle)
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
