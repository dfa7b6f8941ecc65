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

// TestGatewayUnsubscribes: a channel that nobody listens to any more is left upstream.
func TestGatewayUnsubscribes(t *testing.T) {
	t.Parallel()
	up := upstreamFor(t)
	g, _ := gatewayOver(t, up)
	c, direct := connect(t, g), connect(t, up)
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1", c.call(t, "SUBSCRIBE", "c"))
	require.Equal(t, ":1", direct.call(t, "PUBLISH", "c", "m"))
	require.NoError(t, c.conn.Close())
	eventually(t, func() bool {
		return direct.call(t, "PUBSUB", "NUMSUB", "c") == "*2\r\n$1\r\nc\r\n:0"
	}, func() {})
}
