package engine_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
)

// unnamedRows are the commands that may change keys and whose row names no event.
var unnamedRows = map[string]string{
	"blmove": "two keys, two events", "blmpop": "the event is that of the end", "brpoplpush": "as blmove",
	"bzmpop": "as blmpop", "lmove": "as blmove", "lmpop": "as blmpop", "rpoplpush": "as blmove",
	"zmpop": "as blmpop",
	"move":  "two keys, two events", "rename": "as move", "renamenx": "as move", "smove": "as move",
	"sort": "sortstore is an event of lists", "flushall": "Redis tells nothing", "flushdb": "as flushall",
	"swapdb":          "as flushall",
	"function|delete": "no key changes", "function|flush": "as function|delete",
	"function|load":    "as function|delete",
	"function|restore": "as function|delete",
	"increx":           "told in the words of the log: a deadline comes with some calls",
	"cl.throttle":      "as increx", "rl.acquire": "as increx", "rl.adopt": "as increx",
	"rl.allow":  "as increx",
	"rl.cancel": "as increx", "rl.check": "as increx", "rl.mallow": "as increx", "rl.mcancel": "as increx",
	"rl.mreserve": "as increx", "rl.msettle": "as increx",
	"rl.refund": "as increx", "rl.release": "as increx", "rl.renew": "as increx", "rl.reserve": "as increx",
	"rl.reset": "as increx", "rl.settle": "as increx", "rl.throttle": "as increx",
}

// silentRows are those of them that never publish anything.
var silentRows = []string{
	"flushall", "flushdb", "swapdb", "function|delete", "function|flush",
	"function|load", "function|restore",
}

// writingRows are the commands that may change keys, by their full names.
func writingRows(t *testing.T) map[string]*commands.Command {
	e, _ := newEngine(t)
	rows := map[string]*commands.Command{}
	for _, c := range e.Table().All() {
		for _, row := range append([]*commands.Command{c}, subsOf(c)...) {
			if row.Is(commands.Write) {
				rows[row.FullName()] = row
			}
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

func subsOf(c *commands.Command) (out []*commands.Command) {
	for i := range c.Subs {
		out = append(out, &c.Subs[i])
	}
	return out
}

// TestWritingRowsNameTheirEvent checks that each row names its event or is an exception
// with a reason.
func TestWritingRowsNameTheirEvent(t *testing.T) {
	rows := writingRows(t)
	for name, row := range rows {
		reason := unnamedRows[name]
		if row.Event == "" {
			require.NotEmpty(t, reason, "%s names no event", name)
			continue
		}
		require.Empty(t, reason, "%s names an event", name)
		require.NotZero(t, row.ChangeEvent().Class, "%s: no class of events for group %s", name, row.Group)
	}
	for name := range unnamedRows {
		require.Contains(t, rows, name)
	}
}

// TestWritingRowsAreRecorded checks that each writing command has a recording from
// redis-server, or is asserted below if Redis does not have it.
func TestWritingRowsAreRecorded(t *testing.T) {
	text, err := os.ReadFile(notificationsRecording)
	require.NoError(t, err)
	told := map[string]bool{}
	for _, c := range parseEffects(t, string(text)) {
		for _, step := range c.steps {
			if len(step.want) > 0 && step.session > 0 {
				told[strings.ToLower(string(step.words[0]))] = true
			}
		}
	}
	for _, c := range notificationsOfOurs(t) {
		for _, step := range c.steps {
			told[strings.ToLower(string(step.words[0]))] = told[strings.ToLower(string(step.words[0]))] ||
				len(step.want) > 0
		}
	}
	for name := range writingRows(t) {
		if name == "restore-asking" { // for a cluster's nodes only
			continue
		}
		require.True(t, told[name] || slices.Contains(silentRows, name), name)
	}
}

// notificationsOfOurs is what the commands that Redis does not have publish: the
// notifications of the commands that they leave in the log.
func notificationsOfOurs(t *testing.T) []effectsCase {
	text, err := os.ReadFile("testdata/notifications-ours.txt")
	require.NoError(t, err)
	return parseEffects(t, string(text))
}

func TestNotificationsOfOurs(t *testing.T) {
	for _, c := range notificationsOfOurs(t) {
		for _, d := range replayNotified(t, c) {
			t.Errorf("%s: %s\n want: %s\n  got: %s", c.name, d.step.line, strings.Join(d.want, "; "),
				strings.Join(d.got, "; "))
		}
	}
}
