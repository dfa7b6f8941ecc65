package upstream

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// The master that sentinels name is followed when it changes, and not before it says that it is one.
func TestSentinel(t *testing.T) { synctest.Test(t, testSentinel) }

func testSentinel(t *testing.T) {
	var promoted atomic.Bool // b is the master
	var named atomic.Bool    // the sentinel says so
	node := func(letter string, isMaster func() bool) *fake {
		return newPiped(t, func(args []string) string {
			switch {
			case strings.EqualFold(args[0], "role") && isMaster():
				return "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
			case strings.EqualFold(args[0], "role"):
				return "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
			case !isMaster():
				return "-READONLY You can't write against a read only replica.\r\n"
			}
			return "+" + letter + "\r\n"
		})
	}
	a := node("a", func() bool { return !promoted.Load() })
	b := node("b", promoted.Load)
	sentinel := newPiped(t, func(args []string) string {
		if args[2] != "mymaster" {
			return "*-1\r\n"
		}
		addr := a.addr
		if named.Load() {
			addr = b.addr
		}
		host, port, _ := net.SplitHostPort(addr)
		return fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
	})
	// A pool that cannot connect tries again a second later, also when it is closed, and then ends.
	t.Cleanup(func() { <-time.After(2 * time.Second) }) // of the bubble
	u := open(t, "redis+sentinel://piped:65535,"+sentinel.addr+"/mymaster", nil)
	require.Equal(t, []string{"+a\r\n"}, u.do("SET k v"), "the first sentinel does not answer")
	require.Equal(t, "sentinel", u.status("kind"))

	named.Store(true)
	<-u.refresh.ask()
	require.Equal(t, []string{"+a\r\n"}, u.do("SET k v"), "what is named is no master yet")
	require.Contains(t, u.status("error"), b.addr+": it is no master")
	promoted.Store(true)
	require.Equal(t, []string{"+b\r\n"}, u.do("SET k v"), "READONLY is not passed on")
	require.Equal(t, "ok", u.status("state"))

	unknown := open(t, "redis+sentinel://"+sentinel.addr+"/other", func(o *Options) {
		o.Timeout = 100 * time.Millisecond
	})
	require.Contains(t, unknown.do("GET k")[0], `it knows no master "other"`)
}

// startSentinel runs a redis-sentinel that watches the master mymaster at an address, with further lines of
// its configuration, and returns its address.
func startSentinel(t *testing.T, master string, lines ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-sentinel")
	if err != nil {
		t.Skip("redis-sentinel is not installed (Debian: redis-sentinel)")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(addr)
	host, masterPort, _ := net.SplitHostPort(master)
	dir := t.TempDir()
	file := filepath.Join(dir, "sentinel.conf")
	lines = append([]string{
		"bind 127.0.0.1", "port " + port, "dir " + dir,
		fmt.Sprintf("sentinel monitor mymaster %s %s 1", host, masterPort),
	}, lines...)
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	cmd := exec.Command(path, file)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	eventually(t, func() bool {
		nc, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	return addr
}

// TestSentinelPassword: sentinels that ask for a password, and for a user, of whom the master knows nothing.
func TestSentinelPassword(t *testing.T) {
	r := oracle.StartFor(t, oracle.Options{RealTime: true, Args: []string{"--requirepass", "of-the-master"}})
	addr := startSentinel(t, r.Addr(),
		"sentinel auth-pass mymaster of-the-master", "requirepass of-the-sentinel",
		"user gate on >of-gate resetchannels -@all +sentinel|get-master-addr-by-name")
	ask := func(user, password string) string {
		u := open(t, "redis+sentinel://:of-the-master@"+addr+"/mymaster", func(o *Options) {
			o.Address.SentinelUsername, o.Address.SentinelPassword = user, password
			o.Timeout = time.Second
		})
		return u.do("SET k v")[0]
	}
	require.Equal(t, "+OK\r\n", ask("", "of-the-sentinel"))
	require.Equal(t, "+OK\r\n", ask("gate", "of-gate"))
	for want, login := range map[string][2]string{
		"sentinel " + addr + ": NOAUTH ":                      {"", ""},
		"sentinel " + addr + ": WRONGPASS ":                   {"", "of-the-master"},
		"sentinel " + addr + ": WRONGPASS invalid username-p": {"gate", "of-the-sentinel"},
	} {
		require.Contains(t, ask(login[0], login[1]), want)
	}
}
