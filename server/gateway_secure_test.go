package server_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// Gateways that reach their upstream over TLS, as a user of its ACL.

// A secured is a server with TLS and a user gate, to be upstream.
type secured struct {
	addr string
	call func(line ...string) string // as its administrator
}

// securedServers start servers, of which each has a user with rules.
func securedServers(t *testing.T, c *certificates, rules string) map[string]secured {
	t.Helper()
	args := append(c.directives("--user", "gate", "on", ">of-gate"), strings.Fields(rules)...)
	srv := start(t, args...)
	w := c.dialTLS(t, srv.TLSAddr().String())
	all := map[string]secured{
		"zlimit": {srv.TLSAddr().String(), func(line ...string) string { return w.call(t, line...) }},
	}
	if oracle.FindRealTime() == nil {
		redis, addr := startRedisTLS(t, args)
		t.Cleanup(func() { require.NoError(t, redis.Close()) })
		w := c.dialTLS(t, addr)
		all["redis-server"] = secured{addr, func(line ...string) string { return w.call(t, line...) }}
	}
	return all
}

// gatewayTo starts a gateway with the certificate of a client and returns a connection to it.
func (c *certificates) gatewayTo(t *testing.T, url string, more ...string) *wire {
	t.Helper()
	return connect(t, start(t, append([]string{
		"--bind", "127.0.0.1", "--upstream", url, "--upstream-tls-ca-cert-file", c.caFile,
		"--upstream-tls-cert-file", c.cert, "--upstream-tls-key-file", c.key, "--upstream-timeout", "60000",
	}, more...)...))
}

// What docs/gateway.md says that the user of a gateway needs for RL.*.
const (
	limiterRule = "~* -@all +fcall +fcall_ro +function|load " + withinDecisions
	scriptRule  = "~* -@all +evalsha +script|load " + withinDecisions

	withinDecisions = "+time +type +get +set +del +pexpireat +pexpiretime +hlen +hmget +hset +zadd +zcard " +
		"+zcount +zrange +zrem +zremrangebyrank +zremrangebyscore +zscore"
)

// refusedLine returns the first reply to lines that says that something is not permitted.
func refusedLine(t *testing.T, w *wire, lines []string) (line, reply string) {
	t.Helper()
	for _, line := range lines {
		reply := w.call(t, strings.Fields(line)...)
		if strings.Contains(reply, "UPSTREAM") || strings.Contains(reply, "NOPERM") {
			return line, reply
		}
	}
	return "", ""
}

// TestGatewayPermissions: the rule in the documentation suffices, and without any of its commands
// something is refused.
func TestGatewayPermissions(t *testing.T) {
	t.Parallel()
	limiterLines := callsOf(t, "limiter")
	c := newCertificates(t)
	for name, up := range securedServers(t, c, limiterRule) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "rediss+single://gate:of-gate@" + up.addr
			line, reply := refusedLine(t, c.gatewayTo(t, url), limiterLines)
			require.Empty(t, line, reply)
			for _, word := range strings.Fields(limiterRule) {
				if !strings.HasPrefix(word, "+") {
					continue
				}
				require.Equal(t, "+OK", up.call("FLUSHALL"))
				require.Equal(t, "+OK", up.call("ACL", "SETUSER", "gate", "-"+word[1:]))
				line, reply := refusedLine(t, c.gatewayTo(t, url), limiterLines)
				require.NotEmpty(t, line, "%s is not needed", word)
				require.Contains(t, strings.ToLower(reply), "permission", word)
				require.Equal(t, "+OK", up.call("ACL", "SETUSER", "gate", word))
			}
		})
	}
}

// TestGatewayPermissionsAreDocumented: the rules of these tests are those of the page.
func TestGatewayPermissionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/gateway.md")
	require.NoError(t, err)
	text := strings.ReplaceAll(strings.Join(strings.Fields(string(page)), " "), `\|`, "|")
	require.Contains(t, text, limiterRule)
	require.Contains(t, text, "| `+evalsha +script|load` |")
	for _, row := range furtherPermissions {
		require.Contains(t, text, "| `"+row.rule+"` |")
	}
}

// furtherPermissions are those that a gateway needs for more than RL.*: without them one of the lines
// is refused.
var furtherPermissions = []struct {
	rule, scheme string
	directives   []string
	lines        []string
}{
	{"+cluster|slots", "rediss", nil, []string{"RL.ALLOW k 1 1s"}},
	{"+select", "rediss+single", nil, []string{"SELECT 1", "RL.ALLOW k 1 1s"}},
	{"+multi +exec", "rediss+single", nil, []string{"MULTI", "RL.ALLOW k 1 1s", "EXEC"}},
	{"+watch +unwatch +multi +exec", "rediss+single", nil, []string{
		"WATCH k", "UNWATCH", "WATCH k", "MULTI", "RL.ALLOW k 1 1s", "EXEC",
	}},
	{"+wait", "rediss+single", []string{"--upstream-wait", "1 10"}, []string{"RL.ALLOW k 1 1s"}},
}

// TestGatewayFurtherPermissions: what else a gateway needs, and the way without functions.
func TestGatewayFurtherPermissions(t *testing.T) {
	t.Parallel()
	limiterLines := callsOf(t, "limiter")
	c := newCertificates(t)
	for name, up := range securedServers(t, c, scriptRule) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "://gate:of-gate@" + up.addr
			line, reply := refusedLine(t, c.gatewayTo(t, "rediss+single"+url), limiterLines)
			require.Empty(t, line, reply)
			for _, row := range furtherPermissions {
				line, reply := refusedLine(t, c.gatewayTo(t, row.scheme+url, row.directives...), row.lines)
				require.NotEmpty(t, line, "%s is not needed", row.rule)
				require.Contains(t, reply, "NOPERM", row.rule)
				up.call(append([]string{"ACL", "SETUSER", "gate"}, strings.Fields(row.rule)...)...)
				line, reply = refusedLine(t, c.gatewayTo(t, row.scheme+url, row.directives...), row.lines)
				require.Empty(t, line, "%s: %s", row.rule, reply)
				up.call(append([]string{"ACL", "SETUSER", "gate"}, append([]string{"reset", "on", ">of-gate"},
					strings.Fields(scriptRule)...)...)...)
			}
		})
	}
}
