package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/zlimittest"
)

// startBoth starts a redis-server and a zlimit in this process. It skips the test without redis-server.
func startBoth(t *testing.T, startMs int64) (ref, ours server) {
	t.Helper()
	if err := oracle.Find(); err != nil {
		t.Skip("make test needs Go and nothing else, and there is no redis-server to compare with: ", err)
	}
	ref, end, err := startOracle("redis", startMs, false)
	require.NoError(t, err)
	t.Cleanup(end)
	addr := zlimittest.RunWith(t, zlimittest.Options{Directives: []string{
		"--enable-debug-command", "yes", "--lua-error-reply-prefix", "always",
	}}).Addr()
	clock := &debugClock{addr: addr}
	return ref, server{title: "ours", addr: addr, setClock: clock.set}
}

// replayText replays a recording and returns what was found.
func replayText(t *testing.T, ref, ours server, text string) (*replay, string) {
	t.Helper()
	events, startMs, err := readRecording(strings.NewReader(text))
	require.NoError(t, err)
	var out bytes.Buffer
	r := &replay{
		runner: &runner{ref: ref, ours: ours, timeout: replyTimeout}, out: &out, conns: map[int]*replayed{},
		allowed: map[string]int{},
	}
	require.NoError(t, r.run(events, startMs))
	r.explain()
	return r, out.String()
}

// TestRecordings: what programs have sent is answered here as by redis-server.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	ref, ours := startBoth(t, firstNowMs)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			r, out := replayText(t, ref, ours, string(text))
			require.Zero(t, r.different, out)
			require.Zero(t, r.missing)
			require.Greater(t, r.compared, 20)
		})
	}
}

const startText = recordingHead + " 1700000000000\n"

// dialogue has what is not one reply to one command: messages, commands that wait, transactions, deadlines, a
// protocol that changes, connections that end.
const dialogue = startText + `# a comment
0 1 > HELLO 3
0 1 < 1
0 2 > SUBSCRIBE news other
0 2 < 2
1 3 > BLPOP queue 0
0 1 > PUBLISH news "two\nlines"
0 1 < 1
1 2 < 1
0 2 > PING
0 2 < 1
2 1 > RPUSH queue a b
0 3 < 1
0 1 < 1
0 1 > MULTI
0 1 > SET key 1 PX 500
0 1 > PTTL key
0 1 > EXEC
0 1 < 4
0 1 > SADD set a b c d e f g h i j k l m
0 1 > EVAL "return redis.call('SMEMBERS', KEYS[1])" 1 set
0 1 > SRANDMEMBER set
0 1 < 3
0 1 > EVAL "return redis.call('TIME')" 0
0 1 < 1
500 1 > GET key
1 1 < 1
1 1 > GET key
0 1 < 1
0 3 > BLPOP nothing 0.1
300 3 < 1
0 3 x
0 5 > BRPOP later 2
1000 6 > BRPOP later 2
1500 1 > LPUSH later x
0 1 < 1
0 5 < 1
0 6 < 1
0 2 > UNSUBSCRIBE
0 2 < 2
0 4 > CLIENT SETINFO LIB-NAME x
0 4 > INFO
0 4 < 2
0 4 > CLIENT REPLY SKIP
0 4 > SET skipped 1
0 4 > GET skipped
0 4 < 1
0 4 > QUIT
0 4 < 1
0 4 x
`

func TestReplay(t *testing.T) {
	ref, ours := startBoth(t, firstNowMs)
	r, out := replayText(t, ref, ours, dialogue)
	require.Zero(t, r.different, out)
	require.Zero(t, r.missing, out)
	require.Equal(t, 28, r.compared, out)
	require.Contains(t, out, "CLIENT SETINFO (added in Redis 7.2")
	require.Contains(t, out, "1 of INFO (version")
	require.Contains(t, out, "HELLO (version and connection id)")
}

// TestReplayNotices plants a difference of each kind between a redis-server and itself.
func TestReplayNotices(t *testing.T) {
	ref, other := startPair(t)
	change := func(of, from, to string) fault {
		return fault{change: func(args []string, reply string) (string, bool) {
			if args[0] != of {
				return reply, false
			}
			return strings.Replace(reply, from, to, 1), to == "gone"
		}}
	}
	const text = startText + `0 1 > SET key value
0 1 < 1
0 1 > INCR n
0 1 > GET key
0 1 < 2
0 1 > MULTI
0 1 > GET n
0 1 > EXEC
0 1 < 3
0 1 > EVAL "return {1,2,{3}}" 0
0 1 < 1
`
	r, out := replayText(t, ref, other, text)
	require.Zero(t, r.different, out)
	for name, tc := range map[string]struct {
		fault fault
		want  string
	}{
		"a value":          {change("GET", "value", "other"), `GET key: different bytes`},
		"a type":           {change("INCR", ":1", "+1"), "INCR n: different bytes"},
		"an error":         {change("SET", "+OK", "-ERR no"), "SET key value: different bytes"},
		"in a transaction": {change("EXEC", "$1\r\n1", "$1\r\n2"), "EXEC: reply 1, to GET: different bytes"},
		"of a script":      {change("EVAL", ":3", ":4"), "different bytes"},
		"no reply":         {change("GET", "", "gone"), "GET key: no reply"},
		"a message more":   {change("GET", "$5", ">1\r\n+x\r\n$5"), "GET key: different bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			faulty := other
			faulty.addr = faultyProxy(t, other.addr, tc.fault)
			r, out := replayText(t, ref, faulty, text)
			require.NotZero(t, r.different)
			require.Contains(t, out, tc.want)
		})
	}
	r, _ = replayText(t, ref, other, text+"0 1 < 1\n")
	require.Equal(t, 1, r.missing, "a reply that neither server sends")
}

// TestSameButOrder: only what scripts return may be in another order.
func TestSameButOrder(t *testing.T) {
	script := step{args: []string{"EVALSHA", "x", "0"}}
	a, b := reply{raw: []byte("*2\r\n*1\r\n:1\r\n:2\r\n")}, reply{raw: []byte("*2\r\n:2\r\n*1\r\n:1\r\n")}
	require.True(t, sameButOrder(script, a, b))
	require.False(t, sameButOrder(script, a, reply{raw: []byte("*2\r\n:2\r\n*1\r\n:2\r\n")}))
	require.False(t, sameButOrder(step{args: []string{"LRANGE", "k", "0", "-1"}}, a, b))
}

func TestReadRecordingRefuses(t *testing.T) {
	for _, text := range []string{
		"", "recording 2 1\n", recordingHead + " x\n0 1 x\n", startText, startText + "0 1\n",
		startText + "0 1 >\n", startText + "x 1 x\n", startText + "-1 1 x\n", startText + "0 y x\n",
		startText + "0 1 x y\n", startText + "0 1 < z\n", startText + `0 1 > "a` + "\n",
		startText + "0 1 ? 1\n",
	} {
		_, _, err := readRecording(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

// TestRecorder: a recording is read back, has no passwords, and is not longer than its bound.
func TestRecorder(t *testing.T) {
	var text bytes.Buffer
	rec := newRecorder(&text, 1<<10, 1_700_000_000_000)
	rec.add(recorded{conn: 1, args: []string{"HELLO", "3", "AUTH", "me", "secret"}})
	rec.add(recorded{conn: 1, args: []string{"auth", "secret"}})
	rec.add(recorded{conn: 2, args: []string{"SET", "two words", "\x00\xff\r\n\"", ""}})
	rec.add(recorded{conn: 1, replies: 1})
	rec.add(recorded{conn: 1, ends: true})
	rec.add(recorded{conn: 2, replies: 1})
	require.NoError(t, rec.close())
	require.NotContains(t, text.String(), "secret")
	events, _, err := readRecording(&text)
	require.NoError(t, err)
	require.Len(t, events, 6)
	require.Equal(t, []string{"HELLO", "3"}, events[0].args)
	require.Equal(t, []string{"PING"}, events[1].args)
	require.Equal(t, []string{"SET", "two words", "\x00\xff\r\n\"", ""}, events[2].args)
	require.Equal(t, 1, events[3].replies)
	require.True(t, events[4].ends)

	text.Reset()
	rec = newRecorder(&text, 100, 1)
	for range 100 {
		rec.add(recorded{conn: 1, args: []string{"GET", "a"}})
	}
	require.NoError(t, rec.close())
	require.True(t, rec.full)
	require.LessOrEqual(t, text.Len(), 100)
}

// TestProxy: two programs at once see what they would see without the proxy.
func TestProxy(t *testing.T) {
	srv := zlimittest.RunT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var text bytes.Buffer
	p := &proxy{behind: srv.Addr(), listener: listener, recorder: newRecorder(&text, 1<<20, 1)}
	var serving sync.WaitGroup
	serving.Go(p.serve)
	waiter, other := open(t, listener), open(t, listener)
	waiter.say("BLPOP queue 0\r\n", "")
	other.say("*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nPING\r\n\"RPUSH\" queue x\r\n",
		"$3\r\na\r\n\r\n+PONG\r\n:1\r\n")
	waiter.say("", "*2\r\n$5\r\nqueue\r\n$1\r\nx\r\n")
	other.say("*1\r\n:1\r\n", "") // not a command: the connection ends
	_, err = other.in.ReadByte()
	require.Error(t, err)
	p.close()
	serving.Wait()
	require.NoError(t, p.recorder.close())
	events, _, err := readRecording(&text)
	require.NoError(t, err)
	var commands []string
	replies := map[int]int{}
	for _, e := range events {
		replies[e.conn] += e.replies
		if e.args != nil {
			commands = append(commands, fmt.Sprint(e.conn, e.args))
		}
	}
	require.ElementsMatch(t, []string{"1 [BLPOP queue 0]", "2 [ECHO a\r\n]", "2 [PING]", "2 [RPUSH queue x]"},
		commands)
	require.Equal(t, map[int]int{1: 1, 2: 3}, replies)
}

// A talker is a client of TestProxy.
type talker struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func open(t *testing.T, to net.Listener) *talker {
	conn, err := net.Dial("tcp", to.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &talker{t, conn, bufio.NewReader(conn)}
}

// say sends a text and requires an answer.
func (k *talker) say(text, want string) {
	_, err := k.conn.Write([]byte(text))
	require.NoError(k.t, err)
	got := make([]byte, len(want))
	_, err = io.ReadFull(k.in, got)
	require.NoError(k.t, err)
	require.Equal(k.t, want, string(got))
}

// TestSubscribed: a replay goes on when both servers have the subscriptions of a connection.
func TestSubscribed(t *testing.T) {
	var c replayed
	line := func(sub, psub, ssub int) string {
		return fmt.Sprintf("id=3 db=0 sub=%d psub=%d ssub=%d multi=-1\n", sub, psub, ssub)
	}
	for _, step := range []struct {
		command         string
		sub, psub, ssub int
	}{
		{"SUBSCRIBE a b a", 2, 0, 0},
		{"PSUBSCRIBE a*", 2, 1, 0},
		{"SSUBSCRIBE s t", 2, 1, 2},
		{"UNSUBSCRIBE b none", 1, 1, 2},
		{"SUNSUBSCRIBE", 1, 1, 0},
		{"PUNSUBSCRIBE a*", 1, 0, 0},
		{"UNSUBSCRIBE", 0, 0, 0},
	} {
		words := strings.Fields(step.command)
		c.subscribe(words[0], words[1:])
		require.True(t, c.knows(line(step.sub, step.psub, step.ssub)), step.command)
		require.False(t, c.knows(line(step.sub+1, step.psub, step.ssub)), step.command)
		require.False(t, c.knows(line(step.sub, step.psub, step.ssub+1)), step.command)
	}
	require.True(t, c.knows(""), "it is gone")
}
