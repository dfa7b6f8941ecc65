package upstream

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/upstream/call"
)

// A redis-server that does not let FUNCTION, or FCALL either, be called decides by scripts. One that lets no
// script be called says so.
func TestRefusedFunctions(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine: ", err)
	}
	user := func(rules ...string) []string {
		return append([]string{"--user", "default", "on", "nopass", "~*", "&*", "+@all"}, rules...)
	}
	const noScript = "the library of functions cannot be loaded: " +
		"NOPERM this user has no permissions to run the 'function|load' command; and no script instead: " +
		"NOPERM this user has no permissions to run the 'script|load' command"
	for _, row := range []struct {
		name    string
		args    []string
		refusal string // "": it decides
	}{
		{"FUNCTION is renamed", []string{"--rename-command", "FUNCTION", ""}, ""},
		{
			"FUNCTION and FCALL are renamed",
			[]string{"--rename-command", "FUNCTION", "", "--rename-command", "FCALL", ""},
			"",
		},
		{"no permission for FUNCTION", user("-function"), ""},
		{"no permission for FUNCTION LOAD", user("-function|load"), ""},
		{"no permission for FCALL", user("-fcall", "-fcall_ro"), ""},
		{"no permission for either", user("-function", "-fcall", "-fcall_ro"), ""},
		{"no permission for scripts", user("-@scripting"), noScript},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := oracle.StartFor(t, oracle.Options{RealTime: true, Args: row.args})
			u := open(t, "redis://"+r.Addr(), nil)
			for i, want := range []string{":1\r\n:2\r\n:1\r\n", ":1\r\n:2\r\n:0\r\n", ":0\r\n:2\r\n:0\r\n"} {
				for _, reply := range u.do("RL.ALLOW k 2 1h", "RL.ALLOW f 2 1h ALGO FIXED") {
					if row.refusal != "" {
						require.Equal(t, "-UPSTREAM "+r.Addr()+": "+row.refusal+"\r\n", reply)
						continue
					}
					require.Contains(t, reply, "*5\r\n"+want, i)
				}
			}
			require.Equal(t, row.refusal == "", u.status("failed") == "0")
			require.Contains(t, u.status("node0"), "decides_by=scripts")
		})
	}
}

// TestMaxUnits: upstream-max-units bounds what RL.ADOPT makes, and no cost.
func TestMaxUnits(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	u := open(t, "redis+single://"+r.Addr(), func(o *Options) { o.MaxUnits = 100 })
	for line, want := range map[string]string{
		"RL.ALLOW a 1000 1h COST 101":                               "*5 :101 :T :899 ",
		"RL.ALLOW c 9007199254740991 1h COST 9007199254740990":      "*5 :T :T :1 ",
		"RL.MALLOW 2 f 1000 1h g 1000 1h COST 500":                  "*6 :1 :500 :T :500 ",
		"RL.RESERVE {r} 2000000 1h 1500000 HOLD 1h ID x":            "*5 :T :T :T :0 ",
		"RL.ALLOW d 9007199254740991 1h COST 9007199254740990 PEEK": "*5 :T :T :T ",
	} {
		got := untimed(u.do(line)...)
		require.True(t, strings.HasPrefix(got, want), "%s: %s", line, got)
	}
	require.Equal(t, ":101\r\n", u.do("RL.REFUND a 1000000")[0])
	require.Equal(t, "-ERR key holds more than upstream-max-units (100) members\r\n",
		u.do("RL.ADOPT f BACK s")[0])
}

// TestWaitOutlastsTimeout: the time for which replicas are waited for is not the node's time to answer. A
// node without replicas is not away.
func TestWaitOutlastsTimeout(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	u := open(t, "redis+single://"+r.Addr(), func(o *Options) {
		o.Timeout, o.WaitReplicas, o.WaitTimeout = 500*time.Millisecond, 1, 600*time.Millisecond
	})
	for range 3 {
		require.Equal(t, "-NOREPLICAS the command has run, but 0 of 1 replicas have confirmed it\r\n",
			u.do("SET k v")[0])
	}
	require.Contains(t, u.status("node0"), "state=ok,away_seconds=0")
	require.Contains(t, u.status("node0"), "failures=0")
}

// TestWaitOfTransactions: EXEC waits for replicas, also behind WATCH, unless it is aborted.
func TestWaitOfTransactions(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	u := open(t, "redis+single://"+r.Addr(), func(o *Options) {
		o.WaitReplicas, o.WaitTimeout = 1, 20*time.Millisecond
	})
	const noReplicas = "-NOREPLICAS the command has run, but 0 of 1 replicas have confirmed it\r\n"
	require.Equal(t, noReplicas, u.exec("RL.ALLOW k 2 1h"))
	require.Equal(t, noReplicas, u.execWatched("w", "RL.ALLOW k 2 1h"))
	watching := newCall("EXISTS w")
	watching.Args[0] = []byte("WATCH")
	var w call.Watch
	u.runOn(&w, watching)
	require.Equal(t, noReplicas, u.do("SET w 1")[0])
	c := newExec("RL.ALLOW k 2 1h")
	u.runOn(&w, c)
	require.Equal(t, "*-1\r\n", string(c.Reply))
}
