package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
)

// notificationsRecording is in the form of effectsRecording, but what stands below
// a command is the keyspace notifications that redis-server published of it, of
// every class: event, database and key. The cases of effectsRecording are in it,
// and others behind them.
const notificationsRecording = "testdata/notifications.txt"

// everyEvent is the value of notify-keyspace-events that asks for all.
const everyEvent = "KEAmn"

// notification formats the two messages of one event. They are adjacent, the key's
// channel first; other messages are left as they are.
func notifications(messages [][]string) (out []string) {
	for len(messages) > 0 {
		if len(messages) > 1 {
			key, ok1 := strings.CutPrefix(messages[0][2], "__keyspace@")
			event, ok2 := strings.CutPrefix(messages[1][2], "__keyevent@")
			db, key, ok3 := strings.Cut(key, "__:")
			_, event, ok4 := strings.Cut(event, "__:")
			if ok1 && ok2 && ok3 && ok4 && messages[0][3] == event && messages[1][3] == key &&
				messages[1][2] == "__keyevent@"+db+"__:"+event {
				if quoted := strconv.Quote(key); key == "" || strings.Contains(key, " ") ||
					len(quoted) != len(key)+2 {
					key = quoted
				}
				out, messages = append(out, event+" "+db+" "+key), messages[2:]
				continue
			}
		}
		out, messages = append(out, fmt.Sprintf("%q", messages[0])), messages[1:]
	}
	return out
}

// messagesIn returns the messages in the bytes that a connection was sent.
func messagesIn(t testing.TB, encoded []byte) (out [][]string) {
	c := &effectsClient{r: bufio.NewReader(bytes.NewReader(encoded))}
	for {
		if _, err := c.r.Peek(1); errors.Is(err, io.EOF) {
			return out
		}
		out = append(out, c.words(t))
	}
}

// TestNotificationsOfRedis checks that every command publishes what redis-server
// publishes, in its order, except for notificationsExceptions.
func TestNotificationsOfRedis(t *testing.T) {
	race.OneGoroutine(t)
	text := recording(t, notificationsRecording,
		[]string{"--dir", t.TempDir(), "--notify-keyspace-events", everyEvent},
		func(r *oracle.Redis, c *effectsClient, old string) string {
			return recordNotifications(t, r, c, old)
		})
	met := map[string]bool{}
	for _, c := range parseEffects(t, text) {
		for _, d := range replayNotified(t, c) {
			id := c.name + ": " + d.step.line
			exception, known := notificationsExceptions[id]
			met[id] = true
			if !known || exception.ours != strings.Join(d.got, "; ") {
				t.Errorf("%s\n redis: %s\n  ours: %s", id, strings.Join(d.want, "; "),
					strings.Join(d.got, "; "))
			}
		}
	}
	for id, exception := range notificationsExceptions {
		require.True(t, met[id] || exception.chance, "no exception any more: %s", id)
	}
}

// A notificationsException is what we publish where redis-server publishes something
// else; by chance it may be the same.
type notificationsException struct {
	ours, why string
	chance    bool
}

var notificationsExceptions = map[string]notificationsException{
	"expired sources of stores: > ZUNIONSTORE d 1 z": {
		ours: "expired 0 z; keymiss 0 z; expired 0 d",
		why: "the destination was overdue, and the result is empty: Redis removes it without asking " +
			"whether it still lived",
	},
	"sorted: > SORT l STORE d2":            {ours: "expired 0 l; keymiss 0 l; expired 0 d2", why: "as above"},
	"bits of strings: > BITOP OR t nosuch": {ours: "keymiss 0 nosuch; expired 0 t", why: "as above"},
	"deadlines: > SINTERSTORE d s k":       {ours: "keymiss 0 s; keymiss 0 k; expired 0 d", why: "as above"},
	`dump and restore: > RESTORE o 0 "\x00\x01v\n\x00\x91\b\xce\xb2\x198\x8a\xce" REPLACE`: {
		ours: "expired 0 o; new 0 o; restore 0 o", why: "as above",
	},

	"sorted: > SORT s BY w_* ALPHA STORE d": {
		ours: "keymiss 0 w_a; keymiss 0 w_b; keymiss 0 w_c; sortstore 0 d", chance: true,
		why: "the order in which a set has its members is another on each server",
	},
	"sorted: > SORT s BY w_* ALPHA LIMIT 9 9 STORE d": {
		ours: "keymiss 0 w_a; keymiss 0 w_b; keymiss 0 w_c; del 0 d", why: "as above", chance: true,
	},
}

// TestNotificationsAreCompared checks that a missing, different or misplaced event is
// found.
func TestNotificationsAreCompared(t *testing.T) {
	for _, planted := range []string{
		"== x\n> SET k v\n", "== x\n> GET k\nset 0 k\n", "== x\n> SET k v\nset 0 k\nnew 0 k\n",
		"== x\n> SET k v\nnew 1 k\nset 1 k\n",
	} {
		require.NotEmpty(t, replayNotified(t, parseEffects(t, planted)[0]), planted)
	}
	require.Empty(t, replayNotified(t, parseEffects(t, "== x\n> SET k v\nnew 0 k\nset 0 k\n")[0]))
	require.Len(t,
		notifications([][]string{
			{"pmessage", "*", "__keyevent@0__:set", "k"},
			{"pmessage", "*", "__keyspace@0__:k", "set"},
		}), 2,
		"the wrong way round")
}

// replayNotified runs a case and returns the steps whose notifications differ.
func replayNotified(t testing.TB, c effectsCase) []effectsDifference {
	e, h, listener := newServer(t, withPolicies...)
	do(listener, "CONFIG SET notify-keyspace-events "+everyEvent)
	do(listener, "PSUBSCRIBE __key*__:*")
	published := func() []string {
		sent, _ := listener.Deliver(nil)
		return notifications(messagesIn(t, sent))
	}
	return replaySteps(t, e, h, c, published, func(lines []string) []string { return lines })
}

// recordNotifications records every case from redis-server.
func recordNotifications(t *testing.T, r *oracle.Redis, listener *effectsClient, old string) string {
	effects, err := os.ReadFile(effectsRecording)
	require.NoError(t, err)
	cases := parseEffects(t, string(effects))
	for _, c := range parseEffects(t, old) {
		if !slices.ContainsFunc(cases, func(known effectsCase) bool { return known.name == c.name }) {
			cases = append(cases, c)
		}
	}
	listener.do(t, "PSUBSCRIBE", "__key*__:*")
	published := func() []string {
		var messages [][]string
		listener.send(t, [][]byte{[]byte("PING")})
		for words := listener.words(t); words[0] != "pong"; words = listener.words(t) {
			messages = append(messages, words)
		}
		return notifications(messages)
	}
	var out strings.Builder
	for _, c := range cases {
		recordSteps(t, r, c, &out, published)
	}
	return out.String()
}
