package upstream

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

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
	if err := oracle.FindRealTime(); err != nil {
		t.Skip(err)
	}
	r, err := oracle.Start(oracle.Options{RealTime: true, Args: []string{"--requirepass", "of-the-master"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
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
