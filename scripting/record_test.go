package scripting

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// record is the address of a redis-server 7.0, which is emptied. Its replies
// replace those in testdata/*.txt.
var record = flag.String("record", "", "address of a redis-server to record replies from")

// A recording is a script and the reply to it on the wire. In the files, "==="
// lines separate the cases, the quoted reply follows a "---" line, and a first
// line "@3" selects RESP3.
type recording struct {
	proto  int
	source string
	reply  string
}

const caseSeparator, replySeparator = "\n===\n", "\n---\n"

func readRecordings(t testing.TB, path string) (all []recording) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, text := range strings.Split(strings.TrimSuffix(string(data), "\n"), caseSeparator) {
		r := recording{proto: resp.RESP2}
		source, reply, _ := strings.Cut(text, replySeparator)
		r.reply, _ = strconv.Unquote(reply)
		if rest, ok := strings.CutPrefix(source, "@3\n"); ok {
			r.proto, source = resp.RESP3, rest
		}
		r.source = source
		all = append(all, r)
	}
	return all
}

func writeRecordings(t testing.TB, path string, all []recording) {
	var texts []string
	for _, r := range all {
		text := r.source + replySeparator + strconv.Quote(r.reply)
		if r.proto == resp.RESP3 {
			text = "@3\n" + text
		}
		texts = append(texts, text)
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(texts, caseSeparator)+"\n"), 0o644))
}

// A source is a script of a file in testdata/sources, in which a line is NAME: SCRIPT, or a tab and another
// script of the same name.
type source struct{ name, text string }

func sources(t testing.TB, file string) (all []source) {
	data, err := os.ReadFile("testdata/sources/" + file + ".txt")
	require.NoError(t, err)
	name := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
		text, more := strings.CutPrefix(line, "\t")
		if !more {
			name, text, _ = strings.Cut(line, ":")
			text = strings.TrimPrefix(text, " ")
		}
		if text != "" {
			all = append(all, source{name, text})
		}
	}
	return all
}

// evalArgs returns the arguments for a recorded script.
func evalArgs(source string) [][]byte {
	return [][]byte{[]byte("EVAL"), []byte(source), []byte("1"), []byte("k"), []byte("a1"), []byte("a2")}
}

// newTestEngine returns an engine with the commands that need no session, and
// stubs of those that do.
func newTestEngine(t testing.TB) (*Engine, *commands.Ctx) {
	e := New(Options{Log: func(level int, text string) {
		if level == levelWarning && strings.Contains(text, "panic") {
			t.Log(text)
		}
	}})
	refuse := func(*commands.Ctx) resp.Value { return resp.Error("ERR not here") }
	sessionCommands := []commands.Command{
		{Name: "multi", Arity: 1, Flags: commands.NoScript, Handler: refuse},
		{Name: "subscribe", Arity: -2, Flags: commands.NoScript, Handler: refuse},
		{Name: "debug", Arity: -2, Flags: commands.NoScript, Handler: refuse},
		{Name: "ping", Arity: -1, Handler: func(*commands.Ctx) resp.Value { return resp.Pong }},
		{Name: "publish", Arity: 3, Flags: commands.MayReplicate, Handler: refuse},
		{
			Name: "config", Arity: -2,
			Subs: []commands.Command{{Name: "get", Arity: -3, Flags: commands.NoScript, Handler: refuse}},
		},
		{Name: "select", Arity: 2, Handler: func(c *commands.Ctx) resp.Value {
			n, ok := store.ParseInt(c.Args[1])
			if !ok || n < 0 || n >= store.Databases {
				return commands.ErrDBIndex
			}
			c.DBIndex = int(n)
			return resp.OK
		}},
	}
	e.SetTable(commands.NewTable(commands.Strings, commands.Keys, commands.Expiry, commands.SortedSets,
		commands.Hashes, commands.Lists, commands.Sets,
		commands.Databases(func() {}, func() int64 { return 1_795_184_400_123_456 }),
		e.Commands(), sessionCommands))
	s := store.New()
	return e, &commands.Ctx{Proto: resp.RESP2, Scope: commands.Scope{
		Store: s, DB: s.DB(0), NowMs: 1_795_184_400_123, NowUs: 1_795_184_400_123_456,
		Settings: &commands.Settings{
			ProtoMaxBulkLen: 512 << 20, ZSetMaxListpackCount: 128,
			ZSetMaxListpackValue: 64, RLLogMaxUnits: 1 << 20,
		},
		Env: &commands.Env{},
	}}
}

func evaluate(e *Engine, c *commands.Ctx, proto int, args [][]byte) string {
	c.Proto, c.Args = proto, args
	c.Reset()
	var reply resp.Value
	if cmd, refusal := e.table.Resolve(args); cmd == nil {
		reply = refusal
	} else {
		c.Cmd = cmd
		reply = cmd.Handler(c)
	}
	return string(resp.Append(nil, &reply, proto))
}

func TestRecordedScripts(t *testing.T) {
	race.OneGoroutine(t)
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			all := readRecordings(t, path)
			if *record != "" {
				recordAll(t, all)
				writeRecordings(t, path, all)
				return
			}
			e, c := newTestEngine(t)
			for i, r := range all {
				got := evaluate(e, c, r.proto, evalArgs(r.source))
				if got != r.reply {
					t.Errorf("case %d\n%s\n got %q\nwant %q", i,
						r.source, got, r.reply)
				}
			}
		})
	}
}

func recordAll(t *testing.T, all []recording) {
	client := dialRedis(t, *record)
	client.call(t, [][]byte{[]byte("FLUSHALL")})
	client.call(t, [][]byte{[]byte("SCRIPT"), []byte("FLUSH")})
	proto := resp.RESP2
	for i := range all {
		if all[i].proto != proto {
			proto = all[i].proto
			client.call(t, [][]byte{[]byte("HELLO"), []byte(strconv.Itoa(proto))})
		}
		all[i].reply = client.call(t, evalArgs(all[i].source))
	}
}

// A redisClient sends commands and returns replies as bytes.
type redisClient struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialRedis(t testing.TB, addr string) *redisClient {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &redisClient{conn, bufio.NewReader(conn)}
}

func (c *redisClient) call(t testing.TB, args [][]byte) string {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	require.NoError(t, c.conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := c.conn.Write(b)
	require.NoError(t, err)
	var reply strings.Builder
	require.NoError(t, c.read(&reply), "%s", args)
	return reply.String()
}

func (c *redisClient) read(out *strings.Builder) error {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return err
	}
	out.WriteString(line)
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			_, err = io.CopyN(out, c.r, int64(n)+2)
		}
		return err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return nil
	}
	for range n {
		if err := c.read(out); err != nil {
			return err
		}
	}
	return nil
}
