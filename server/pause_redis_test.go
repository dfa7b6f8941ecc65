package server_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pauseStep sends a line on one connection and reads a reply. The order of the
// steps implies which replies are late.
type pauseStep struct {
	conn, send, want string // want: the reply, "" where none is read yet
}

// pauseScenarios are pauses in real time. Where redis-server is installed, its
// replies are checked too; they were written after 7.0.15's.
var pauseScenarios = map[string][]pauseStep{
	"ALL holds everything, its own client too": {
		{"a", "CLIENT PAUSE 60", "+OK"},
		{"a", "PING", "+PONG"},
		{"a", "CLIENT PAUSE 60 ALL", "+OK"},
		{"b", "MULTI", "+OK"},
		{"b", "SET k 1", "+QUEUED"},
		{"a", "CLIENT PAUSE 60 all", "+OK"},
		{"b", "EXEC", "*1\r\n+OK"},
	},
	"errors are not postponed": {
		{"a", "CLIENT PAUSE 1000000 ALL", "+OK"},
		{"b", "NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
		{"b", "GET", "-ERR wrong number of arguments for 'get' command"},
		{"b", "DISCARD x", "-ERR wrong number of arguments for 'discard' command"},
	},
	"MONITOR is not postponed": {
		{"a", "MONITOR", "+OK"},
		{"b", "CLIENT PAUSE 1000000 ALL", "+OK"},
		{"a", "ECHO x", "$1\r\nx"},
	},
	"a pause of zero": {
		{"a", "CLIENT PAUSE 0", "+OK"},
		{"a", "PING", "+PONG"},
		{"a", "CLIENT PAUSE 0 write", "+OK"},
		{"a", "SET k v", "+OK"},
	},
	"the longest pause": {
		{"a", "CLIENT PAUSE 9223372036854775807", "+OK"},
		{"a", "PING", "+PONG"},
		{"a", "CLIENT PAUSE 9223372036854775807 WRITE", "+OK"},
		{"a", "SET k v", "+OK"},
		{"a", "CLIENT UNPAUSE", "+OK"},
	},
	"ALL postpones UNPAUSE": {
		{"a", "CLIENT PAUSE 60 ALL", "+OK"},
		{"b", "CLIENT UNPAUSE", "+OK"},
		{"a", "SET k v", "+OK"},
	},
	"WRITE, then ALL for less: ALL for as long": {
		{"a", "CLIENT PAUSE 80 WRITE", "+OK"},
		{"a", "CLIENT PAUSE 1 ALL", "+OK"},
		{"b", "PING", "+PONG"},
		{"b", "SET k v", "+OK"},
	},
	"a wait times out under ALL": {
		{"a", "BLPOP l 0.05", ""},
		{"b", "PING", "+PONG"},
		{"b", "CLIENT PAUSE 300 ALL", "+OK"},
		{"a", "", "*-1"},
	},
	"a postponed BLPOP starts its timeout later": {
		{"a", "CLIENT PAUSE 50 WRITE", "+OK"},
		{"b", "BLPOP l 0.01", "*-1"},
	},
	"RESET and QUIT are postponed": {
		{"a", "CLIENT PAUSE 50 ALL", "+OK"},
		{"b", "SELECT 3", "+OK"},
		{"a", "CLIENT PAUSE 50 ALL", "+OK"},
		{"b", "RESET", "+RESET"},
		{"a", "CLIENT PAUSE 50 ALL", "+OK"},
		{"b", "QUIT", "+OK"},
		{"b", "", "(closed)"},
	},
	"AUTH is postponed": {
		{"a", "CLIENT PAUSE 50 ALL", "+OK"},
		{"b", "AUTH x y", "-WRONGPASS invalid username-password pair or user is disabled."},
	},
	"a client that has closed its sending side": {
		{"a", "CLIENT PAUSE 1000000 WRITE", "+OK"},
		{"b", "PING", "+PONG"},
		{"b", "SET k v", ""},
		{"b", "(end)", "(closed)"},
		{"a", "CLIENT UNPAUSE", "+OK"},
		{"a", "GET k", "$-1"},
	},
}

func TestPauseScenarios(t *testing.T) {
	for name, scene := range pauseScenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t, "--bind", "127.0.0.1")
			runPauseSteps(t, scene, func() net.Conn {
				c, err := net.Dial("tcp", srv.Addr().String())
				require.NoError(t, err)
				return c
			})
		})
	}
}

func TestPauseScenariosOnRedis(t *testing.T) {
	for name, scene := range pauseScenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, _ := startRedisInDir(t, t.TempDir())
			runPauseSteps(t, scene, func() net.Conn {
				c, err := net.Dial("unix", redis.conn.RemoteAddr().String())
				require.NoError(t, err)
				return c
			})
		})
	}
}

func runPauseSteps(t *testing.T, scene []pauseStep, dial func() net.Conn) {
	wires := map[string]*wire{}
	for _, s := range scene {
		w := wires[s.conn]
		if w == nil {
			c := dial()
			t.Cleanup(func() { c.Close() })
			w = newWire(c)
			wires[s.conn] = w
		}
		switch s.send {
		case "":
		case "(end)":
			require.NoError(t, w.conn.(interface{ CloseWrite() error }).CloseWrite())
		default:
			require.NoError(t, w.sendRaw([]byte(s.send+"\r\n")))
		}
		switch s.want {
		case "":
		case "(closed)":
			require.Empty(t, w.readToEnd(t), s)
		default:
			require.Equal(t, s.want, w.reply(t), s)
		}
	}
}
