package upstream

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// newExec returns the call of EXEC behind lines.
func newExec(lines ...string) *call.Call {
	c := &call.Call{
		Cmd: &commands.Command{Name: "exec"}, Proto: resp.RESP2, Queue: []call.Queued{},
		Settings: &commands.Settings{RLLogMaxUnits: 1 << 24},
	}
	for _, line := range lines {
		q := newCall(line)
		c.Queue = append(c.Queue, call.Queued{Cmd: q.Cmd, Args: q.Args})
	}
	return c
}

// exec runs lines in MULTI.
func (u *Upstream) exec(lines ...string) string {
	c := newExec(lines...)
	u.Run([]*call.Call{c})
	return string(c.Reply)
}

// execWatched runs lines in MULTI behind WATCH.
func (u *Upstream) execWatched(key string, lines ...string) string {
	watching := newCall("EXISTS " + key) // whose row has the same keys
	watching.Args[0] = []byte("WATCH")
	var w call.Watch
	u.runOn(&w, watching)
	c := newExec(lines...)
	u.runOn(&w, c)
	return string(c.Reply)
}

// startRedis starts a redis-server in real time.
func startRedis(t *testing.T, args ...string) *oracle.Redis { return startRedisOf(t, "", args...) }

// startRedisOf starts another program than redis-server 7.0.
func startRedisOf(t *testing.T, program string, args ...string) *oracle.Redis {
	t.Helper()
	return oracle.StartFor(t, oracle.Options{RealTime: true, Program: program, Args: args})
}

// tell sends a redis-server commands that answer OK.
func tell(t *testing.T, r *oracle.Redis, lines ...string) {
	t.Helper()
	nc, err := r.Dial()
	require.NoError(t, err)
	defer nc.Close()
	in := bufio.NewReader(nc)
	for _, line := range lines {
		_, err := io.WriteString(nc, line+"\r\n")
		require.NoError(t, err)
		reply, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "+OK\r\n", reply, line)
	}
}

const (
	admitted    = "*5\r\n:1\r\n:2\r\n:1\r\n:0\r\n:3600000\r\n"
	admittedToo = "*5\r\n:1\r\n:2\r\n:0\r\n:0\r\n:36000" // the second of two
)

// A transaction is the first to ask a node that takes the library and does not permit FCALL.
func TestTransactionTurnsToScripts(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(u *Upstream) string{
		"MULTI": func(u *Upstream) string { return u.exec("SET s 1", "RL.ALLOW k 2 1h", "GET s") },
		"WATCH": func(u *Upstream) string {
			// As if a key had changed, since the connection watches nothing any more.
			require.Equal(t, "*-1\r\n", u.execWatched("w", "SET s 1", "RL.ALLOW k 2 1h", "GET s"))
			return u.execWatched("w", "SET s 1", "RL.ALLOW k 2 1h", "GET s")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRedis(t,
				"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-fcall", "-fcall_ro")
			u := open(t, "redis+single://"+r.Addr(), nil)
			require.Equal(t, "*3\r\n+OK\r\n"+admitted+"$1\r\n1\r\n", run(u))
			require.Contains(t, u.status("node0"), "decides_by=scripts")
		})
	}
}

// A transaction of decisions only, which finds that somebody has removed the library, has run nothing and is
// sent again. With others beside them its decisions fail, and the next find the library.
func TestTransactionLoadsTheLibrary(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	u := open(t, "redis+single://"+r.Addr(), nil)
	require.Equal(t, "*1\r\n"+admitted, u.exec("RL.ALLOW k 2 1h"))
	tell(t, r, "FUNCTION FLUSH")
	require.Equal(t, "*2\r\n"+admitted+admitted, u.exec("RL.ALLOW a 2 1h", "RL.ALLOW b 2 1h"))
	tell(t, r, "FUNCTION FLUSH")
	require.Equal(t, "*-1\r\n", u.execWatched("w", "RL.ALLOW c 2 1h"))
	require.Equal(t, "*1\r\n"+admitted, u.execWatched("w", "RL.ALLOW c 2 1h"))
	tell(t, r, "FUNCTION FLUSH")
	require.Equal(t, "*2\r\n+OK\r\n-ERR Function not found\r\n", u.exec("SET s 1", "RL.ALLOW d 2 1h"))
	require.Equal(t, "*2\r\n+OK\r\n"+admitted, u.exec("SET s 1", "RL.ALLOW d 2 1h"))
}

// A node that is still a replica refuses the library, and decisions in EXEC. Callers wait until it is
// promoted, as those of other commands do.
func TestReplicaIsWaitedFor(t *testing.T) {
	t.Parallel()
	requireReplicaIsWaitedFor(t, "")
}

// TestOtherReplicaIsWaitedFor: so does a replica of the releases that ORACLE_SERVERS names.
func TestOtherReplicaIsWaitedFor(t *testing.T) {
	for _, program := range otherReleases(t, true) {
		t.Run(nameOf(program), func(t *testing.T) { requireReplicaIsWaitedFor(t, program) })
	}
}

func requireReplicaIsWaitedFor(t *testing.T, program string) {
	t.Helper()
	call := func(u *Upstream) string { return u.do("RL.ALLOW k 2 1h")[0] }
	multi := func(u *Upstream) string { return u.exec("RL.ALLOW k 2 1h") }
	reading := func(u *Upstream) string { return u.exec("GET s", "RL.ALLOW k 2 1h") }
	for name, row := range map[string]struct {
		run      func(u *Upstream) string
		unloaded bool
		want     string // the beginning
	}{
		"a call":                          {call, false, admittedToo},
		"MULTI":                           {multi, false, "*1\r\n" + admittedToo},
		"MULTI with a read":               {reading, false, "*2\r\n$-1\r\n" + admittedToo},
		"a call without the library":      {call, true, admittedToo},
		"MULTI without the library":       {multi, true, "*1\r\n" + admittedToo},
		"a call by scripts":               {call, false, admittedToo},
		"MULTI by scripts":                {multi, false, "*1\r\n" + admittedToo},
		"a read in MULTI by scripts":      {reading, false, "*2\r\n$-1\r\n" + admittedToo},
		"a call, the scripts are unknown": {call, true, admittedToo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byScripts := strings.Contains(name, "scripts")
			var args []string
			if program != "" && oracle.Release(program) < 700 {
				byScripts = true
			} else if byScripts {
				args = noFunctions
			}
			r := startRedisOf(t, program, args...)
			u := open(t, "redis+single://"+r.Addr(), func(o *Options) { o.Timeout = 20 * time.Second })
			require.Equal(t, admitted, call(u))
			if row.unloaded {
				tell(t, r, map[bool]string{true: "FUNCTION FLUSH", false: "SCRIPT FLUSH"}[!byScripts])
				u.limits.unload()
			}
			tell(t, r, "REPLICAOF 127.0.0.1 1")
			before := u.counts.retries.Load()
			var asking sync.WaitGroup
			var reply string
			asking.Go(func() { reply = row.run(u) })
			eventually(t, func() bool { return u.counts.retries.Load() > before || reply != "" })
			tell(t, r, "REPLICAOF NO ONE")
			asking.Wait()
			require.True(t, strings.HasPrefix(reply, row.want), "%q", reply)
		})
	}
}

// A node that is loading its keys is waited for, too, and one that never ends that is as for other commands.
func TestLoadingNodeIsWaitedFor(t *testing.T) {
	const loading = "-LOADING Redis is loading the dataset in memory\r\n"
	asked := 0
	f := newFake(t, func(args []string) string {
		switch {
		case strings.EqualFold(args[0], "function"):
			if asked++; asked <= 3 {
				return loading
			}
			return "$1\r\nx\r\n"
		}
		return "*8\r\n:1\r\n:2\r\n:1\r\n:0\r\n:3600000\r\n:0\r\n:1\r\n:3600000\r\n"
	})
	u := open(t, "redis+single://"+f.addr, nil)
	require.Equal(t, admitted, u.do("RL.ALLOW k 2 1h")[0])
	require.Equal(t, 4, asked)

	synctest.Test(t, func(t *testing.T) {
		never := newPiped(t, constant(loading))
		u := open(t, "redis+single://"+never.addr, func(o *Options) { o.Timeout = 51 * time.Millisecond })
		require.Equal(t, loading, u.do("RL.ALLOW k 2 1h")[0])
		require.Equal(t, "5", u.status("library_loads"), "after 0, 5, 15, 35 and 51 milliseconds")
		never.asked()
		require.Equal(t, loading, u.do("GET k")[0])
		require.Equal(t, 5, asks(never.asked()))
	})
}
