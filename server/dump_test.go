package server_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/race"
)

// addHits adds n hits to the log k.
func addHits(t *testing.T, c *wire, n int) {
	t.Helper()
	var b bytes.Buffer
	for i := 0; i < n; i += 1000 {
		b.WriteString("*2002\r\n$4\r\nZADD\r\n$1\r\nk\r\n")
		for j := range 1000 {
			fmt.Fprintf(&b, "$16\r\n%d\r\n$16\r\n%[1]d\r\n", 1_700_000_000_000_000+7*(i+j))
		}
	}
	require.NoError(t, c.sendRaw(b.Bytes()))
	for range n / 1000 {
		line, err := c.r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, ":1000\r\n", line)
	}
}

func readLine(t *testing.T, c *wire) string {
	t.Helper()
	text, err := c.r.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(text, "\r\n")
}

// readBulk reads a bulk string into out and returns its size.
func readBulk(t *testing.T, c *wire, out io.Writer) int {
	t.Helper()
	head, err := c.r.ReadString('\n')
	require.NoError(t, err)
	size, err := strconv.Atoi(strings.Trim(head, "$\r\n"))
	require.NoError(t, err, head)
	_, err = io.CopyN(out, c.r, int64(size))
	require.NoError(t, err)
	end := make([]byte, 2)
	_, err = io.ReadFull(c.r, end)
	require.NoError(t, err)
	require.Equal(t, "\r\n", string(end))
	return size
}

// TestLargeDumpInPipeline: a streamed payload equals the one in a transaction,
// which is not streamed, and keeps its place among the replies of a pipeline.
func TestLargeDumpInPipeline(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	c := connect(t, srv)
	addHits(t, c, 30_000)
	require.Equal(t, "+OK", c.call(t, "SET", "s", strings.Repeat("value of a string", 20_000)))
	require.NoError(t, c.sendRaw([]byte("RPUSH l"+strings.Repeat(" element", 5000)+"\r\n")))
	require.Equal(t, ":5000", readLine(t, c))
	for _, key := range []string{"k", "s", "l"} {
		require.NoError(t, c.sendRaw([]byte("MULTI\r\nDUMP "+key+"\r\nEXEC\r\n")))
		for _, want := range []string{"+OK", "+QUEUED", "*1"} {
			require.Equal(t, want, readLine(t, c))
		}
		var want, got bytes.Buffer
		readBulk(t, c, &want)
		require.NoError(t,
			c.sendRaw([]byte("PING\r\nDUMP "+key+"\r\nPING\r\nDUMP "+key+"\r\nDUMP "+key+"\r\nPING\r\n")))
		require.Equal(t, "+PONG", readLine(t, c))
		readBulk(t, c, &got)
		require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
		require.Equal(t, "+PONG", readLine(t, c))
		readBulk(t, c, io.Discard)
		readBulk(t, c, io.Discard)
		require.Equal(t, "+PONG", readLine(t, c))

		require.Equal(t, "+OK", c.call(t, "RESTORE", "again", "0", got.String(), "REPLACE"))
		got.Reset()
		require.NoError(t, c.sendRaw([]byte("DUMP again\r\n")))
		readBulk(t, c, &got)
		require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	}
}

// TestDumpOfChangingKey: a client that has not begun to read gets the value as of
// its DUMP, and does not block changes of the key.
func TestDumpOfChangingKey(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	c, other := connect(t, srv), connect(t, srv)
	require.NoError(t, c.conn.(interface{ SetReadBuffer(int) error }).SetReadBuffer(64<<10))
	addHits(t, other, 400_000)
	var want, got bytes.Buffer
	require.NoError(t, other.sendRaw([]byte("DUMP k\r\n")))
	readBulk(t, other, &want)
	require.NoError(t, c.sendRaw([]byte("PING\r\nDUMP k\r\n")))
	require.Equal(t, "+PONG", readLine(t, c))
	require.Equal(t, "$"+strconv.Itoa(want.Len()), readLine(t, c))
	require.Equal(t, ":300000", other.call(t, "ZREMRANGEBYRANK", "k", "50000", "349999"))
	require.Equal(t, ":1", other.call(t, "ZADD", "k", "1", "one"))
	require.Equal(t, ":1", other.call(t, "DEL", "k"))
	list := other.call(t, "CLIENT", "LIST", "TYPE", "normal")
	require.NotContains(t, list, "flags=b")
	_, err := io.CopyN(&got, c.r, int64(want.Len()))
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
}

// TestDumpsAreReleased: a large reply is garbage once it is sent, although its
// client stays connected.
func TestDumpsAreReleased(t *testing.T) {
	srv, _, _ := serveWith(t, config.New())
	c := connect(t, srv)
	for name, send := range map[string]string{
		"DUMP": "DUMP s", "GET": "GET s", "DUMP in EXEC": "MULTI\r\nDUMP s\r\nEXEC",
		"DUMP of a hash": "DUMP h", "MGET": "MGET s s",
	} {
		t.Run(name, func(t *testing.T) {
			const size, clients = 4 << 20, 8
			require.Equal(t, "+OK", c.call(t, "SET", "s", strings.Repeat("x\x00\xffnoise", size/8)))
			if name == "DUMP of a hash" {
				fields := make([]string, 0, 10_002)
				for i := range 5000 {
					fields = append(fields, strconv.Itoa(i), strings.Repeat("v", 800))
				}
				c.call(t, append([]string{"HSET", "h"}, fields...)...)
			}
			require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "rdbcompression", "no"))
			before := heapInUse()
			for range clients {
				quiet := connect(t, srv)
				require.NoError(t, quiet.sendRaw([]byte(send+"\r\n")))
				if name == "GET" { // and no further command
					readBulk(t, quiet, io.Discard)
					continue
				}
				require.NoError(t, quiet.sendRaw([]byte("PING\r\n")))
				for readLine(t, quiet) != "+PONG" {
				}
			}
			c.call(t, "DEL", "s", "h")
			eventually(t, func() bool { return heapInUse()-before < size }, func() { c.call(t, "PING") },
				"of %d clients", clients)
		})
	}
}

// TestLargeDumpInLittleMemory: to dump a key of a million hits allocates much less
// than the payload.
func TestLargeDumpInLittleMemory(t *testing.T) {
	race.OneGoroutine(t)
	srv, _, _ := serveWith(t, config.New())
	c := connect(t, srv)
	addHits(t, c, 1_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, c.sendRaw([]byte("DUMP k\r\n")))
	size := readBulk(t, c, io.Discard)
	runtime.ReadMemStats(&after)
	require.Greater(t, size, 20<<20)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}

// TestDumpClientDisconnects: the server stops making a payload when its client
// disconnects.
func TestDumpClientDisconnects(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	c, gone := connect(t, srv), connect(t, srv)
	addHits(t, c, 400_000)
	require.NoError(t, gone.sendRaw([]byte("PING\r\nDUMP k\r\nDUMP k\r\nPING\r\n")))
	require.Equal(t, "+PONG", readLine(t, gone))
	require.NoError(t, gone.conn.Close())
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { c.call(t, "PING") },
		"the disconnect is not noticed")
	require.Equal(t, ":400000", c.call(t, "ZCARD", "k"))
}

// heapInUse returns the size of the live heap.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
