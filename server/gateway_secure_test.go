package server_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/testca"
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

// TestGatewaySecured: every kind of connection to the upstream logs in over TLS.
func TestGatewaySecured(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	for name, up := range securedServers(t, c, "~* &* +@all") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.gatewayTo(t, "rediss://"+up.addr, "--upstream-user", "gate", "--upstream-password",
				"of-gate")
			for _, step := range []struct{ line, want string }{
				{"RL.ALLOW k 2 1h", "*5\r\n:1\r\n:2\r\n:1\r\n:0\r\n:3600000"},
				{"SET s v", "+OK"},
				{"LPUSH l e", ":1"},
				{"BLPOP l 1", "*2\r\n$1\r\nl\r\n$1\r\ne"},
				{"WATCH s", "+OK"},
				{"MULTI", "+OK"},
				{"GET s", "+QUEUED"},
				{"EXEC", "*1\r\n$1\r\nv"},
				{"SUBSCRIBE c", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1"},
			} {
				require.Equal(t, step.want, w.call(t, strings.Fields(step.line)...), step.line)
			}
			require.Equal(t, ":1", up.call("PUBLISH", "c", "m"))
			require.Equal(t, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm", w.reply(t))
			require.NotContains(t, up.call("CLIENT", "LIST"), "user=default name= ")
			require.Contains(t, up.call("CLIENT", "LIST"), "user=gate")
		})
	}
}

// TestGatewayIsRefused: what a client of a gateway reads if the upstream does not let it in.
func TestGatewayIsRefused(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	expiredCert, expiredKey := c.issue(t, "expired", testca.Leaf{
		Name: "expired", NotAfter: time.Now().Add(-time.Hour),
	})
	for name, up := range securedServers(t, c, "~api:* -@all +get") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const gate = "rediss+single://gate:of-gate@"
			for _, row := range []struct {
				name, url  string
				directives []string
				line, want string
			}{
				{"wrong password", "rediss+single://gate:no@", nil, "GET api:k", "WRONGPASS"},
				{"no TLS", "redis+single://gate:of-gate@", nil, "GET api:k", "UPSTREAM"},
				// What the server says of a certificate may be lost: it closes the connection.
				{"no certificate", gate, []string{"--upstream-tls-cert-file", ""}, "GET api:k", "UPSTREAM"},
				{
					"expired certificate", gate,
					[]string{"--upstream-tls-cert-file", expiredCert, "--upstream-tls-key-file", expiredKey},
					"GET api:k", "UPSTREAM",
				},
				{
					"another authority", gate,
					[]string{"--upstream-tls-ca-cert-file", c.otherCA},
					"GET api:k", "certificate signed by unknown authority",
				},
				{"no FUNCTION", gate, nil, "RL.ALLOW api:k 1 1s", "'function|load'"},
				{"no such command", gate, nil, "SET api:k 1", "'set'"},
				{"no such key", gate, nil, "GET k", "NOPERM"},
				{"permitted", gate, nil, "GET api:k", "$-1"},
			} {
				w := c.gatewayTo(t, row.url+up.addr, row.directives...)
				reply := w.call(t, strings.Fields(row.line)...)
				require.Contains(t, reply, row.want, row.name)
			}
		})
	}
}

// TestGatewayIsRefusedAKey: a key that the gateway's user may not use says nothing about others.
func TestGatewayIsRefusedAKey(t *testing.T) {
	t.Parallel()
	c := newCertificates(t)
	rule := strings.Replace(limiterRule, "~*", "~api:*", 1)
	for name, up := range securedServers(t, c, rule) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.gatewayTo(t, "rediss+single://gate:of-gate@"+up.addr)
			for range 2 {
				require.Contains(t, w.call(t, "RL.ALLOW", "other", "9", "1h"), "NOPERM")
				require.Contains(t, w.call(t, "RL.ALLOW", "api:k", "9", "1h"), "*5\r\n:1\r\n")
			}
			require.Contains(t, w.call(t, "INFO", "upstream"), "decides_by=functions")
		})
	}
}
