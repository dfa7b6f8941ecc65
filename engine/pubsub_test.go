package engine_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// listener is a session that is woken, as a connection is, and drains its mailbox in its
// own goroutine.
type listener struct {
	*client
	heard strings.Builder
}

func newListener(t testing.TB, e *engine.Engine) *listener {
	t.Helper()
	l := &listener{client: newClient(e, engine.Peer{})}
	t.Cleanup(l.Close)
	return l
}

// hear drains the mailbox.
func (l *listener) hear(t testing.TB) string {
	t.Helper()
	b, lost := l.Deliver(nil)
	require.Zero(t, lost)
	return string(b)
}

// hearUntil listens until the last message is end.
func (l *listener) hearUntil(t testing.TB, end string) {
	for !strings.HasSuffix(l.heard.String(), end) {
		<-l.woken
		l.heard.WriteString(l.hear(t))
	}
}

// bodies returns the bodies of the messages, in order; every message has five lines after
// its count.
func bodies(t testing.TB, heard string) []string {
	t.Helper()
	var out []string
	lines := strings.Split(strings.TrimSuffix(heard, "\r\n"), "\r\n")
	for i := 0; i < len(lines); {
		n, err := strconv.Atoi(lines[i][1:])
		require.NoError(t, err)
		i += 1 + 2*n
		out = append(out, lines[i-1])
	}
	return out
}

func TestMessagesKeepOneOrderForAll(t *testing.T) {
	const publishers, each = 4, 60
	e, _ := newEngine(t)
	var listeners []*listener
	for _, how := range []string{"SUBSCRIBE a b", "SUBSCRIBE a b", "PSUBSCRIBE *", "PSUBSCRIBE *"} {
		l := newListener(t, e)
		l.Do(args(how))
		listeners = append(listeners, l)
	}
	var publishing, listening sync.WaitGroup
	for _, l := range listeners {
		listening.Go(func() { l.hearUntil(t, "\r\nend\r\n") })
	}
	for p := range publishers {
		publishing.Go(func() {
			s := e.NewSession(engine.Peer{})
			defer s.Close()
			for i := range each {
				// Channels, transactions and scripts take turns.
				channel := "ab"[i%2 : i%2+1]
				body := fmt.Sprintf("%d:%d", p, i)
				switch i % 3 {
				case 0:
					s.Do(args("PUBLISH " + channel + " " + body))
				case 1:
					for _, line := range []string{
						"MULTI", "PUBLISH " + channel + " " + body, "SET k v", "PUBLISH a " + body + "t",
						"PUBLISH b " + body + "u", "EXEC",
					} {
						s.Do(args(line))
					}
				case 2:
					doWords(s, "EVAL", "redis.call('publish','b',ARGV[1]) redis.call('incr','n') return "+
						"redis.call('publish','a',ARGV[1]..'v')", "0", body)
				}
			}
		})
	}
	publishing.Wait()
	require.Equal(t, "4", do(newSession(t, e), "PUBLISH a end"))
	listening.Wait()

	want := bodies(t, listeners[0].heard.String())
	require.NoError(t, inOrder(want, publishers, each))
	for _, l := range listeners[1:] {
		require.Equal(t, want, bodies(t, l.heard.String()))
	}
}

// inOrder checks that no message is lost or duplicated, that the messages of a publisher
// are in its order, and that those of one EXEC or script stand together.
func inOrder(heard []string, publishers, each int) error {
	var want [][]string
	for p := range publishers {
		var own []string
		for i := range each {
			body := fmt.Sprintf("%d:%d", p, i)
			own = append(own, [][]string{{body}, {body, body + "t", body + "u"}, {body, body + "v"}}[i%3]...)
		}
		want = append(want, own)
	}
	last := ""
	for at, body := range heard {
		if body == "end" && at == len(heard)-1 {
			break
		}
		p, err := strconv.Atoi(body[:1])
		if err != nil || len(want[p]) == 0 || want[p][0] != body {
			return fmt.Errorf("message %d is %s", at, body)
		}
		want[p] = want[p][1:]
		if strings.ContainsAny(body, "tv") && last != strings.TrimRight(body, "tv") ||
			strings.HasSuffix(body, "u") && last != strings.TrimRight(body, "u")+"t" {
			return fmt.Errorf("message %d: %s comes between those of %s", at, last, body)
		}
		last = body
	}
	for p, rest := range want {
		if len(rest) > 0 {
			return fmt.Errorf("publisher %d: %d messages are lost", p, len(rest))
		}
	}
	return nil
}

// TestInOrderFinds shows that the comparator above can fail.
func TestInOrderFinds(t *testing.T) {
	sound := []string{
		"0:0", "1:0", "0:1", "0:1t", "0:1u", "1:1", "1:1t", "1:1u", "1:2", "1:2v", "0:2",
		"0:2v", "end",
	}
	require.NoError(t, inOrder(sound, 2, 3))
	for what, heard := range map[string][]string{
		"lost":    append(append([]string{}, sound[:4]...), sound[5:]...),
		"at end":  sound[:11],
		"doubled": append([]string{"0:0"}, sound...),
		"between": {"0:0", "1:0", "0:1", "1:1", "0:1t", "0:1u", "1:1t", "1:1u", "1:2", "1:2v", "0:2", "0:2v"},
		"swapped": {"1:0", "0:1", "0:0", "0:1t", "0:1u", "1:1", "1:1t", "1:1u", "1:2", "1:2v", "0:2", "0:2v"},
	} {
		require.Error(t, inOrder(heard, 2, 3), what)
	}
}

// TestRepliesStandAmongMessages checks a RESP3 client that asks while it is subscribed: a
// message published after a change comes before a reply that shows the change, and not
// before one that does not.
func TestRepliesStandAmongMessages(t *testing.T) {
	const rounds = 300
	e, _ := newEngine(t)
	l := newListener(t, e)
	l.Do(args("HELLO 3"))
	l.Do(args("SUBSCRIBE a"))
	var publishing sync.WaitGroup
	publishing.Go(func() {
		s := e.NewSession(engine.Peer{})
		defer s.Close()
		for range rounds {
			s.Do(args("INCR k")) // first the change, then the message about it
			s.Do(args("PUBLISH a m"))
		}
	})
	heard := 0
	for heard < rounds {
		reply := l.Do(args("GET k"))
		text := string(resp.Append(nil, &reply, resp.RESP3))
		before := strings.Count(text, "message")
		shown := 0
		if at := strings.LastIndex(text, "$"); !strings.HasSuffix(text, "_\r\n") {
			var err error
			shown, err = strconv.Atoi(strings.Split(text[at:], "\r\n")[1])
			require.NoError(t, err)
		}
		heard += before
		require.LessOrEqual(t, heard, shown, "a message was heard before a reply from before its change")
		heard += strings.Count(l.hear(t), "message")
	}
	publishing.Wait()
	require.Equal(t, rounds, heard)
}
