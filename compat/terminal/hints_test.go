package terminal

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHints types the beginning of a command and sees the rest of its syntax in grey.
// redis-cli runs what was typed when its terminal ends, so this happens in database 9.
func TestHints(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typed, hint string
		both        bool // redis-server shows the same
	}{
		{"RL.ALLOW ", "key limit window [limit window ...] [COST cost]", false},
		{"RL.ALLOW user:42 100 ", "window [limit window ...] [COST cost]", false},
		{"RL.ALLOW user:42 100 1m ", "[limit window ...] [COST cost] [ATMOST] [PEEK] [SHADOW]", false},
		{"RL.RESERVE user:42 ", "limit window estimate HOLD milliseconds ID id", false},
		{"RL.MSETTLE 2 ", "key [key ...] id actual [actual ...]", false},
		{"rl.acquire ", "key max LEASE milliseconds ID id", false},
		{"ZADD ", "key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]", true},
		{"set k v ", "[NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|", true},
		{"CONFIG SET maxmemory ", "value [parameter value ...]", true},
		{"eval ", "script numkeys [key [key ...]] [arg [arg ...]]", true},
	} {
		t.Run(tc.typed, func(t *testing.T) {
			t.Parallel()
			hinted := func(t *testing.T, s *server) string {
				terminal := prompt(t, s, "-n 9")
				terminal.enter(tc.typed)
				const grey = "\x1b\\[90m"
				return terminal.awaitColored(regexp.QuoteMeta(tc.typed) + grey + regexp.QuoteMeta(tc.hint))
			}
			if tc.both {
				onBoth(t, hinted)
				return
			}
			hinted(t, ours)
		})
	}
}

// prompt opens a terminal with redis-cli's prompt.
func prompt(t *testing.T, s *server, flags string) *screen {
	t.Helper()
	terminal := open(t, s.command("redis-cli", flags))
	terminal.await(`^127\.0\.0\.1:\d+(\[\d+\])?>$`)
	return terminal
}

// TestCompletion completes names that the client can only know from COMMAND DOCS.
func TestCompletion(t *testing.T) {
	t.Parallel()
	terminal := prompt(t, ours, "-n 9")
	terminal.enter("rl.al")
	terminal.press("Tab")
	terminal.await(`> RL\.ALLOW`)
	terminal.press("C-u")
	terminal.enter("help @rate")
	terminal.press("Tab")
	terminal.press("Enter")
	terminal.await(`> help @rate-limit$(?s:.*)RL\.SETTLE key id actual`)
}

// ownWords are where our help differs from Redis'.
var ownWords = regexp.MustCompile(`(?m)summary: .+$`)

// TestHelp reads the help of commands and of a group.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"ZADD", "SET", "CONFIG GET", "LMPOP", "nosuchcommand"} {
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, s *server) string {
				shown, status := open(t, s.command("redis-cli", "help "+topic)).awaitEnd()
				require.Equal(t, "0", status)
				return ownWords.ReplaceAllString(shown, "summary: ...")
			})
		})
	}
	shown, _ := open(t, ours.command("redis-cli", "help RL.ALLOW")).awaitEnd()
	require.Contains(t, shown, "  RL.ALLOW key limit window [limit window ...] [COST cost] [ATMOST] [PEEK] "+
		"[SHADOW] [ALGO LOG|FIXED|GCRA burst|BUCKETS n\n|COUNTER] [FULL] [WAIT milliseconds]\n"+
		"  summary: Admits a request if fewer than limit were admitted in the window before it.\n"+
		"  since: 0.1.0\n"+
		"  group: rate-limit")
}
