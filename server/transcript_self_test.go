package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests of the transcript machinery: it detects every wrong byte, and the cases
// cover every command.

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

// startScripted answers the n-th write on its one connection with the n-th reply,
// and closes it after the last.
func startScripted(t *testing.T, replies []string) func() net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		defer func() { _ = listener.Close() }()
		server, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		command := make([]byte, 1024)
		for _, reply := range replies {
			if _, err := server.Read(command); err != nil {
				return
			}
			if _, err := io.WriteString(server, reply); err != nil {
				return
			}
		}
	}()
	return func() net.Conn {
		c, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		return c
	}
}

func runSelf(t *testing.T, replies []string) section {
	t.Helper()
	tr, err := readTranscript(selfCases)
	require.NoError(t, err)
	return runSection(tr.sections[0], 2, startScripted(t, replies), nil)
}

func TestTranscriptsDetectChangedByte(t *testing.T) {
	recorded := runSelf(t, selfReplies)
	require.Empty(t, differences(recorded, runSelf(t, selfReplies)))

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
			got := differences(recorded, runSelf(t, changed))
			if compared[n] {
				require.NotEmpty(t, got, "reply %d, byte %d: %q", n, i, b)
				require.Contains(t, got[0], recorded.steps[n].line)
			}
		}
	}
}

// isIncomplete reports whether reading count replies (at least one) from b needs
// more bytes.
func isIncomplete(b []byte, count int) bool {
	r := bufio.NewReader(bytes.NewReader(b))
	for range max(count, 1) {
		if _, err := readFullReply(r, nil); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return true
		}
	}
	return false
}

func TestTranscriptsDetectChangedRecording(t *testing.T) {
	got := runSelf(t, selfReplies)
	for n := range got.steps {
		for i := range got.steps[n].reply {
			recorded := runSelf(t, selfReplies)
			recorded.steps[n].reply[i] ^= 1
			require.NotEmpty(t, differences(recorded, got), "step %d, byte %d", n, i)
		}
	}
}

func TestTranscriptsDetectMissingAndExtra(t *testing.T) {
	recorded := runSelf(t, selfReplies)
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
		require.NotEmpty(t, differences(recorded, runSelf(t, changed)), "%q", changed)
	}
	for _, same := range [][]string{
		{
			selfReplies[0], selfReplies[1], "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "$3\r\nxyz\r\n", ":4\r\n",
			selfReplies[5], selfReplies[6],
		},
	} {
		require.Empty(t, differences(recorded, runSelf(t, same)), "%q", same)
	}
}

func TestTranscriptRepliesSurvivePrinting(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, reply := range []string{
		"", "+OK\r\n", "$0\r\n\r\n", "$2\r\na \r\n", "$4\r\n\r\n\r\n\r\n", "$1\r\n\\\r\n", "cut", "cut\\",
		fmt.Sprintf("$256\r\n%s\r\n", all), "\r\n", "\r", "\n",
	} {
		tr, err := readTranscript("== s\nPING\n" + printReply([]byte(reply)))
		require.NoError(t, err, "%q", reply)
		require.Equal(t, reply, string(tr.sections[0].steps[0].reply))
	}
}

func TestTranscriptDifferencesAreShort(t *testing.T) {
	a, b := shorten("1\n2\n3\n4\n5\n6\nx\n7\n8\n9\n10\n11\n12\n",
		"1\n2\n3\n4\n5\n6\ny\nz\n7\n8\n9\n10\n11\n12\n")
	require.Equal(t, "(2 lines)\n3\n4\n5\n6\nx\n7\n8\n9\n10\n(2 lines)\n", a)
	require.Equal(t, "(2 lines)\n3\n4\n5\n6\ny\nz\n7\n8\n9\n10\n(2 lines)\n", b)
	a, b = shorten("", "1\n")
	require.Equal(t, []string{"", "1\n"}, []string{a, b})
	a, b = shorten("1\n", "1\n1\n")
	require.Equal(t, []string{"1\n", "1\n1\n"}, []string{a, b})
}

func TestSplitArgsQuotesAsRedisCli(t *testing.T) {
	for line, want := range map[string][]string{
		`SET k v`:              {"SET", "k", "v"},
		`SET  k   "" `:         {"SET", "k", ""},
		`ECHO "a b\x00\r\n\t"`: {"ECHO", "a b\x00\r\n\t"},
		`ECHO "\"\\\q"`:        {"ECHO", `"\q`},
		`ECHO 'a"b\n'`:         {"ECHO", `a"b\n`},
		`ECHO 'it\'s'`:         {"ECHO", "it's"},
		`KEYS a\*b`:            {"KEYS", `a\*b`},
	} {
		args, err := splitArgs(line)
		require.NoError(t, err, line)
		var got []string
		for _, arg := range args {
			got = append(got, string(arg))
		}
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{`ECHO "a`, `ECHO 'a`, `ECHO "a"b`, ``, ` `} {
		_, err := splitArgs(line)
		require.Error(t, err, line)
	}
}

func TestTranscriptErrorsHaveALine(t *testing.T) {
	for _, text := range []string{
		"PING", "|+OK", "== a\n|+OK", "== a\n== a", "== a\n@nosuch", "== a\n@masked PING",
		"== a\n@mask (no pattern) PING",
		"== a\n@mask /(/ (bad) PING", "== a\n@clock x", "== a\n@raw PING", "== a\n@raw 1 a b",
		"== a\nPING\n|\\q",
	} {
		_, err := readTranscript(text)
		require.ErrorContains(t, err, "line ", "%q", text)
	}
}

// transcriptCommands must have cases, among them one with a wrong arity. CLIENT
// SETINFO and NO-TOUCH are newer than Redis 7.0.
var transcriptCommands = strings.Fields(`
	zadd zrem zcard zcount zscore zmscore zincrby zrank zrevrank zrange zrangebyscore
	zrevrange zrevrangebyscore zremrangebyscore zremrangebyrank zpopmin zpopmax zrandmember zscan
	del unlink exists type expire pexpire expireat pexpireat ttl pttl expiretime pexpiretime
	persist rename renamenx keys scan randomkey touch object|encoding
	get set setex psetex setnx getset getdel getex mget mset msetnx incr decr incrby decrby
	incrbyfloat append strlen getrange setrange
	multi exec discard watch unwatch
	eval evalsha eval_ro evalsha_ro script|load script|exists
	ping echo reset select auth client|id client|setname client|getname client|info client|kill
	client|no-evict client|reply command|count command|getkeys config|get config|set config|resetstat
	time dbsize swapdb cluster|keyslot`)

// transcriptAnyArity are commands that accept any number of arguments, or check it
// themselves.
var transcriptAnyArity = strings.Fields(`
	quit hello client|list command|info command|docs command|list script|flush flushdb flushall shutdown`)

func TestTranscriptsCoverEveryCommand(t *testing.T) {
	named, refused := map[string]bool{}, map[string]bool{}
	wrongArity := regexp.MustCompile(`wrong number of arguments for '([^']+)' command`)
	files, err := filepath.Glob(filepath.Join(transcriptDir, "*.resp2"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range wrongArity.FindAllStringSubmatch(string(text), -1) {
			refused[m[1]] = true
		}
		for _, sec := range parseTranscript(t, file).sections {
			for _, s := range sec.steps {
				if len(s.args) > 0 {
					named[strings.ToLower(string(s.args[0]))] = true
				}
				if len(s.args) > 1 {
					named[strings.ToLower(string(s.args[0])+"|"+string(s.args[1]))] = true
				}
			}
		}
	}
	for _, name := range transcriptCommands {
		require.True(t, named[name], "no case of %s", name)
		require.True(t, refused[name], "no case of %s with a wrong number of arguments", name)
	}
	for _, name := range transcriptAnyArity {
		require.True(t, named[name], "no case of %s", name)
	}
}
