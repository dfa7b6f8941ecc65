package terminal

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplies shows replies in the formats of redis-cli, typed at the prompt and given
// as arguments.
func TestReplies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ flags, command string }{
		{"", "HGETALL hash:small"},
		{"-3", "HGETALL hash:small"},
		{"-3", "ZRANGE zset:small 0 -1 WITHSCORES"},
		{"-3", "SMEMBERS set:small"},
		{"-3", "GET absent"},
		{"--json", "HGETALL hash:small"},
		{"--json -3", "ZRANGE zset:small 0 -1 WITHSCORES"},
		{"--json -3", "CONFIG GET maxmemory-policy"},
		{"--quoted-json", "GET text:1"},
		{"--csv", "LRANGE list:big 0 4"},
		{"--csv", "HGETALL hash:small"},
		{"--raw", "LRANGE list:big 0 2"},
		{"--no-raw", "LRANGE list:big 0 2"},
		{"", "SET text:big"},
		{"-e", "LPUSH text:big x"},
		{"", "INCR list:big"},
		{"", "NOSUCHCOMMAND a b"},
		{"-n 3", "PING"},
		{"-r 2 -i 0.01", "ECHO again"},
		{"", "COMMAND GETKEYS ZADD a 1 b"},
		{"", `EVAL 'return {1,{2,"x"},false,{err="ERR mine"}}' 0`},
	} {
		t.Run(tc.flags+" "+tc.command, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, s *server) string {
				shown, status := open(t, s.command("redis-cli", tc.flags+" "+tc.command)).awaitEnd()
				return shown + "\nstatus " + status
			})
		})
	}
}

// TestPrompt talks to the servers at the prompt: a transaction and a database in the
// prompt, RESP3, a limiter's decision.
func TestPrompt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) string {
		terminal := prompt(t, s, "-n 9")
		for _, step := range []struct{ enter, await string }{
			{"select 5", `^127\.0\.0\.1:\d+\[5\]>$`},
			{"multi", `\[5\]\(TX\)>$`},
			{"incr n", "QUEUED(?s:.*)>$"},
			{"exec", `1\) \(integer\) 1(?s:.*)\[5\]>$`},
			{"del n", `\(integer\) 1\n\S+>$`},
			{"hello 3", `"role" => "master"(?s:.*)>$`},
			{"hset h f v", `>$`},
			{"hgetall h", `1# "f" => "v"\n\S+>$`},
			{"lpush h x", `\(error\) WRONGTYPE .*\n\S+>$`},
			{"flushdb", `OK\n\S+>$`},
		} {
			terminal.converse(step.enter, step.await)
		}
		return identity.ReplaceAllString(terminal.text(), "...")
	})
	terminal := prompt(t, ours, "-n 5")
	terminal.converse(`RL.ALLOW user:42 2 1m`, `1\) \(integer\) 1\n(?s:.*)5\) \(integer\) \d+\n\S+>$`)
	terminal.converse(`RL.ALLOW user:42 2 1m COST`, `\(error\) ERR .*\n\S+>$`)
	terminal.converse(`flushdb`, `OK\n\S+>$`)
}

// converse enters a command at the prompt and waits for its reply.
func (s *screen) converse(command, reply string) {
	s.t.Helper()
	s.enter(command)
	s.press("Enter")
	s.await(regexp.QuoteMeta(command) + `\n(?s:.*)` + reply)
}

// identity is what HELLO says of the server and the connection.
var identity = regexp.MustCompile(`"id" => \(integer\) \d+`)

// TestScan lists keys.
func TestScan(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "--pattern '*:big'", "--pattern 'text:1*' --count 3"} {
		onBoth(t, func(t *testing.T, s *server) string {
			shown, _ := open(t, s.command("redis-cli", "--scan "+flags)+" | sort").awaitEnd()
			require.NotEmpty(t, shown)
			return shown
		})
	}
}

// TestPipe sends commands in bulk, of which two fail.
func TestPipe(t *testing.T) {
	t.Parallel()
	input := filepath.Join(t.TempDir(), "commands")
	commands := "SELECT 4\r\nSET a 1\r\nSET b\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n" +
		"NOSUCHCOMMAND x\r\nGET a\r\nFLUSHDB\r\n"
	require.NoError(t, os.WriteFile(input, []byte(commands), 0o600))
	onBoth(t, func(t *testing.T, s *server) string {
		shown, status := open(t, s.command("redis-cli", "--pipe <'"+input+"'")).awaitEnd()
		require.Contains(t, shown, "errors: 2, replies: 7")
		return shown + "\nstatus " + status
	})
}

// stat is a line of --stat: keys, memory, clients, blocked, requests, connections.
const stat = `^(\d+) +\d+\.\d+[MK] +(\d+) +0 +\d+ \(\+\d+\) +\d+ *$`

// TestStat watches --stat until it has shown three lines.
func TestStat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) string {
		terminal := open(t, s.command("redis-cli", "-n 0 --stat -i 0.05"))
		shown := terminal.await(stat + `\n` + stat + `\n` + stat)
		terminal.press("C-c")
		lines := regexp.MustCompile(`(?m)` + stat).FindStringSubmatch(shown)
		require.NotEqual(t, "0", lines[1])
		require.NotEqual(t, "0", lines[2])
		return regexp.MustCompile(`(?s)^.*?connections *\n`).FindString(shown)
	})
}

// TestLatency watches what --latency and --latency-history measure until there is
// something, and what ends by itself to its end.
func TestLatency(t *testing.T) {
	t.Parallel()
	const measured = `^min: \d+, max: \d+, avg: \d+\.\d\d \(\d+ samples\)`
	for _, tc := range []struct{ flags, await string }{
		{"--latency", measured},
		{"--latency-history -i 1", measured + ` -- \d+\.\d\d seconds range$`},
		{"--latency-dist -i 1", `^From 0 to 100%:$`},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, s *server) string {
				terminal := open(t, s.command("redis-cli", tc.flags))
				terminal.await(tc.await)
				terminal.press("C-c")
				return ""
			})
		})
	}
	shown, status := open(t, ours.command("redis-cli", "--intrinsic-latency 1")).awaitEnd()
	require.Equal(t, "0", status)
	require.Regexp(t, `\d+ total runs \(avg latency: `, shown)
}
