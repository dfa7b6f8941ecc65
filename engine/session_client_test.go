package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

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
