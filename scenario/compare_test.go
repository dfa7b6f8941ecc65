package scenario

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A comparison finds every wrong byte.

const selfCases = `== first
SET k v
MGET k nosuch
@unordered (order) KEYS *
@masked (random) RANDOMKEY
@mask /\d+/ (id) CLIENT ID
@raw 2 "PING\r\nPING\r\n"
QUIT
@closed
`

var selfReplies = []string{
	"+OK\r\n", "*2\r\n$1\r\nv\r\n$-1\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", "$1\r\nk\r\n", ":17\r\n",
	"+PONG\r\n+PONG\r\n", "+OK\r\n",
}

// A scripted client answers the n-th command with the n-th reply.
type scripted struct {
	replies []string
	r       *bufio.Reader
}

func script(replies []string) *scripted {
	return &scripted{replies, bufio.NewReader(strings.NewReader(""))}
}

func (c *scripted) Send(args [][]byte) error { return c.SendRaw(bytes.Join(args, []byte(" "))) }

func (c *scripted) SendRaw([]byte) error {
	if len(c.replies) == 0 {
		return io.ErrClosedPipe
	}
	c.r.Reset(strings.NewReader(c.replies[0]))
	c.replies = c.replies[1:]
	return nil
}

func (c *scripted) Reply() ([]byte, error) { return ReadReply(c.r, nil) }
func (c *scripted) Rest() ([]byte, error)  { return io.ReadAll(c.r) }
func (c *scripted) Close() error           { return nil }

func (c *scripted) Unread() []byte {
	rest, _ := c.r.Peek(c.r.Buffered()) // they are buffered
	return rest
}

// run runs a text's first section against replies.
func run(t *testing.T, text string, replies []string) Section {
	t.Helper()
	f, err := Read(text)
	require.NoError(t, err)
	c := script(replies)
	r := Runner{
		Protocol: 2,
		Dial:     func(string) (Client, error) { return c, nil },
		SetClock: func(int64) error { return nil },
	}
	return r.Run(f.Sections[0])
}

func runSelf(t *testing.T, replies []string) Section {
	t.Helper()
	return run(t, selfCases, replies)
}

// recordSelf is runSelf with the replies as the recorded ones.
func recordSelf(t *testing.T) Section {
	s := runSelf(t, selfReplies)
	for i := range s.Steps {
		s.Steps[i].Recorded = s.Steps[i].Got
	}
	return s
}

func TestDetectsChangedByte(t *testing.T) {
	recorded := recordSelf(t)
	require.Empty(t, Differences(recorded, runSelf(t, selfReplies)))

	compared := map[int]bool{0: true, 1: true, 5: true, 6: true} // those compared exactly
	for n := range selfReplies {
		for i := range selfReplies[n] {
			changed := append([]string(nil), selfReplies...)
			b := []byte(changed[n])
			b[i] ^= 1
			changed[n] = string(b)
			if isIncomplete(b, strings.Count(selfReplies[n], "PONG")) {
				continue // it would wait; see the test of missing replies
			}
			got := Differences(recorded, runSelf(t, changed))
			if compared[n] {
				require.NotEmpty(t, got, "reply %d, byte %d: %q", n, i, b)
				require.Contains(t, got[0], recorded.Steps[n].Line)
			}
		}
	}
}

// isIncomplete reports whether reading count replies (at least one) from b needs
// more bytes.
func isIncomplete(b []byte, count int) bool {
	r := bufio.NewReader(bytes.NewReader(b))
	for range max(count, 1) {
		if _, err := ReadReply(r, nil); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return true
		}
	}
	return false
}

func TestDetectsChangedRecording(t *testing.T) {
	got := runSelf(t, selfReplies)
	for n := range got.Steps {
		for i := range got.Steps[n].Got {
			recorded := recordSelf(t)
			recorded.Steps[n].Recorded[i] ^= 1
			require.NotEmpty(t, Differences(recorded, got), "step %d, byte %d", n, i)
		}
	}
}

func TestDetectsMissingAndExtra(t *testing.T) {
	recorded := recordSelf(t)
	for _, changed := range [][]string{
		{"+OK\r\n"},
		{"+OK\r\n", "*2\r\n$1\r\nv\r\n"},
		{"+OK\r\n", "*3\r\n$1\r\nv\r\n$-1\r\n"},
		{"+OK\r\n+OK\r\n", selfReplies[1]},
		{
			selfReplies[0], selfReplies[1], selfReplies[2], selfReplies[3], selfReplies[4], selfReplies[5],
			"+OK\r\n+OK\r\n",
		},
		{selfReplies[0], selfReplies[1], "*2\r\n$1\r\nb\r\n$1\r\nb\r\n"},
		{selfReplies[0], selfReplies[1], "~2\r\n$1\r\nb\r\n$1\r\na\r\n"},
		{selfReplies[0], selfReplies[1], selfReplies[2], "$-1\r\n"},
		{selfReplies[0], selfReplies[1], selfReplies[2], ":1\r\n"},
		{selfReplies[0], selfReplies[1], selfReplies[2], selfReplies[3], "$2\r\n17\r\n"},
	} {
		require.NotEmpty(t, Differences(recorded, runSelf(t, changed)), "%q", changed)
	}
	for _, same := range [][]string{
		{
			selfReplies[0], selfReplies[1], "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "$3\r\nxyz\r\n", ":4\r\n",
			selfReplies[5], selfReplies[6],
		},
	} {
		require.Empty(t, Differences(recorded, runSelf(t, same)), "%q", same)
	}
}

func TestRepliesSurvivePrinting(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, reply := range []string{
		"", "+OK\r\n", "$0\r\n\r\n", "$2\r\na \r\n", "$4\r\n\r\n\r\n\r\n", "$1\r\n\\\r\n", "cut", "cut\\",
		fmt.Sprintf("$256\r\n%s\r\n", all), "\r\n", "\r", "\n",
	} {
		f, err := Read("== s\nPING\n" + Print([]byte(reply)))
		require.NoError(t, err, "%q", reply)
		require.Equal(t, reply, string(f.Sections[0].Steps[0].Recorded))
	}
}

func TestDifferencesAreShort(t *testing.T) {
	a, b := shorten("1\n2\n3\n4\n5\n6\nx\n7\n8\n9\n10\n11\n12\n",
		"1\n2\n3\n4\n5\n6\ny\nz\n7\n8\n9\n10\n11\n12\n")
	require.Equal(t, "(2 lines)\n3\n4\n5\n6\nx\n7\n8\n9\n10\n(2 lines)\n", a)
	require.Equal(t, "(2 lines)\n3\n4\n5\n6\ny\nz\n7\n8\n9\n10\n(2 lines)\n", b)
	a, b = shorten("", "1\n")
	require.Equal(t, []string{"", "1\n"}, []string{a, b})
	a, b = shorten("1\n", "1\n1\n")
	require.Equal(t, []string{"1\n", "1\n1\n"}, []string{a, b})
}

func TestWordsQuotesAsRedisCli(t *testing.T) {
	for line, want := range map[string][]string{
		`SET k v`:              {"SET", "k", "v"},
		`SET  k   "" `:         {"SET", "k", ""},
		`ECHO "a b\x00\r\n\t"`: {"ECHO", "a b\x00\r\n\t"},
		`ECHO "\"\\\q"`:        {"ECHO", `"\q`},
		`ECHO 'a"b\n'`:         {"ECHO", `a"b\n`},
		`ECHO 'it\'s'`:         {"ECHO", "it's"},
		`KEYS a\*b`:            {"KEYS", `a\*b`},
	} {
		args, err := Words(line)
		require.NoError(t, err, line)
		var got []string
		for _, arg := range args {
			got = append(got, string(arg))
		}
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{`ECHO "a`, `ECHO 'a`, `ECHO "a"b`, ``, ` `} {
		_, err := Words(line)
		require.Error(t, err, line)
	}
}

func TestErrorsHaveALine(t *testing.T) {
	for _, text := range []string{
		"PING", "|+OK", "== a\n|+OK", "== a\n== a", "== a\n@nosuch", "== a\n@masked PING",
		"== a\n@mask (no pattern) PING",
		"== a\n@mask /(/ (bad) PING", "== a\n@clock x", "== a\n@raw PING", "== a\n@raw 1 a b",
		"== a\nPING\n|\\q", "== a\n= x", "== a\nPING\n= x\n= y", "== a\nPING\n~ (", "== a\n@end", " x",
		"== a\n@repeat x\nPING\n@end", "== a\n@repeat 2\nPING", "== a\n@insert b", "== a\nPING\n@for a in b",
		"== a\n@for a,b in c\nPING", "== a\n@for a\nPING", "== $a\n@for a in b b\nPING", "== a\n@save",
		"== a\n@conn", "== a\nPING\n@save x\n= y", "== a\n@at 5\n~ x",
		"== a\n@save x", "== a\n@at 5\n@save x",
		"== a\n@noreply PING\n= PONG", "== a\n@close\n|+OK", "== a\n@reply x",
		"== a\n@blocked", "== a\n@at x", "== a\nb: @advance", "== a\nGET \"",
		"== a\nMASTER: GET k", "== a\nmasterB: @close",
	} {
		_, err := Read(text)
		require.ErrorContains(t, err, "line ", "%q", text)
	}
}

// TestShow: different replies have different formats.
func TestShow(t *testing.T) {
	for reply, want := range map[string]string{
		":5\r\n": "5", "+OK\r\n": "OK", "-ERR x\r\n": "ERR x", "_\r\n": "(nil)", "$-1\r\n": "(nil)",
		"*-1\r\n":         "(nil)",
		"$3\r\na\r\n\r\n": "a\r\n", ",1.5\r\n": "1.5", "*0\r\n": "[]",
		"*2\r\n:1\r\n*1\r\n_\r\n": "[1 [(nil)]]",
		"%1\r\n+a\r\n:1\r\n":      "[a 1]", "~1\r\n:1\r\n": "[1]",
	} {
		got, err := Show([]byte(reply))
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", reply)
	}
}
