package upstream

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The master that sentinels name is followed when it changes, and not before it says that it is one.
func TestSentinel(t *testing.T) {
	var promoted atomic.Bool // b is the master
	var named atomic.Bool    // the sentinel says so
	node := func(letter string, isMaster func() bool) *fake {
		return newFake(t, func(args []string) string {
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
	sentinel := newFake(t, func(args []string) string {
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
	u := open(t, "redis+sentinel://127.0.0.1:1,"+sentinel.addr+"/mymaster", nil)
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
