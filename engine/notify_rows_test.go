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
	"rl.cancel": "as increx", "rl.mallow": "as increx",
	"rl.refund": "as increx", "rl.release": "as increx", "rl.renew": "as increx", "rl.reserve": "as increx",
	"rl.reset": "as increx", "rl.settle": "as increx",
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
	for _, c := range parseEffects(t, notificationsOfOurs) {
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
const notificationsOfOurs = `== log
> RL.ALLOW k 3 1s
new 0 k
zadd 0 k
expire 0 k
> RL.ALLOW k 3 1s COST 2
zadd 0 k
> RL.ALLOW k 3 1s
> RL.REFUND k 1
zrem 0 k
> RL.ADOPT k BACK ms
zadd 0 k
expire 0 k
> RL.ADOPT k
zadd 0 k
expire 0 k
> RL.REFUND k 9
del 0 k
> RL.MALLOW 2 k 3 1s l 3 1s
new 0 k
zadd 0 k
expire 0 k
new 0 l
zadd 0 l
expire 0 l
> RL.RESET k nosuch l
del 0 k
del 0 l
== log, many
> RL.ALLOW k 1000 1s COST 500
new 0 k
zadd 0 k
expire 0 k
@+ 1001
> RL.ALLOW k 1000 1s PEEK
expired 0 k
== strings
> RL.ALLOW f 3 1s ALGO FIXED
new 0 f
set 0 f
expire 0 f
> RL.ALLOW f 3 1s ALGO FIXED
set 0 f
> RL.ALLOW g 3 1s ALGO GCRA 1
new 0 g
set 0 g
expire 0 g
> CL.THROTTLE t 3 3 1
new 0 t
set 0 t
expire 0 t
> INCREX i
new 0 i
set 0 i
> INCREX i EX 10
set 0 i
expire 0 i
== buckets
> RL.ALLOW b 3 1s ALGO BUCKETS 10
new 0 b
hset 0 b
expire 0 b
@+ 100
> RL.ALLOW b 3 1s ALGO BUCKETS 10
hset 0 b
expire 0 b
== holds
> RL.RESERVE k 3 1s 2 HOLD 10s ID a
new 0 k
zadd 0 k
expire 0 k
new 0 k:hold:a
set 0 k:hold:a
expire 0 k:hold:a
> RL.SETTLE k a 1
zrem 0 k
set 0 k:hold:a
> RL.RESERVE k 3 1s 1 HOLD 10s ID b
zadd 0 k
new 0 k:hold:b
set 0 k:hold:b
expire 0 k:hold:b
> RL.CANCEL k b
zrem 0 k
set 0 k:hold:b
== leases
> RL.ACQUIRE s 2 LEASE 10s ID a
new 0 s
zadd 0 s
expire 0 s
> RL.ACQUIRE s 2 LEASE 10s ID b
zadd 0 s
> RL.ACQUIRE s 2 LEASE 10s ID c
> RL.RENEW s a LEASE 20s
zadd 0 s
expire 0 s
> RL.RELEASE s a
zrem 0 s
expire 0 s
> RL.RELEASE s b
zrem 0 s
del 0 s
== in a script
> EVAL "redis.call('RL.ALLOW',KEYS[1],3,'1s') return redis.call('SET',KEYS[2],1)" 2 k l
new 0 k
zadd 0 k
expire 0 k
new 0 l
set 0 l
`

func TestNotificationsOfOurs(t *testing.T) {
	for _, c := range parseEffects(t, notificationsOfOurs) {
		for _, d := range replayNotified(t, c) {
			t.Errorf("%s: %s\n want: %s\n  got: %s", c.name, d.step.line, strings.Join(d.want, "; "),
				strings.Join(d.got, "; "))
		}
	}
}
