package server_test

import (
	"context"
	"net"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

// TestRedisTools runs tools of Redis against the server. For hot keys they lack an LFU
// policy, as with a redis-server without one.
func TestRedisTools(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	_, port, err := net.SplitHostPort(srv.Addr().String())
	require.NoError(t, err)
	c := connect(t, srv)
	require.Equal(t, "+OK", c.call(t, "SET", "text", "value"))
	require.Equal(t, ":2", c.call(t, "RPUSH", "list", "a", "b"))
	c.call(t, "RL.ALLOW", "log", "5", "1m")

	failed := regexp.MustCompile(`(?i)\b(error|ERR|WARN\w*)\b.*`)
	for _, tc := range []struct {
		tool     []string
		complain string // what it reports as missing; empty: nothing
		fails    bool
	}{
		{[]string{"redis-benchmark", "-n", "500", "-q"}, "", false},
		{[]string{"redis-cli", "--bigkeys"}, "", false},
		{[]string{"redis-cli", "--memkeys"}, "", false},
		{[]string{"redis-cli", "--hotkeys"}, `ERR An LFU maxmemory policy is not selected`, true},
		{[]string{"redis-cli", "--scan"}, "", false},
	} {
		t.Run(tc.tool[0]+" "+tc.tool[1], func(t *testing.T) {
			if _, err := exec.LookPath(tc.tool[0]); err != nil {
				t.Skipf("%s is not installed", tc.tool[0])
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, tc.tool[0],
				append([]string{"-p", port}, tc.tool[1:]...)...).CombinedOutput()
			require.Equal(t, tc.fails, err != nil, "%s", out)
			complaint := failed.FindString(string(out))
			if tc.complain == "" {
				require.Empty(t, complaint)
				return
			}
			require.Regexp(t, tc.complain, complaint)
		})
	}
}
