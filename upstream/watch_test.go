package upstream

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// The rows of WATCH and EXEC, which are the engine's.
var (
	rowWatch = &commands.Command{
		Name: "watch", Arity: -2, Keys: []commands.KeySpec{{Flags: "RO", First: 1, Last: -1, Step: 1}},
	}
	rowExec = &commands.Command{Name: "exec", Arity: 1}
)

func watchOf(db int, key string) *call.Call {
	return &call.Call{Cmd: rowWatch, Args: [][]byte{[]byte("WATCH"), []byte(key)}, DB: db, Proto: resp.RESP2}
}

// execOf returns EXEC of one command.
func execOf(db int, line string) *call.Call {
	c := newCall(line)
	return &call.Call{
		Cmd: rowExec, Args: [][]byte{[]byte("EXEC")}, DB: db, Proto: resp.RESP2,
		Queue: []call.Queued{{Cmd: c.Cmd, Args: c.Args}}, Settings: c.Settings,
	}
}

// runOn runs a call of a session that has watched w.
func (u *Upstream) runOn(w *call.Watch, c *call.Call) {
	c.Watch = w
	u.Run([]*call.Call{c})
}

// watched answers as a node whose keys nobody changes. lose says which WATCH it hangs up at.
func watched(lose string) func(args []string) string {
	var mu sync.Mutex
	return func(args []string) string {
		mu.Lock()
		defer mu.Unlock()
		switch name := strings.ToLower(args[0]); {
		case name == "cluster":
			return "-ERR This instance has cluster support disabled\r\n"
		case name == "watch" && lose != "" && args[1] == lose:
			lose = ""
			return ""
		case name == "set":
			return "+QUEUED\r\n"
		case name == "exec":
			return "*1\r\n+OK\r\n"
		}
		return "+OK\r\n"
	}
}

// TestWatchOnALostConnection: a connection that is lost at the second WATCH has lost what the first one
// watched, so EXEC is aborted. At the first one nothing is lost, and it is sent again.
func TestWatchOnALostConnection(t *testing.T) {
	for lose, want := range map[string]string{"first": "*1\r\n+OK\r\n", "second": "*-1\r\n"} {
		f := newFake(t, watched(lose))
		u := open(t, "redis+single://"+f.addr, nil)
		var w call.Watch
		for _, key := range []string{"first", "second", "third"} {
			c := watchOf(0, key)
			u.runOn(&w, c)
			require.Equal(t, "+OK\r\n", string(c.Reply), key)
			require.NotNil(t, w.Conn)
		}
		c := execOf(0, "SET first 1")
		u.runOn(&w, c)
		require.Equal(t, want, string(c.Reply), "lost at %s", lose)
		w.Close()
	}
}

// TestWatchNotAnswered: the keys watched before are lost with the connection, too.
func TestWatchNotAnswered(t *testing.T) {
	f := newFake(t, watched(""))
	u := open(t, "redis+single://"+f.addr, nil)
	var w call.Watch
	u.runOn(&w, watchOf(0, "first"))
	f.set(func([]string) string { return "" })
	u.runOn(&w, watchOf(0, "second"))
	require.NotNil(t, w.Conn)
	f.set(watched(""))
	c := execOf(0, "SET first 1")
	u.runOn(&w, c)
	require.Equal(t, "*-1\r\n", string(c.Reply))
}

// TestWatchAndSelect: a session may select another database between WATCH and the next one, and before
// EXEC.
func TestWatchAndSelect(t *testing.T) {
	f := newFake(t, watched(""))
	u := open(t, "redis+single://"+f.addr, nil)
	var w call.Watch
	u.runOn(&w, watchOf(0, "k"))
	u.runOn(&w, watchOf(1, "k"))
	c := execOf(2, "SET k 1")
	u.runOn(&w, c)
	require.Equal(t, "*1\r\n+OK\r\n", string(c.Reply))
	require.Equal(t, []string{"watch k", "select 1", "watch k", "select 2", "multi", "set k 1", "exec"},
		lower(f.asked()))
	u.runOn(&w, watchOf(0, "k"))
	require.Equal(t, []string{"watch k"}, lower(f.asked()), "not on the connection of another database")
	w.Close()
	f.set(func(args []string) string {
		if strings.EqualFold(args[0], "select") {
			return "-ERR DB index is out of range\r\n"
		}
		return watched("")(args)
	})
	u.runOn(&w, watchOf(0, "k"))
	require.NotNil(t, w.Conn)
	for range 2 {
		c = watchOf(3, "k")
		before := w
		u.runOn(&w, c)
		require.Equal(t, before, w)
		require.Equal(t, "-ERR DB index is out of range\r\n", string(c.Reply))
	}
	c = execOf(3, "SET k 1")
	u.runOn(&w, c)
	require.Equal(t, "-ERR DB index is out of range\r\n", string(c.Reply))
}

// TestOwnConnectionsWaitForReplicas: EXEC behind WATCH and calls that block wait for replicas as other
// writes do. What has written nothing does not.
func TestOwnConnectionsWaitForReplicas(t *testing.T) {
	exec, popped := "*1\r\n+OK\r\n", "*2\r\n$1\r\nl\r\n$1\r\na\r\n"
	f := newFake(t, func(args []string) string {
		switch strings.ToLower(args[0]) {
		case "wait":
			return ":0\r\n"
		case "exec":
			return exec
		case "blpop":
			return popped
		}
		return watched("")(args)
	})
	u := open(t, "redis+single://"+f.addr, func(o *Options) {
		o.WaitReplicas, o.WaitTimeout = 1, time.Second
	})
	const refusal = "-NOREPLICAS the command has run, but 0 of 1 replicas have confirmed it\r\n"
	for _, c := range []struct{ exec, popped, wantExec, wantPopped string }{
		{exec, popped, refusal, refusal},
		{"*-1\r\n", "*-1\r\n", "*-1\r\n", "*-1\r\n"},
	} {
		exec, popped = c.exec, c.popped
		var w call.Watch
		u.runOn(&w, watchOf(0, "k"))
		run := execOf(0, "SET k 1")
		u.runOn(&w, run)
		require.Equal(t, c.wantExec, string(run.Reply))
		pop := newCall("BLPOP l 1")
		u.Await(pop, nil)
		require.Equal(t, c.wantPopped, string(pop.Reply))
	}
}
