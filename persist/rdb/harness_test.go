package rdb_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

const nowMs = 1_700_000_000_000

var limits = rdb.Limits{HashEntries: 512, HashValue: 64, SetInts: 512, ZSetEntries: 128, ZSetValue: 64}

// A server answers calls in order.
type server interface {
	ask(t *testing.T, calls ...[]string) []any
}

// keyspace is a keyspace of this server with its commands.
type keyspace struct {
	table *commands.Table
	ctx   commands.Ctx
}

func newKeyspace() *keyspace {
	k := &keyspace{table: commands.NewTable(commands.Strings, commands.Keys, commands.Dumps, commands.Expiry,
		commands.SortedSets, commands.Sets, commands.Hashes, commands.Lists)}
	k.ctx.Proto = resp.RESP2
	k.ctx.Scope = commands.Scope{
		Store: store.New(), NowMs: nowMs, NowUs: nowMs * 1000,
		Settings: &commands.Settings{
			ProtoMaxBulkLen: 512 << 20, RDBCompression: true, SetMaxIntsetCount: limits.SetInts,
			ZSetMaxListpackCount: limits.ZSetEntries, ZSetMaxListpackValue: limits.ZSetValue,
			HashMaxListpackCount: limits.HashEntries, HashMaxListpackValue: limits.HashValue,
		},
	}
	k.ctx.Use(0)
	return k
}

func (k *keyspace) ask(t *testing.T, calls ...[]string) []any {
	out := make([]any, len(calls))
	for i, call := range calls {
		args := make([][]byte, len(call))
		for j := range call {
			args[j] = []byte(call[j])
		}
		if strings.EqualFold(call[0], "SELECT") {
			db, err := strconv.Atoi(call[1])
			require.NoError(t, err)
			k.ctx.Use(db)
			out[i] = "OK"
			continue
		}
		v := k.table.Call(&k.ctx, args)
		reply, err := readReply(bufio.NewReader(bytes.NewReader(resp.Append(nil, &v, resp.RESP2))))
		require.NoError(t, err)
		out[i] = reply
		k.ctx.Reset()
	}
	return out
}

// write writes the whole keyspace.
func (k *keyspace) write(t *testing.T, w io.Writer, o rdb.WriterOptions, functions ...string) {
	out := rdb.NewWriter(w, o)
	for _, code := range functions {
		require.NoError(t, out.Function(code))
	}
	var dbs [store.Databases][]*store.Node
	for i := range dbs {
		for n := range k.ctx.Store.DB(i).All(nowMs) {
			dbs[i] = append(dbs[i], n)
		}
		if len(dbs[i]) > 0 {
			require.NoError(t, out.Sizes(i, len(dbs[i]), k.ctx.Store.DB(i).ExpiringLen()))
		}
	}
	for left := true; left; { // alternate between databases
		left = false
		for i := range dbs {
			if len(dbs[i]) > 0 {
				n := dbs[i][0]
				dbs[i] = dbs[i][1:]
				at, _ := n.Value.ExpireAtMs()
				require.NoError(t, out.Key(i, n.Key(), at, store.DataOf(n)))
				left = true
			}
		}
	}
	require.NoError(t, out.Close())
}

// read fills the keyspace from a file.
func (k *keyspace) read(file []byte, o rdb.ReadOptions) (rdb.Summary, error) {
	o.Limits = limits
	return rdb.Read(bytes.NewReader(file), int64(len(file)), o, rdb.Handler{
		Key: func(db int, key []byte, expireAtMs int64, value store.Value) error {
			n := k.ctx.Store.DB(db).Put(key, value)
			if expireAtMs != 0 {
				k.ctx.Store.DB(db).ExpireAt(n, expireAtMs)
			}
			return nil
		},
	})
}

// redis is a redis-server.
type redis struct {
	conn net.Conn
	in   *bufio.Reader
	dir  string
}

// startRedis runs a redis-server for one test. It loads dump.rdb in dir.
func startRedis(t *testing.T, dir string) *redis {
	t.Helper()
	server := oracle.StartFor(t, oracle.Options{RealTime: true, Args: []string{
		"--dir", dir, "--sanitize-dump-payload", "yes",
	}})
	conn, err := server.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &redis{conn, bufio.NewReader(conn), dir}
}

func (r *redis) ask(t *testing.T, calls ...[]string) []any {
	const batch = 200
	var out []any
	for part := range slices.Chunk(calls, batch) {
		var request []byte
		for _, call := range part {
			request = fmt.Appendf(request, "*%d\r\n", len(call))
			for _, a := range call {
				request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(a), a)
			}
		}
		sent := make(chan error, 1)
		go func() {
			_, err := r.conn.Write(request)
			sent <- err
		}()
		for range part {
			reply, err := readReply(r.in)
			require.NoError(t, err)
			out = append(out, reply)
		}
		require.NoError(t, <-sent)
	}
	return out
}

// readReply reads a RESP2 reply: a string, error, int64, nil or []any.
func readReply(in *bufio.Reader) (any, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	rest := strings.TrimSuffix(line[1:], "\r\n")
	n, _ := strconv.Atoi(rest)
	switch {
	case line[0] == '+':
		return rest, nil
	case line[0] == '-':
		return errors.New(rest), nil
	case line[0] == ':':
		return int64(n), nil
	case n < 0:
		return nil, nil
	case line[0] == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(in, text)
		return string(text[:n]), err
	}
	out := make([]any, n)
	for i := range out {
		if out[i], err = readReply(in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reading maps a type to the command that reads the whole value.
var reading = map[string][]string{
	"string": {"GET", ""}, "list": {"LRANGE", "", "0", "-1"}, "set": {"SMEMBERS", ""},
	"hash": {"HGETALL", ""}, "zset": {"ZRANGE", "", "0", "-1", "WITHSCORES"},
}

// contents returns everything visible of keys: type, encoding, deadline and value.
// Unordered values are sorted.
func contents(t *testing.T, s server, keys []string) []string {
	var queries [][]string
	for _, k := range keys {
		queries = append(queries, []string{"TYPE", k}, []string{"OBJECT", "ENCODING", k},
			[]string{"PEXPIRETIME", k})
	}
	answers := s.ask(t, queries...)
	var reads [][]string
	for i, k := range keys {
		read := slices.Clone(reading[fmt.Sprint(answers[3*i])])
		if read == nil {
			read = []string{"GET", k}
		}
		read[1] = k
		reads = append(reads, read)
	}
	values := s.ask(t, reads...)
	out := make([]string, len(keys))
	for i := range keys {
		value, _ := values[i].([]any)
		switch kind := fmt.Sprint(answers[3*i], " ", answers[3*i+1]); {
		case strings.HasPrefix(kind, "set"):
			slices.SortFunc(value, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		case kind == "hash hashtable":
			pairs := slices.Collect(slices.Chunk(value, 2))
			slices.SortFunc(pairs,
				func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
			values[i] = slices.Concat(pairs...)
		}
		out[i] = fmt.Sprintf("%v %v %v %q", answers[3*i], answers[3*i+1], answers[3*i+2], values[i])
	}
	return out
}

// requireSame compares contents and reports only the first difference.
func requireSame(t *testing.T, keys, want, got []string) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("key %q:\n%.500s\n%.500s", keys[i], want[i], got[i])
		}
	}
}

// A maker generates calls that create a key.
type maker struct{ *rand.Rand }

func newMaker(t *testing.T, seed uint64) maker {
	t.Logf("seed %d", seed)
	return maker{rand.New(rand.NewPCG(seed, seed))}
}

// number returns an integer of any width, often at the limit of one.
func (m maker) number() int64 {
	if m.IntN(3) == 0 {
		edges := []int64{
			0, 12, 13, 127, 128, 4095, 4096, 32767, 32768, 1<<23 - 1, 1 << 23, math.MaxInt32,
			1 << 31, 1 << 53, math.MaxInt64,
		}
		n := edges[m.IntN(len(edges))]
		if m.IntN(2) == 0 {
			n = -n - int64(m.IntN(2))
		}
		return n
	}
	return int64(m.Uint64()) >> m.IntN(64)
}

// text returns a string of any kind, from a small range if few is set.
func (m maker) text() string {
	switch m.IntN(10) {
	case 0, 1, 2:
		return strconv.FormatInt(m.number(), 10)
	case 3:
		return []string{"", "0", "-0", "00", "+1", "-", "inf", "9223372036854775808", "1.5", " 1"}[m.IntN(10)]
	case 4:
		return strings.Repeat(string(rune('a'+m.IntN(26))), []int{20, 21, 62, 63, 64, 65, 300}[m.IntN(7)])
	}
	b := make([]byte, m.IntN(40))
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return string(b)
}

// long returns a text too long for compact encodings.
func (m maker) long() string {
	b := make([]byte, []int{66, 4095, 4096, 9000, 20_000}[m.IntN(5)])
	letters := 1 + m.IntN(256)
	for i := range b {
		b[i] = byte(m.IntN(letters))
	}
	return string(b)
}

func (m maker) score() string {
	switch m.IntN(6) {
	case 0:
		return strconv.FormatInt(m.number(), 10)
	case 1:
		return []string{
			"inf", "-inf", "0", "-0", "1e300", "5e-324", "0.1", "-1.5",
			"9007199254740993",
		}[m.IntN(9)]
	}
	return strconv.FormatFloat((m.Float64()-0.5)*math.Pow(10, float64(m.IntN(40)-20)), 'g', -1, 64)
}

// size returns a collection size: small, often near the limit of an encoding.
func (m maker) size() int {
	switch m.IntN(12) {
	case 0:
		return 127 + m.IntN(4)
	case 1:
		return 400 + m.IntN(200)
	}
	return 1 + m.IntN(20)
}

// key returns calls that create a key of any type.
func (m maker) key(k string) (calls [][]string) {
	many := func(name string, n int, element func() []string) {
		call := []string{name, k}
		for range n {
			call = append(call, element()...)
		}
		calls = append(calls, call)
	}
	element := func() []string { return []string{m.text()} }
	if m.IntN(10) == 0 {
		element = func() []string {
			if m.IntN(40) == 0 {
				return []string{m.long()}
			}
			return []string{m.text()}
		}
	}
	number := func() []string { return []string{strconv.FormatInt(m.number(), 10)} }
	switch m.IntN(9) {
	case 0:
		calls = append(calls, []string{"SET", k, m.text()})
	case 1:
		calls = append(calls, []string{"APPEND", k, m.text()}, []string{"APPEND", k, m.long()[:m.IntN(60)]})
	case 2:
		calls = append(calls, []string{"SET", k, m.long()})
	case 3:
		many("RPUSH", m.size(), element)
	case 4:
		few := m.IntN(64)
		many("SADD", m.size(), func() []string { return []string{strconv.FormatInt(m.number()>>few, 10)} })
	case 5:
		many("SADD", m.size(), element)
	case 6:
		many("HSET", m.size(), func() []string { return append(element(), element()...) })
	case 7:
		many("ZADD", m.size(), func() []string { return append([]string{m.score()}, element()...) })
	case 8:
		at := int64(nowMs) * int64(1+999*m.IntN(2))
		many("ZADD", m.size(), func() []string {
			at += 1 + m.Int64N(1<<m.IntN(20))
			unit := strconv.FormatInt(at, 10)
			return []string{unit, unit}
		})
		if m.IntN(4) == 0 {
			many("ZADD", 1, func() []string { n := number(); return append(n, n...) })
		}
	}
	if m.IntN(5) == 0 {
		calls = append(calls,
			[]string{"PEXPIREAT", k, strconv.FormatInt(4_000_000_000_000+m.Int64N(1e12), 10)})
	}
	return calls
}
