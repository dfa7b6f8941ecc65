package programs

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/zlimittest"
)

var installsNginx = []string{
	"sh", "-c",
	"nginx -v && ls /usr/lib/nginx/modules/ngx_http_lua_module.so /usr/share/lua/5.1/nginx/redis.lua",
}

// programs are the programs with the least number of commands that each must send.
var programs = []struct {
	name     string
	command  []string
	commands int
	installs []string // succeeds if the program is installed; nil if run has installed it
	prints   []string // lines of it: it has limited, and its jobs have run
}{
	{"bull", []string{"node", "node/bull.js"}, 100, nil, []string{`"completed":9`}},
	{"bottleneck", []string{"node", "node/bottleneck.js"}, 100, nil, []string{"fulfilled .*rejected"}},
	{
		"celery",
		[]string{"python/.venv/bin/python", "python/celery_flow.py"},
		300, nil,
		[]string{`\[0, 1, 2, 3, 4, 5\]`, "second time 7", "new rate limit set successfully"},
	},
	{
		"litellm",
		[]string{"python/.venv/bin/python", "python/litellm_flow.py"},
		60, nil,
		[]string{
			"\n(requests 200\n){4}(requests 429\n){2}(tokens 200\n){2}(tokens 429\n){6}(failing 500\n){6}" +
				"(parallel 200 200 429 429 429\n){2}",
		},
	},
	{
		"nginx",
		[]string{"node", "nginx/flow.js"},
		20,
		installsNginx,
		[]string{"200 200 200 200 200 200 429 429 429 429", "200 200 429 429", "\n200\n"},
	},
	{
		"sidekiq",
		[]string{"ruby", "ruby/sidekiq_flow.rb"},
		60,
		[]string{"ruby", "-rsidekiq", "-e", "1"},
		[]string{"jobs done: 0 1 2 3 4 5 6"},
	},
}

var (
	sent     = regexp.MustCompile(`(?m)^(\d+) commands on \d+ connections$`)
	compared = regexp.MustCompile(`(\d+) replies compared, (\d+) differ`)
)

// TestPrograms: what the programs send is answered by zlimit-server as by redis-server.
func TestPrograms(t *testing.T) {
	require.NoError(t, oracle.Find())
	server := os.Getenv("ZLIMIT_SERVER")
	if server == "" {
		server = filepath.Join(t.TempDir(), "zlimit-server")
		build(t, "../..", server, "./cmd/zlimit-server")
	}
	difftest := filepath.Join(t.TempDir(), "difftest")
	build(t, "../../lab", difftest, "./difftest")
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if p.installs != nil {
				require.NoError(t, exec.Command(p.installs[0], p.installs[1:]...).Run(),
					"Debian's packages for %s, which .ci/run installs, are missing", p.name)
			}
			port := freePort(t)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, difftest, append([]string{
				"-server", server, "-record", filepath.Join(t.TempDir(), "recording.txt"),
				"-listen", net.JoinHostPort("127.0.0.1", port), "-times", "1",
			}, p.command...)...)
			cmd.Env = append(os.Environ(), "REDIS_PORT="+port)
			output, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", output)
			for _, line := range p.prints {
				require.Regexp(t, line, string(output))
			}
			require.NotContains(t, string(output), "the command ended with")
			if p.name == "bottleneck" { // every connection of others may have blocked
				require.Contains(t, string(output), "processor time of ")
			}
			require.GreaterOrEqual(t, number(t, sent, output, 1), p.commands)
			require.GreaterOrEqual(t, number(t, compared, output, 1), p.commands)
			require.Zero(t, number(t, compared, output, 2))
			t.Logf("%s", output[len(output)-min(len(output), 800):])
		})
	}
}

// TestAllowInNginx: the limiter of nginx.conf that calls RL.ALLOW.
func TestAllowInNginx(t *testing.T) {
	require.NoError(t, exec.Command(installsNginx[0], installsNginx[1:]...).Run(),
		"Debian's packages for nginx, which .ci/run installs, are missing")
	_, port, err := net.SplitHostPort(zlimittest.RunT(t).Addr())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "nginx/flow.js", "allow")
	cmd.Env = append(os.Environ(), "REDIS_PORT="+port)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Equal(t, "200 200 200 429 429\nRetry-After\n", string(output))
}

func build(t *testing.T, dir, to, what string) {
	t.Helper()
	output, err := exec.Command("go", "build", "-C", dir, "-pgo=off", "-o", to, what).CombinedOutput()
	require.NoError(t, err, "%s", output)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}

func number(t *testing.T, pattern *regexp.Regexp, output []byte, group int) int {
	t.Helper()
	found := pattern.FindSubmatch(output)
	require.NotNil(t, found, "%s", output)
	n, err := strconv.Atoi(string(found[group]))
	require.NoError(t, err)
	return n
}
