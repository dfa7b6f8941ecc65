package ratelimit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

const startNowMs = 1_700_000_000_000

// An upstream is a server with a clock that the test sets.
type upstream struct {
	t     *testing.T
	r     *bufio.Reader
	w     *bufio.Writer
	set   func(nowMs int64) error
	nowMs int64
	redis bool // it is redis-server
	// scripts says that functions are called as scripts, and old that there is no PEXPIRETIME.
	scripts, old bool
}

func startZlimit(t *testing.T) *upstream {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs([]string{"--bind", "127.0.0.1"}, nil))
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-served)
	})
	srv.Engine().Clock().Freeze()
	conn, err := net.Dial("tcp", srv.Addr().String())
	require.NoError(t, err)
	return newUpstream(t, conn, srv.Engine().Clock().Set)
}

// startRedis starts redis-server, or skips the test.
func startRedis(t *testing.T) *upstream {
	t.Helper()
	if err := oracle.Find(); err != nil {
		t.Skip(err)
	}
	return startRelease(t, "")
}

// startRelease starts the server of another release.
func startRelease(t *testing.T, program string) *upstream {
	t.Helper()
	r, err := oracle.Start(oracle.Options{NowMs: startNowMs, Program: program})
	if r != nil {
		t.Cleanup(func() { require.NoError(t, r.Close()) })
	}
	for range 20 { // Valkey 9 goes on by a clock of its own
		if err == nil {
			err = r.SetClock(startNowMs)
		}
	}
	if program != "" && errors.Is(err, oracle.ErrClock) {
		t.Skip(err)
	}
	require.NoError(t, err)
	conn, err := r.Dial()
	require.NoError(t, err)
	u := newUpstream(t, conn, r.SetClock)
	u.redis = true
	return u
}

func newUpstream(t *testing.T, conn net.Conn, set func(nowMs int64) error) *upstream {
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	u := &upstream{t: t, r: bufio.NewReader(conn), w: bufio.NewWriter(conn)}
	u.set = func(nowMs int64) error {
		u.nowMs = nowMs
		return set(nowMs)
	}
	require.NoError(t, u.set(startNowMs))
	return u
}

// send sends a command with the next reply that is asked for.
func (u *upstream) send(words ...[]byte) {
	u.head('*', len(words))
	for _, w := range words {
		u.head('$', len(w))
		_, _ = u.w.Write(w) // an error is that of Flush
		_, _ = u.w.WriteString("\r\n")
	}
}

func (u *upstream) head(kind byte, n int) {
	b := strconv.AppendInt(append(u.w.AvailableBuffer(), kind), int64(n), 10)
	_, _ = u.w.Write(append(b, "\r\n"...))
}

// must fails the test because of an error. A comparison calls it some million times, and require.NoError
// looks up its callers even without one.
func (u *upstream) must(err error) {
	if err != nil {
		require.NoError(u.t, err)
	}
}

// reply reads one reply as it came.
func (u *upstream) reply() (raw []byte) {
	u.must(u.w.Flush())
	line, err := u.r.ReadBytes('\n')
	u.must(err)
	raw = line
	if !strings.ContainsRune("$*%~", rune(line[0])) {
		return raw
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	u.must(err)
	switch {
	case n < 0:
		return raw
	case line[0] == '$':
		body := make([]byte, n+2)
		_, err := io.ReadFull(u.r, body)
		u.must(err)
		return append(raw, body...)
	case line[0] == '%':
		n *= 2
	}
	for range n {
		raw = append(raw, u.reply()...)
	}
	return raw
}

// sendLine sends one command line.
func (u *upstream) sendLine(line string) {
	words, err := oracle.Words(line)
	u.must(err)
	u.send(words...)
}

// do sends one command line and returns its reply as it came.
func (u *upstream) do(line string) string {
	u.sendLine(line)
	return string(u.reply())
}

// load loads a library, which replaces one of its name.
func (u *upstream) load(library string) {
	u.send([]byte("FUNCTION"), []byte("LOAD"), []byte("REPLACE"), []byte(library))
	require.Equal(u.t, "$", string(u.reply()[:1]))
}

// loadScript makes the upstream decide by scripts.
func (u *upstream) loadScript(source string) {
	u.scripts = true
	u.send([]byte("SCRIPT"), []byte("LOAD"), []byte(source))
	require.Equal(u.t, "$", string(u.reply()[:1]))
}

// words returns what is sent for a call.
func (u *upstream) words(call interface {
	AppendFCall([][]byte) [][]byte
	AppendEval([][]byte) [][]byte
},
) [][]byte {
	if u.scripts {
		return call.AppendEval(nil)
	}
	return call.AppendFCall(nil)
}

var rows = func() map[string]*commands.Command {
	rows := make(map[string]*commands.Command)
	for _, row := range slices.Concat(rl.Commands, commands.Strings) {
		rows[row.Name] = &row
	}
	return rows
}()

func contextOf(words [][]byte) *commands.Ctx {
	return &commands.Ctx{
		Args: words, Cmd: rows[strings.ToLower(string(words[0]))], Proto: resp.RESP2,
		Scope: commands.Scope{Settings: &commands.Settings{RLLogMaxUnits: limiter.DefaultMaxEntries}},
	}
}

// parse returns the call of a command line, or its refusal as a reply.
func parse(t *testing.T, line string) (call *ratelimit.Call, c *commands.Ctx, refusal string) {
	words, err := oracle.Words(line)
	require.NoError(t, err)
	c = contextOf(words)
	call, reply := ratelimit.Parse(c)
	if reply.IsError() {
		return nil, nil, encode(reply)
	}
	return call, c, ""
}

func encode(v resp.Value) string { return string(resp.Append(nil, &v, resp.RESP2)) }

// call runs a rate limit command through its function.
func (u *upstream) call(line string) string {
	call, c, refusal := parse(u.t, line)
	if refusal != "" {
		return refusal
	}
	u.send(u.words(call)...)
	reply := u.reply()
	if nowMs, outside := call.Outside(reply); outside { // as of every calendar: c has no clock
		call.MoveTo(nowMs)
		u.send(u.words(call)...)
		reply = u.reply()
	}
	return encode(call.Reply(c, reply))
}

// callAll runs calls that combine through one call of a function.
func (u *upstream) callAll(lines []string) (replies []string) {
	var calls []*ratelimit.Call
	var contexts []*commands.Ctx
	for _, line := range lines {
		call, c, refusal := parse(u.t, line)
		require.Empty(u.t, refusal)
		call.MoveTo(u.nowMs)
		calls, contexts = append(calls, call), append(contexts, c)
		require.True(u.t, calls[0].Combines(call), "%s and %s", lines[0], line)
	}
	batch := ratelimit.Combine(calls)
	u.send(u.words(batch)...)
	for i, part := range batch.Split(u.reply()) {
		replies = append(replies, encode(calls[i].Reply(contexts[i], part)))
	}
	return replies
}
