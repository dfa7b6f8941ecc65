package replication

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

var record = flag.Bool("record", false, "ask redis-server 7.0.15 anew what testdata/handshakes has of it")

// recordings are handshakes with redis-server: how it is started, and what a client does there before and
// after the link has the copy. Then the link is cut, and follows again.
var recordings = []struct {
	name     string
	args     []string
	settings func(s *LinkSettings)
	before   []string
	after    []string
	keys     []string // what the copy must name
}{
	{
		name: "diskless", args: []string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"},
		before: []string{"SET before 1"}, after: []string{"SET after 2", "SELECT 3", "INCR n"},
		keys: []string{"before"},
	},
	{
		name: "file", args: []string{"--repl-diskless-sync", "no"},
		before: []string{"SET before 1", "ZADD z 1 a 2 b"},
		after:  []string{"MULTI", "SET after 2", "SET more 3", "EXEC"},
		keys:   []string{"before", "z"},
	},
	{
		name: "password", args: []string{"--requirepass", "secret", "--repl-diskless-sync-delay", "0"},
		settings: func(s *LinkSettings) { s.Password = "secret" },
		after:    []string{"SET after 2"},
	},
	{
		name: "user", args: []string{
			"--user", "replica", "on", ">p", "+psync", "+replconf", "+ping",
			"--user", "default", "off", "--repl-diskless-sync-delay", "0",
		},
		settings: func(s *LinkSettings) { s.User, s.Password, s.IP = "replica", "p", "10.0.0.1" },
	},
	{
		name: "wrong password", args: []string{"--requirepass", "secret"},
		settings: func(s *LinkSettings) { s.Password = "guess" },
	},
	{name: "no password", args: []string{"--requirepass", "secret"}},
}

func file(name string) string {
	return filepath.Join("testdata", "handshakes", strings.ReplaceAll(name, " ", "-")+".txt")
}

// A tape is what went over a connection: lines of < and a Go string for what the master sent, > for what
// the replica did, and # where the connection was cut.
type tape struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *tape) add(direction string, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(&p.b, "%s %s\n", direction, strconv.Quote(string(b)))
}

// A tapedConn is a connection that is recorded.
type tapedConn struct {
	net.Conn
	tape *tape
}

func (c tapedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.tape.add("<", b[:n])
	}
	return n, err
}

func (c tapedConn) Write(b []byte) (int, error) {
	c.tape.add(">", b)
	return c.Conn.Write(b)
}

// rdbKeeper returns a keeper that takes what redis-server sends.
func rdbKeeper(keys []string, changed chan<- struct{}) *keeper {
	k := newKeeper()
	k.whole = func(b []byte) error {
		if !bytes.HasPrefix(b, []byte("REDIS0010")) || len(b) < 9+8+1 || b[len(b)-9] != 0xff {
			return errHalf
		}
		for _, key := range keys {
			if !bytes.Contains(b, append([]byte{byte(len(key))}, key...)) {
				return fmt.Errorf("no %s in the copy", key)
			}
		}
		return nil
	}
	k.refuse = func([][]byte) error {
		if changed != nil {
			changed <- struct{}{}
		}
		return nil
	}
	return k
}

// TestRecordHandshakes asks redis-server.
func TestRecordHandshakes(t *testing.T) {
	if !*record {
		t.Skip("it records anew from redis-server what TestRecordedHandshakes replays: run with -record")
	}
	require.NoError(t, os.MkdirAll(filepath.Join("testdata", "handshakes"), 0o755))
	for _, c := range recordings {
		t.Run(c.name, func(t *testing.T) {
			redis, err := oracle.Start(oracle.Options{RealTime: true, Args: c.args})
			require.NoError(t, err)
			defer redis.Close()
			client, err := redis.Dial()
			require.NoError(t, err)
			defer client.Close()
			replies := bufio.NewReader(client)
			run := func(commands []string) {
				if len(commands) > 0 && strings.Contains(strings.Join(c.args, " "), "requirepass") {
					commands = append([]string{"AUTH secret"}, commands...)
				}
				for _, command := range commands {
					_, err := client.Write(raw(command))
					require.NoError(t, err)
					reply, err := replies.ReadString('\n')
					require.NoError(t, err)
					require.NotEqual(t, byte('-'), reply[0], reply)
					if command == "EXEC" {
						for range 2 {
							_, err = replies.ReadString('\n')
							require.NoError(t, err)
						}
					}
				}
			}
			run(c.before)

			applied := make(chan struct{}, 100)
			settings := settings()
			if c.settings != nil {
				c.settings(&settings)
			}
			settings.Port = 6390
			tape, ended := &tape{}, make(chan struct{}, 10)
			var now clock
			now.advance(1000 * second)
			online := make(chan struct{}, 10)
			keeper := &announcer{rdbKeeper(c.keys, applied), online}
			link := NewLink(LinkOptions{
				Addr: redis.Addr(), Follower: keeper, NowUs: now.now,
				Settings: func() LinkSettings { return settings },
				Dial: func(addr string, _ <-chan struct{}) (io.ReadWriteCloser, error) {
					conn, err := net.Dial("tcp", addr)
					return tapedConn{conn, tape}, err
				},
				Log: func(_ bool, _ string, attrs ...any) { ended <- struct{}{} },
			})
			// Redis ignores acknowledgements until it has seen its child end.
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			wait := func(c <-chan struct{}) {
				for {
					select {
					case <-c:
						return
					case <-ticker.C:
						now.advance(second)
						link.Tick()
					}
				}
			}
			if strings.Contains(c.name, "no password") || strings.Contains(c.name, "wrong") {
				wait(ended)
			} else {
				wait(online)
				run(c.after)
				for range commandsIn(c.after) {
					wait(applied)
				}
				link.mu.Lock()
				link.attempt.hangUp()
				link.mu.Unlock()
				<-ended
				tape.add("#", nil)
				wait(online)
			}
			link.Close()
			require.NoError(t, os.WriteFile(file(c.name), tape.b.Bytes(), 0o644))
		})
	}
}

// commandsIn returns how many commands of the stream tell of what a client did: after each change of the
// database there is SELECT.
func commandsIn(commands []string) int {
	if len(commands) == 0 {
		return 0
	}
	return len(commands) + 1
}

// An announcer tells when the link comes up.
type announcer struct {
	*keeper
	online chan<- struct{}
}

func (a *announcer) Continue(id string) error {
	a.online <- struct{}{}
	return a.keeper.Continue(id)
}

func (a *announcer) Load(f io.ReaderAt, size int64, at Position, progress func()) error {
	a.online <- struct{}{}
	return a.keeper.Load(f, size, at, progress)
}

// A segment is what one side of a recording says before the other does.
type segment struct {
	master bool
	text   string
}

// readTape returns the connections of a recording, without acknowledgements: when they are sent is a matter
// of time.
func readTape(t *testing.T, name string) [][]segment {
	t.Helper()
	b, err := os.ReadFile(file(name))
	require.NoError(t, err)
	out := [][]segment{nil}
	for line := range strings.Lines(string(b)) {
		text, err := strconv.Unquote(strings.TrimSpace(line[2:]))
		require.NoError(t, err)
		last := &out[len(out)-1]
		switch n := len(*last); {
		case strings.Contains(text, "\r\nACK\r\n"):
		case line[0] == '#':
			out = append(out, nil)
		case n > 0 && (*last)[n-1].master == (line[0] == '<'):
			(*last)[n-1].text += text
		default:
			*last = append(*last, segment{line[0] == '<', text})
		}
	}
	return out
}

// Links do with redis-server's words what they did when these were recorded, however they are cut into
// pieces.
func TestRecordedHandshakes(t *testing.T) {
	for _, c := range recordings {
		t.Run(c.name, func(t *testing.T) {
			tape := readTape(t, c.name)
			for _, size := range []int{1, 7, 1 << 20} {
				synctest.Test(t, func(t *testing.T) { replay(t, tape, size, c.settings, c.keys) })
			}
		})
	}
}

// replay plays the recorded master for a link, in pieces of at most size bytes.
func replay(t *testing.T, tape [][]segment, size int, change func(*LinkSettings), keys []string) {
	var now clock
	now.advance(1000 * second)
	settings := settings()
	if change != nil {
		change(&settings)
	}
	keeper := rdbKeeper(keys, nil)
	ends := make(chan conn, 1)
	link := NewLink(LinkOptions{
		Addr: "redis:6379", Follower: keeper, NowUs: now.now, Log: discard,
		Settings: func() LinkSettings { return settings },
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) {
			near, far := connect()
			ends <- far
			return near, nil
		},
	})
	defer link.Close()
	for i, segments := range tape {
		now.advance(second)
		link.Tick()
		master := <-ends
		for _, s := range segments {
			if s.master {
				for rest := s.text; rest != ""; {
					n := min(size, len(rest))
					_, err := io.WriteString(master, rest[:n])
					require.NoError(t, err)
					rest = rest[n:]
				}
				continue
			}
			got := make([]byte, len(s.text))
			_, err := io.ReadFull(master, got)
			require.NoError(t, err)
			require.Equal(t, s.text, string(got))
		}
		synctest.Wait()
		if len(tape) == 1 { // it was refused
			require.Equal(t, Connect, link.Status().State)
			require.Contains(t, link.Status().Why, "-")
			require.Zero(t, keeper.loads)
			return
		}
		require.True(t, link.Up(), link.Status().Why)
		require.Equal(t, 1, keeper.loads)
		require.Equal(t, i, keeper.continued)
		_ = master.Close()
		synctest.Wait()
	}
}
