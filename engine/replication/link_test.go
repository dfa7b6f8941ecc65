package replication

import (
	"bufio"
	"errors"
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
	r.link(r.keeper)
	return r
}

// link makes the link.
func (r *rig) link(f Follower) {
	r.Link = NewLink(LinkOptions{
		Addr: "master:6379", Dial: r.dial, Follower: f, NowUs: r.now.now,
		Settings: func() LinkSettings { return r.settings },
		Log: func(_ bool, text string, _ ...any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.logged = append(r.logged, text)
		},
	})
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

// fullAt100 begins a copy at offset 100.
const fullAt100 = "+FULLRESYNC " + idA + " 100\r\n"

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
		}, handshake(fullAt100))
	}
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		for i := range sent {
			r.send(sent[i : i+1])
		}
		require.Equal(t, keys, r.keeper.get())
	}, handshake(fullAt100))
}

func TestLargeCopy(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.later(0)
		require.True(t, pattern(5*maxLine) == r.keeper.get())
	}, handshake(fullAt100+marked(pattern(5*maxLine))))
}
