package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// gatewayOver starts a gateway whose upstream is a server, and connects to it.
func gatewayOver(t *testing.T, up *server.Server) (*server.Server, *wire) {
	t.Helper()
	g := start(t, "--bind", "127.0.0.1", "--upstream", "redis://"+up.Addr().String(),
		"--upstream-timeout", "60000")
	return g, connect(t, g)
}

func upstreamFor(t *testing.T) *server.Server { return start(t, "--bind", "127.0.0.1") }

// field returns a field of INFO's section upstream.
func field(t *testing.T, w *wire, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(w.call(t, "INFO", "upstream"), "upstream_"+name+":")
	require.True(t, ok, name)
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// A pipelined batch takes one round trip, and its replies come in order, those of the server itself among
// them.
func TestGatewayPipeline(t *testing.T) {
	t.Parallel()
	_, w := gatewayOver(t, upstreamFor(t))
	w.call(t, "GET", "k")
	before := field(t, w, "round_trips")
	var want []string
	var batch strings.Builder
	for i := range 500 {
		fmt.Fprintf(&batch, "SET k%d %d\r\nINCR k%d\r\n", i, i, i)
		want = append(want, "+OK", fmt.Sprintf(":%d", i+1))
	}
	require.NoError(t, w.sendRaw([]byte(batch.String())))
	for _, reply := range want {
		require.Equal(t, reply, w.reply(t))
	}
	after := field(t, w, "round_trips")
	var a, b int
	fmt.Sscan(before, &a)
	fmt.Sscan(after, &b)
	require.LessOrEqual(t, b-a, 8, "a few for the pieces in which the batch arrives")

	require.NoError(t,
		w.sendRaw([]byte("SET p 1\r\nPING\r\nINCR p\r\nNOSUCH\r\nGET p\r\nCLIENT REPLY SKIP\r\n"+
			"INCR p\r\nGET p\r\nECHO end\r\n")))
	for _, reply := range []string{"+OK", "+PONG", ":2"} {
		require.Equal(t, reply, w.reply(t))
	}
	require.Contains(t, w.reply(t), "-ERR unknown command")
	for _, reply := range []string{"$1\r\n2", "$1\r\n3", "$3\r\nend"} {
		require.Equal(t, reply, w.reply(t))
	}
	require.Contains(t, w.call(t, "INFO", "commandstats"), "cmdstat_incr:calls=502,")
}

func TestGatewayWatch(t *testing.T) {
	t.Parallel()
	up := upstreamFor(t)
	_, w := gatewayOver(t, up)
	other := connect(t, up)
	for _, row := range []struct {
		change bool
		end    string
		want   string
	}{
		{false, "", "*1\r\n+OK"},
		{true, "", "*-1"},
		{true, "UNWATCH", "*1\r\n+OK"},
		{true, "DISCARD", "*1\r\n+OK"},
	} {
		require.Equal(t, "+OK", w.call(t, "WATCH", "k"))
		require.Equal(t, "+OK", w.call(t, "WATCH", "l"))
		if row.change {
			other.call(t, "INCR", "k")
		}
		if row.end == "DISCARD" {
			w.call(t, "MULTI")
		}
		if row.end != "" {
			require.Equal(t, "+OK", w.call(t, row.end))
		}
		w.call(t, "MULTI")
		require.Equal(t, "+QUEUED", w.call(t, "SET", "x", "1"))
		require.Equal(t, row.want, w.call(t, "EXEC"))
	}
	w.call(t, "WATCH", "k")
	other.call(t, "INCR", "k")
	w.call(t, "MULTI")
	require.Equal(t, "*-1", w.call(t, "EXEC"), "an empty queue, too")
	w.call(t, "MULTI")
	w.call(t, "GET", "k")
	w.call(t, "CONFIG", "GET", "hz")
	require.Contains(t, w.call(t, "EXEC"), "'config|get' is not the upstream's")
}

// Who hangs up while it waits leaves the element to others, and CLIENT UNBLOCK ends the wait.
func TestGatewayBlocking(t *testing.T) {
	t.Parallel()
	up := upstreamFor(t)
	g, w := gatewayOver(t, up)
	other := connect(t, up)
	blocked := func(n string) {
		eventually(t, func() bool {
			return strings.Contains(other.call(t, "INFO", "clients"), "blocked_clients:"+n+"\r\n")
		}, func() {})
	}
	gone := connect(t, g)
	require.NoError(t, gone.sendRaw([]byte("BLPOP q 0\r\n")))
	blocked("1")
	require.NoError(t, gone.conn.Close())
	blocked("0")
	require.Equal(t, ":1", other.call(t, "LPUSH", "q", "e"))
	require.Equal(t, "*2\r\n$1\r\nq\r\n$1\r\ne", w.call(t, "BLPOP", "q", "0"))

	id := strings.TrimPrefix(w.call(t, "CLIENT", "ID"), ":")
	require.NoError(t, w.sendRaw([]byte("BLMOVE q r LEFT LEFT 0\r\nPING\r\n")))
	blocked("1")
	require.Equal(t, ":1", connect(t, g).call(t, "CLIENT", "UNBLOCK", id))
	require.Equal(t, "$-1", w.reply(t))
	require.Equal(t, "+PONG", w.reply(t))
	blocked("0")
}

func TestGatewayPubSub(t *testing.T) {
	t.Parallel()
	up := upstreamFor(t)
	g, w := gatewayOver(t, up)
	second, direct := connect(t, g), connect(t, up)
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1", w.call(t, "SUBSCRIBE", "c"))
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1", second.call(t, "SUBSCRIBE", "c"))
	require.Equal(t, "*3\r\n$10\r\npsubscribe\r\n$2\r\nc*\r\n:2", w.call(t, "PSUBSCRIBE", "c*"))
	require.Equal(t, ":2", direct.call(t, "PUBLISH", "c", "m"), "the gateway's channel and its pattern")
	require.ElementsMatch(t, []string{
		"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm", "*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$1\r\nc\r\n$1\r\nm",
	}, []string{w.reply(t), w.reply(t)})
	require.Equal(t, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm", second.reply(t))
	w.call(t, "UNSUBSCRIBE", "c")
	require.Equal(t, ":2", connect(t, g).call(t, "PUBLISH", "c", "n"), "another one has subscribed yet")
	require.NoError(t, second.conn.Close())
	eventually(t, func() bool {
		return direct.call(t, "PUBSUB", "NUMSUB", "c") == "*2\r\n$1\r\nc\r\n:0"
	}, func() {})

	shard := connect(t, g)
	require.Equal(t, "*3\r\n$10\r\nssubscribe\r\n$1\r\ns\r\n:1", shard.call(t, "SSUBSCRIBE", "s"))
	require.Equal(t, ":1", direct.call(t, "SPUBLISH", "s", "m"))
	require.Equal(t, "*3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$1\r\nm", shard.reply(t))
}

// While the upstream is away decisions are answered as upstream-failure says, and say so.
func TestGatewayDegraded(t *testing.T) {
	t.Parallel()
	const addr = "127.0.0.1:1" // where nobody listens
	g := start(t, "--bind", "127.0.0.1", "--upstream", "redis+single://"+addr, "--upstream-timeout", "100",
		"--upstream-failure", "closed o: open l: local 2")
	w := connect(t, g)
	require.Contains(t, w.call(t, "GET", "k"), "-UPSTREAM "+addr)
	require.Contains(t, w.call(t, "RL.ALLOW", "k", "1", "1m"), "-UPSTREAM "+addr)
	require.Equal(t, "0", field(t, w, "degraded"))
	for range 3 {
		require.Equal(t, "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:60000", w.call(t, "RL.ALLOW", "o:k", "1", "1m"))
	}
	for _, allowed := range []string{":1", ":1", ":0"} {
		reply := w.call(t, "RL.ALLOW", "l:k", "4", "1m")
		require.True(t, strings.HasPrefix(reply, "*5\r\n"+allowed+"\r\n:2\r\n"), reply)
	}
	require.Contains(t, w.call(t, "RL.ALLOW", "o:k", "1", "1m", "FULL"), "$8\r\ndegraded\r\n$4\r\nopen")
	require.Contains(t, w.call(t, "RL.ALLOW", "l:k", "4", "1m", "FULL"), "$8\r\ndegraded\r\n$5\r\nlocal")
	const reserved = "*5\r\n:2\r\n:2\r\n:0\r\n:0\r\n:60000"
	for range 2 {
		require.Equal(t, reserved, w.call(t, "RL.RESERVE", "o:k", "2", "1m", "2", "HOLD", "1m", "ID", "a"))
	}
	require.Equal(t, reserved, w.call(t, "RL.RESERVE", "l:r", "4", "1m", "2", "HOLD", "1m", "ID", "a"))
	require.Equal(t, reserved, w.call(t, "RL.RESERVE", "l:r", "4", "1m", "2", "HOLD", "1m", "ID", "a"),
		"the hold is known")
	require.Contains(t, w.call(t, "RL.RESERVE", "l:r", "4", "1m", "1", "HOLD", "1m", "ID", "b"),
		"*5\r\n:0\r\n:2\r\n:0\r\n", "a share of the limit")
	require.Equal(t, "13", field(t, w, "degraded"))
	for _, line := range []string{ // not only decisions
		"RL.RESET l:k", "RL.REFUND l:k 1", "RL.ADOPT l:k", "RL.INFO l:k",
		"RL.SETTLE l:r a 1", "RL.CANCEL l:r a",
		"RL.ACQUIRE l:s 1 LEASE 1m ID a", "RL.RENEW l:s a LEASE 1m", "RL.RELEASE l:s a",
		"INCREX l:i UBOUND 9",
	} {
		require.Contains(t, w.call(t, strings.Fields(line)...), "-UPSTREAM "+addr, line)
	}
	w.call(t, "MULTI")
	w.call(t, "RL.ALLOW", "o:k", "1", "1m")
	require.Contains(t, w.call(t, "EXEC"), "-UPSTREAM "+addr)
	require.Equal(t, "13", field(t, w, "degraded"))
	require.NotEqual(t, "0", field(t, w, "degraded_since"))
}

// TestGatewaySlowlogOfDegraded checks that SLOWLOG has batches with degraded decisions, one entry each, in
// the words of their clients.
func TestGatewaySlowlogOfDegraded(t *testing.T) {
	t.Parallel()
	g := start(t, "--bind", "127.0.0.1", "--upstream", "redis+single://127.0.0.1:1",
		"--upstream-failure", "closed o: open l: local 2", "--slowlog-log-slower-than", "0")
	w := connect(t, g)
	for _, first := range []string{"o:first 1", "l:first 4"} {
		require.NoError(t, w.sendRaw([]byte("RL.ALLOW "+first+" 1m\r\n"+
			"RL.ALLOW o:k 1 1m\r\nRL.ALLOW l:k 4 1m\r\nECHO end\r\n")))
		for range 3 {
			require.True(t, strings.HasPrefix(w.reply(t), "*5\r\n:1\r\n"))
		}
		require.Equal(t, "$3\r\nend", w.reply(t))
	}
	var logged []string
	for _, entry := range strings.Split(w.call(t, "SLOWLOG", "GET", "-1"), "*6\r\n")[1:] {
		words := strings.Split(entry, "\r\n")
		line := ""
		for at := 5; !strings.HasPrefix(words[at], "127.0.0.1"); at += 2 {
			line = strings.TrimSpace(line + " " + words[at])
		}
		logged = append(logged, line)
	}
	require.Equal(t, []string{"ECHO end", "RL.ALLOW l:first 4 1m", "ECHO end", "RL.ALLOW o:first 1 1m"},
		logged[:4])
}

// A decision behind FUNCTION FLUSH runs before what follows it in the pipeline: the gateway knows that the
// library is gone.
func TestGatewayFunctionFlush(t *testing.T) {
	t.Parallel()
	_, w := gatewayOver(t, upstreamFor(t))
	const admitted = "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:3600000"
	require.Equal(t, admitted, w.call(t, "RL.ALLOW", "k", "1", "1h"))
	for _, flush := range []string{"FUNCTION FLUSH", "FUNCTION FLUSH ASYNC", "SCRIPT FLUSH"} {
		require.NoError(t,
			w.sendRaw([]byte(flush+"\r\nDEL k\r\nRL.ALLOW k 1 1h\r\nDEL k\r\nRL.ALLOW k 1 1h\r\n")))
		for _, reply := range []string{"+OK", ":1", admitted, ":1", admitted} {
			require.Equal(t, reply, w.reply(t), flush)
		}
	}
}

// The program that runs a gateway gets values.
func TestGatewayInside(t *testing.T) {
	t.Parallel()
	g, _ := gatewayOver(t, upstreamFor(t))
	ctx := context.Background()
	got, err := g.Do(ctx, "HSET", "h", "f", "v")
	require.NoError(t, err)
	require.Equal(t, int64(1), got)
	got, err = g.Do(ctx, "HGETALL", "h")
	require.NoError(t, err)
	require.Equal(t, []any{"f", "v"}, got)
	long := strings.Repeat("v", 100_000)
	_, err = g.Do(ctx, "SET", "k", long)
	require.NoError(t, err)
	got, err = g.Do(ctx, "GET", "k")
	require.NoError(t, err)
	require.Equal(t, long, got)
	_, err = g.Do(ctx, "INCR", "h")
	require.ErrorContains(t, err, "WRONGTYPE")
}

func TestGatewayDirectives(t *testing.T) {
	for directives, want := range map[string]string{
		"--upstream http://h":                                     "upstream: it must begin with redis://",
		"--upstream redis://h --upstream-failure maybe":           "upstream-failure must be",
		"--upstream redis://h --upstream-wait 1":                  "upstream-wait must be",
		"--upstream rediss://h --upstream-tls-ca-cert-file /none": "upstream-tls-ca-cert-file: ",
		"--upstream rediss://h --upstream-tls-cert-file /none":    "upstream-tls-cert-file: ",
	} {
		cfg := config.New()
		require.NoError(t, cfg.ParseArgs(strings.Fields(directives), nil))
		_, err := server.Listen(server.Options{Config: cfg, FreePort: true})
		require.ErrorContains(t, err, want)
	}
}
