package engine_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// visitors are sessions at addresses of their own, with a record of those that were
// killed.
type visitors struct {
	e        *engine.Engine
	sessions []*engine.Session
	killed   []string
}

func newVisitors(t *testing.T, n int) *visitors {
	e, _ := newEngine(t)
	v := &visitors{e: e}
	for i := range n {
		name := fmt.Sprintf("192.0.2.%d:1000", i+1)
		s := e.NewSession(engine.Peer{
			Addr: name, LocalAddr: fmt.Sprintf("127.0.0.1:%d", 6379+i%2), FD: 10 + i,
			Kill: func() { v.killed = append(v.killed, name) },
		})
		t.Cleanup(s.Close)
		v.sessions = append(v.sessions, s)
	}
	return v
}

func TestClientList(t *testing.T) {
	e, clock := newEngine(t)
	open := func(p engine.Peer) *engine.Session {
		s := e.NewSession(p)
		t.Cleanup(s.Close)
		return s
	}
	a := open(engine.Peer{Addr: "127.0.0.1:1001", LocalAddr: "127.0.0.1:6379", FD: 8})
	clock.pass(2500)
	b := open(engine.Peer{Addr: "/run/zlimit.sock:0", LocalAddr: "/run/zlimit.sock", FD: 9})
	do(b, "HELLO 3 SETNAME bee")
	do(b, "SELECT 7")
	do(b, "CLIENT NO-EVICT ON")
	do(b, "CLIENT NO-TOUCH ON")
	do(b, "CLIENT SETINFO LIB-NAME jedis")
	do(b, "CLIENT SETINFO LIB-VER 5.1")
	do(b, "MULTI")
	do(b, "CONFIG GET port")
	b.Publish(engine.Buffers{Query: 1, QueryFree: 2, Memory: 4})
	b.CountOutput(3)
	clock.pass(3000)

	// engine/client_memory_test.go looks at these two.
	memory := regexp.MustCompile(`(multi|tot)-mem=\d+`)
	lines := strings.Split(memory.ReplaceAllString(do(a, "CLIENT LIST"), "$1-mem=N"), "\n")
	require.Equal(t, []string{
		"id=1 addr=127.0.0.1:1001 laddr=127.0.0.1:6379 fd=8 name= age=5 idle=0 flags=N db=0 sub=0 psub=0 " +
			"ssub=0 multi=-1" +
			" qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=N rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=N events=r " +
			"cmd=client|list" +
			" user=default redir=-1 resp=2",
		"id=2 addr=/run/zlimit.sock:0 laddr=/run/zlimit.sock fd=9 name=bee age=3 idle=3 flags=xUeT db=7 " +
			"sub=0 psub=0 ssub=0 multi=1" +
			" qbuf=1 qbuf-free=2 argv-mem=0 multi-mem=N rbs=0 rbp=0 obl=3 oll=0 omem=3 tot-mem=N events=r " +
			"cmd=config|get" +
			" user=default redir=-1 resp=3 lib-name=jedis lib-ver=5.1",
		"",
	}, lines)
	require.Equal(t, lines[0]+"\n", strings.ReplaceAll(
		memory.ReplaceAllString(do(a, "CLIENT INFO"), "$1-mem=N"), "client|info", "client|list"))
	do(b, "DISCARD")
	do(b, "RESET")
	b.Publish(engine.Buffers{})
	require.Contains(t, do(a, "CLIENT LIST ID 2"), " name= age=3 idle=0 flags=U db=0 ")
}

func TestClientListSelects(t *testing.T) {
	v := newVisitors(t, 4)
	s := v.sessions[0]
	id := regexp.MustCompile(`(?m)^id=(\d+) `)
	for line, want := range map[string]string{
		"CLIENT LIST":                   "1 2 3 4",
		"CLIENT LIST TYPE normal":       "1 2 3 4",
		"CLIENT LIST TYPE NORMAL":       "1 2 3 4",
		"CLIENT LIST TYPE replica":      "",
		"CLIENT LIST TYPE pubsub":       "",
		"CLIENT LIST ID 2":              "2",
		"CLIENT LIST ID 4 2 4 99 0 -3":  "4 2 4", // as asked for, as in Redis
		"client list id 0000000001":     "ERR Invalid client ID",
		"CLIENT LIST ID":                "ERR syntax error",
		"CLIENT LIST ID x":              "ERR Invalid client ID",
		"CLIENT LIST ID 1 x":            "ERR Invalid client ID",
		"CLIENT LIST TYPE":              "ERR syntax error",
		"CLIENT LIST TYPE nobody":       "ERR Unknown client type 'nobody'",
		"CLIENT LIST TYPE normal extra": "ERR syntax error",
		"CLIENT LIST NOSUCH":            "ERR syntax error",
	} {
		got := do(s, line)
		if !strings.HasPrefix(got, "ERR") {
			var ids []string
			for _, m := range id.FindAllStringSubmatch(got, -1) {
				ids = append(ids, m[1])
			}
			got = strings.Join(ids, " ")
		}
		require.Equal(t, want, got, line)
	}
}

// A killed client is gone for the others at once, however long its connection takes to
// end.
func TestClientKillsOnce(t *testing.T) {
	v := newVisitors(t, 3)
	a := v.sessions[0]
	require.Equal(t, "1", do(a, "CLIENT KILL ID 2"))
	require.Equal(t, "0", do(a, "CLIENT KILL ID 2"))
	require.NotContains(t, do(a, "CLIENT LIST"), "id=2 ")
	require.Equal(t, "1", do(a, "CLIENT KILL TYPE normal"))
	require.Equal(t, "0", do(a, "CLIENT KILL TYPE normal"))
	require.Len(t, v.killed, 2)
	require.Equal(t, 1, v.e.Sessions())

	v.e.NewSession(engine.Peer{Addr: "192.0.2.9:1000"}) // nothing can end it
	require.Equal(t, "0", do(a, "CLIENT KILL ADDR 192.0.2.9:1000"))
	require.Contains(t, do(a, "CLIENT LIST"), "addr=192.0.2.9:1000")
}

// Nor does it receive messages or elements, or run commands that it had sent.
func TestKilledClientIsGone(t *testing.T) {
	v := newVisitors(t, 5)
	a, listening, waiting, both, other := v.sessions[0], v.sessions[1], v.sessions[2], v.sessions[3],
		v.sessions[4]
	do(both, "HELLO 3") // or it could not wait besides
	for _, s := range []*engine.Session{listening, both, other} {
		do(s, "SUBSCRIBE c")
		do(s, "PSUBSCRIBE c* d*")
		do(s, "SSUBSCRIBE s")
	}
	do(listening, "PSUBSCRIBE first")
	for _, s := range []*engine.Session{waiting, both} {
		do(s, "BLPOP k 0")
	}
	require.Contains(t, do(a, "INFO clients"), "blocked_clients:2")
	for _, id := range []string{"2", "3", "4"} {
		require.Equal(t, "1", do(a, "CLIENT KILL ID "+id))
	}
	looks := func(want ...string) {
		t.Helper()
		require.Contains(t, do(a, "INFO clients"), "blocked_clients:0")
		for i, line := range []string{
			"PUBLISH c m", "SPUBLISH s m", "PUBSUB NUMPAT", "PUBSUB NUMSUB c",
			"PUBSUB CHANNELS",
		} {
			require.Equal(t, want[i], do(a, line), line)
		}
	}
	looks("2", "1", "2", "[c 1]", "[c]")
	require.Contains(t, do(a, "INFO clients"), "pubsub_clients:1\r\n")
	require.Equal(t, "1", do(a, "RPUSH k x"))
	require.Equal(t, "1", do(a, "LLEN k"), "nobody took it")
	for _, s := range []*engine.Session{waiting, both} {
		require.True(t, s.Ready(), "its connection goes on to its end")
		require.Equal(t, "(nothing)", show(s.Resume()))
	}
	for _, s := range []*engine.Session{listening, waiting, both} {
		require.Equal(t, "(nothing)", do(s, "SET k 1"))
		require.True(t, s.Closing())
		s.Close()
	}
	require.Equal(t, "list", do(a, "TYPE k"))
	looks("2", "1", "2", "[c 1]", "[c]")
	require.Equal(t, "1", do(a, "CLIENT KILL ID 5"))
	looks("0", "0", "0", "[c 0]", "[]")
}

func TestClientKill(t *testing.T) {
	for _, c := range []struct {
		line, want string
		killed     []int // visitors, from 1 on
		self       bool  // visitor 1, who asks
	}{
		{"CLIENT KILL 192.0.2.3:1000", "OK", []int{3}, false},
		{"CLIENT KILL 192.0.2.1:1000", "OK", nil, true}, // the old form spares nobody
		{"CLIENT KILL 192.0.2.9:1000", "ERR No such client", nil, false},
		{"CLIENT KILL id", "ERR No such client", nil, false},
		{"CLIENT KILL ADDR 192.0.2.2:1000", "1", []int{2}, false},
		{"CLIENT KILL ADDR 192.0.2.1:1000", "0", nil, false},
		{"CLIENT KILL ADDR 192.0.2.1:1000 SKIPME no", "1", nil, true},
		{"CLIENT KILL LADDR 127.0.0.1:6379", "1", []int{3}, false},
		{"CLIENT KILL LADDR 127.0.0.1:6379 SKIPME NO", "2", []int{3}, true},
		{"CLIENT KILL LADDR 127.0.0.1:6380", "2", []int{2, 4}, false},
		{"CLIENT KILL LADDR 127.0.0.1:6380 ID 2", "1", []int{2}, false},
		{"CLIENT KILL LADDR 127.0.0.1:6380 ID 3", "0", nil, false},
		{"CLIENT KILL ID 4 ID 2", "1", []int{2}, false}, // the last one counts
		{"CLIENT KILL TYPE master TYPE normal ID 3", "1", []int{3}, false},
		{"CLIENT KILL ADDR 192.0.2.2:1000 ADDR 192.0.2.9:1000", "0", nil, false},
		{"CLIENT KILL USER default", "3", []int{2, 3, 4}, false},
		{"CLIENT KILL USER nobody", "ERR No such user 'nobody'", nil, false},
		{"CLIENT KILL TYPE normal SKIPME no", "4", []int{2, 3, 4}, true},
		{"CLIENT KILL TYPE master", "0", nil, false},
		{"CLIENT KILL TYPE nobody", "ERR Unknown client type 'nobody'", nil, false},
		{"CLIENT KILL SKIPME no SKIPME yes", "3", []int{2, 3, 4}, false},
		{"CLIENT KILL SKIPME maybe", "ERR syntax error", nil, false},
		{"CLIENT KILL ID 2 ADDR", "ERR syntax error", nil, false},
		{"CLIENT KILL NOSUCH 2", "ERR syntax error", nil, false},
		{"CLIENT KILL ID 0", "ERR client-id should be greater than 0", nil, false},
		{"CLIENT KILL ID 9223372036854775808", "ERR client-id should be greater than 0", nil, false},
		// all is read before anybody is killed
		{"CLIENT KILL ID 2 USER nobody", "ERR No such user 'nobody'", nil, false},
	} {
		t.Run(c.line, func(t *testing.T) {
			v := newVisitors(t, 4)
			require.Equal(t, c.want, do(v.sessions[0], c.line))
			var killed []string
			for _, i := range c.killed {
				killed = append(killed, fmt.Sprintf("192.0.2.%d:1000", i))
			}
			require.Equal(t, killed, v.killed)
			require.Equal(t, c.self, v.sessions[0].Closing())
		})
	}
}
