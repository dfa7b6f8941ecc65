package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/scenario"
)

// Long replies come in their order among short ones, messages, and those of the gateway itself.
func TestGatewayLongReplies(t *testing.T) {
	t.Parallel()
	up := start(t, "--bind", "127.0.0.1")
	w := connect(t, startGateway(t, up))
	bulk := func(s string) string { return fmt.Sprintf("$%d\r\n%s", len(s), s) }
	sizes := []int{0, 1, 23, 24, 4080, 4090, 4096, 4097, 65_536, 300_000}
	var input, want []string
	array := fmt.Sprintf("*%d", len(sizes))
	mget := "MGET"
	for _, n := range sizes {
		text := strings.Repeat(fmt.Sprint(n%10), n)
		key := fmt.Sprint("k", n)
		require.Equal(t, "+OK", w.call(t, "SET", key, text))
		input = append(input, "GET "+key, "PING", "INCR n")
		want = append(want, bulk(text), "+PONG", fmt.Sprint(":", len(want)/3+1))
		array += "\r\n" + bulk(text)
		mget += " " + key
	}
	input = append(input, mget, "NOSUCH", mget, "CLIENT REPLY SKIP", mget, "MULTI", mget, "EXEC", "ECHO end")
	want = append(want, array, "-ERR unknown command 'NOSUCH', with args beginning with: ", array,
		"+OK", "+QUEUED", "*1\r\n"+array, bulk("end"))
	require.NoError(t, w.sendRaw([]byte(strings.Join(input, "\r\n")+"\r\n")))
	for i, reply := range want {
		got := w.reply(t)
		require.True(t, reply == got, "%d: %.60q is not %.60q", i, got, reply)
	}
	other := []string{
		"WATCH w", "MULTI", mget, "RL.ALLOW w 1 1m", "SELECT 3", "EXEC", "SET there 1", "SELECT 0",
	}
	require.NoError(t, w.sendRaw([]byte(strings.Join(other, "\r\n")+"\r\n")))
	for range other {
		w.reply(t)
	}
	require.Equal(t, ":0", w.call(t, "EXISTS", "there"), "EXEC has selected database 3")
	mixed := []string{"MULTI", mget, "RL.ALLOW r 1 1m", mget, "EXEC"}
	require.NoError(t, w.sendRaw([]byte(strings.Join(mixed, "\r\n")+"\r\n")))
	for _, reply := range []string{"+OK", "+QUEUED", "+QUEUED", "+QUEUED", "*3\r\n" + array +
		"\r\n*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:60000\r\n" + array} {
		got := w.reply(t)
		require.True(t, reply == got, "%.60q is not %.60q", got, reply)
	}
	long := strings.Repeat("e", 10_000)
	reply := w.call(t, "EVAL", "return redis.error_reply(ARGV[1])", "0", long)
	require.Contains(t, reply, long, "errors are whole")
	sha := strings.TrimPrefix(connect(t, up).call(t, "SCRIPT", "LOAD", "return 1"), "$40\r\n")
	exists := append([]string{"SCRIPT", "EXISTS"}, slices.Repeat([]string{sha}, 2000)...)
	require.Equal(t, "*2000"+strings.Repeat("\r\n:1", 2000), w.call(t, exists...))
}

// answers starts a server that answers each command with reply, if GET or EXEC, or a short text.
func answers(t *testing.T, reply []byte) (addr string, counted func(command string) int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	calls := map[string]int{}
	serve := func(nc net.Conn) {
		defer nc.Close()
		r, queued := bufio.NewReader(nc), -1
		for {
			command, err := scenario.ReadReply(r, nil)
			if err != nil {
				return
			}
			name := string(bytes.ToUpper(bytes.Split(command, []byte("\r\n"))[2]))
			mu.Lock()
			calls[name]++
			mu.Unlock()
			switch {
			case name == "HELLO":
				_, err = io.WriteString(nc, "%0\r\n")
			case name == "CLUSTER":
				_, err = io.WriteString(nc, "-ERR This instance has cluster support disabled\r\n")
			case name == "EXEC":
				_, err = fmt.Fprintf(nc, "*%d\r\n", queued)
				for ; queued > 0 && err == nil; queued-- {
					_, err = nc.Write(reply)
				}
				queued = -1
			case name == "MULTI":
				queued = 0
				_, err = io.WriteString(nc, "+OK\r\n")
			case queued >= 0:
				queued++
				_, err = io.WriteString(nc, "+QUEUED\r\n")
			case name == "GET":
				_, err = nc.Write(reply)
			default:
				_, err = io.WriteString(nc, "+OK\r\n")
			}
			if err != nil {
				return
			}
		}
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for nc, err := l.Accept(); err == nil; nc, err = l.Accept() {
			serving.Go(func() { serve(nc) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String(), func(command string) int {
		mu.Lock()
		defer mu.Unlock()
		return calls[command]
	}
}

// TestGatewayReplyMemory asks for hundreds of replies of a megabyte: with a limit of 16 MB these take 64 MB
// at most, and without one 1.5 times what is sent. What the collector has freed is counted, too.
func TestGatewayReplyMemory(t *testing.T) {
	const size = 1 << 20
	addr, counted := answers(t, fmt.Appendf(nil, "$%d\r\n%s\r\n", size, strings.Repeat("v", size)))
	allocated := func(do func()) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc-before.TotalAlloc) >> 20
	}
	url := "redis+single://" + addr
	limited, _, logged := serveWith(t, config.New(),
		gatewayArgs(url, "--client-output-buffer-limit", "normal 16mb 0 0")...)
	for name, input := range map[string]string{
		"pipeline":    strings.Repeat("GET k\r\n", 300) + "INCR n\r\n", // which arrive together
		"transaction": "MULTI\r\n" + strings.Repeat("GET k\r\n", 300) + "EXEC\r\nINCR n\r\n",
	} {
		c, ran := connect(t, limited), counted("INCR")
		took := allocated(func() {
			require.NoError(t, c.sendRaw([]byte(input)))
			require.Less(t, c.awaitClose(t), int64(16*size))
		})
		require.Less(t, took, 64, name)
		require.Equal(t, ran+1, counted("INCR"), name)
	}
	noted := func() bool { return strings.Contains(logged(), "closed by client-output-buffer-limit") }
	eventually(t, noted, func() {})

	unlimited := startGatewayTo(t, url)
	for name, input := range map[string]string{
		"pipeline":    strings.Repeat("GET k\r\n", 100),
		"transaction": "MULTI\r\n" + strings.Repeat("GET k\r\n", 100) + "EXEC\r\n",
	} {
		c := connect(t, unlimited)
		took := allocated(func() {
			require.NoError(t, c.sendRaw([]byte(input+"QUIT\r\n")))
			require.Greater(t, c.awaitClose(t), int64(100*size))
		})
		require.Less(t, took, 150, name)
	}
}
