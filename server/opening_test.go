package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

// TestOpeningPipelines sends the first commands of client libraries as they do, in
// one pipeline, with CLIENT SETINFO, which Redis 7.0 refuses and Redis 7.2 and
// zlimit know. testdata/transcripts/opening.cases has what Redis 7.0 answers too.
func TestOpeningPipelines(t *testing.T) {
	t.Parallel()
	const noSubcommand = "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."
	for _, c := range []struct {
		client  string
		sends   []string
		replies []string // "": any map
	}{
		{
			"go-redis 9",
			[]string{
				"HELLO 3 AUTH default secret SETNAME gate", "CLIENT SETINFO LIB-NAME go-redis(,go1.26)",
				"CLIENT SETINFO LIB-VER 9.14.0",
				"CLIENT MAINT_NOTIFICATIONS ON", "PING",
			},
			[]string{"", "+OK", "+OK", noSubcommand, "+PONG"},
		},
		{
			"redis-py 8",
			[]string{
				"HELLO 3 AUTH default secret",
				"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip",
				"CLIENT SETNAME web-1", "CLIENT SETINFO LIB-NAME redis-py", "CLIENT SETINFO LIB-VER 8.0.0",
				"SELECT 1",
			},
			[]string{"", noSubcommand, "+OK", "+OK", "+OK", "+OK"},
		},
		{
			"Lettuce 6",
			[]string{
				"HELLO 3 AUTH default secret SETNAME app", "CLIENT SETINFO lib-name Lettuce",
				"CLIENT SETINFO lib-ver 6.8.1.RELEASE/abc", "PING",
			},
			[]string{"", "+OK", "+OK", "+PONG"},
		},
		{
			"ioredis 5",
			[]string{
				"auth secret", "client SETINFO LIB-NAME ioredis", "client SETINFO LIB-VER 5.8.0",
				"select 2", "client setname q",
			},
			[]string{"+OK", "+OK", "+OK", "+OK", "+OK"},
		},
		{
			"Jedis",
			[]string{
				"AUTH secret", "CLIENT SETINFO LIB-NAME jedis", "CLIENT SETINFO LIB-VER 7.0.0",
				"SELECT 0",
			},
			[]string{"+OK", "+OK", "+OK", "+OK"},
		},
		{
			"StackExchange.Redis",
			[]string{
				"AUTH secret", "CLIENT SETNAME web", "CLIENT SETINFO lib-name SE.Redis",
				"CLIENT SETINFO lib-ver 2.9.0", "CLIENT ID", "ECHO tie",
			},
			[]string{"+OK", "+OK", "+OK", "+OK", ":1", "$3\r\ntie"},
		},
	} {
		srv, _, _ := serveWith(t, config.New(), "--requirepass", "secret")
		w := connect(t, srv)
		require.NoError(t, w.sendRaw([]byte(strings.Join(c.sends, "\r\n")+"\r\n")))
		for i, want := range c.replies {
			got := w.reply(t)
			if want == "" {
				require.True(t, strings.HasPrefix(got, "%7\r\n"), "%s: %s: %q", c.client, c.sends[i], got)
				continue
			}
			require.Equal(t, want, got, "%s: %s", c.client, c.sends[i])
		}
	}
}
