//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
)

// earlierCommit is the last one whose logs have a member for each unit, as 0.1.0 has.
const earlierCommit = "d781e177879a"

// buildEarlier builds the server of that commit.
func buildEarlier(t *testing.T) string {
	t.Helper()
	if race.Enabled {
		t.Skip("the processes are the same without the race detector")
	}
	dir := t.TempDir()
	if exec.Command("git", "cat-file", "-e", earlierCommit).Run() != nil {
		t.Skip("the history does not reach back to " + earlierCommit + ": a shallow clone, or none")
	}
	unpack := exec.Command("sh", "-c", `git -C ../.. archive "$0" | tar -x -C "$1"`, earlierCommit, dir)
	out, err := unpack.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program := filepath.Join(dir, "zlimit-server.earlier")
	build := exec.Command("go", "build", "-C", dir, "-pgo=off", "-o", program, "./cmd/zlimit-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err = build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// An exchange is a command and its reply, without the times at the end of a decision.
type exchange struct{ line, want string }

// talk runs exchanges on a server, once it has loaded its files.
func (p *process) talk(t *testing.T, exchanges []exchange) {
	t.Helper()
	c := p.dial(t)
	for strings.HasPrefix(c.ask(t, "PING"), "-LOADING") { // each round trip takes its time
	}
	times := regexp.MustCompile(`^(\[\d+ \d+ \d+) \d+ \d+\]$`)
	for _, x := range exchanges {
		c.send(t, x.line+"\r\n")
		got, err := scenario.ShowNext(c.r)
		require.NoError(t, err, x.line)
		require.Equal(t, x.want, times.ReplaceAllString(got, "$1]"), x.line)
	}
}

// TestEarlierRelease: what the earlier server has written goes on here, and what it cannot read it refuses.
func TestEarlierRelease(t *testing.T) {
	t.Parallel()
	earlier := buildEarlier(t)
	serve := func(t *testing.T, program string, args ...string) *process {
		port, _ := anyPort(t)
		p := prepare(t, append(port, args...)...)
		p.cmd.Path = program
		p.run(t)
		p.readGreeting(t, p.stdout)
		return p
	}
	stop := func(t *testing.T, p *process) {
		p.dial(t).send(t, "SHUTDOWN\r\n")
		code, said := p.wait(t)
		require.Zero(t, code, said)
	}
	const foreign = "ERR key holds a sorted set that RL.ALLOW did not write"
	before := []exchange{
		{"RL.ALLOW plain 10 1h", "[1 10 9]"},
		{"RL.ALLOW plain 10 1h COST 2", "[2 10 7]"},
		{"RL.REFUND plain 1", "1"},
		{"RL.ALLOW run 1000 1h COST 100", "[100 1000 900]"},
		{"RL.RESERVE run 1000 1h 50 HOLD 1h ID a", "[50 1000 850]"},
		{"RL.RESERVE run 1000 1h 30 HOLD 1h ID b", "[30 1000 820]"},
		{"RL.SETTLE run b 10", "[10 0]"},
		{"RL.ALLOW spilled 20000 1h COST 20000", "[20000 20000 0]"},
	}
	after := []exchange{
		{"RL.ALLOW plain 10 1h PEEK", "[1 10 8]"},
		{"ZCARD plain", "2"},
		{"RL.SETTLE run a 20", "[20 0]"},
		{"RL.SETTLE run b 99", "[10 0]"},
		{"RL.ALLOW run 1000 1h COST 7", "[7 1000 863]"},
		{"ZCARD run", "131"},
		{"RL.ALLOW spilled 50000 1h COST 30000", "[30000 50000 0]"},
		{"RL.REFUND spilled 40000", "40000"},
	}
	again := []exchange{
		{"RL.ALLOW run 1000 1h PEEK", "[1 1000 863]"},
		{"RL.ALLOW spilled 50000 1h PEEK", "[1 50000 40000]"},
	}
	back := []exchange{
		{"RL.ALLOW plain 10 1h PEEK", "[1 10 8]"},
		{"RL.ALLOW run 1000 1h", foreign},
		{"RL.REFUND run 1", foreign},
		{"ZCARD run", "131"},
		{"RL.ALLOW other 10 1h COST 2", "[2 10 8]"},
	}
	for _, files := range []struct {
		name string
		args []string
	}{
		{"append-only file", []string{"--appendonly", "yes", "--save", ""}},
		{"append-only file without a snapshot", []string{
			"--appendonly", "yes", "--save", "", "--aof-use-rdb-preamble", "no",
		}},
		{"snapshot", []string{"--save", "3600 1"}},
	} {
		t.Run(files.name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(files.args, []string{"--dir", t.TempDir()})
			for _, run := range []struct {
				program   string
				exchanges []exchange
			}{{earlier, before}, {binary, after}, {binary, again}, {earlier, back}} {
				p := serve(t, run.program, args...)
				p.talk(t, run.exchanges)
				stop(t, p)
			}
		})
	}
	for _, roles := range []struct {
		name, master, replica string
		line                  string // of the master
		want                  string // of RL.ALLOW PEEK at the replica
	}{
		{"a plain log, replica of 0.1.0", binary, earlier, "RL.ALLOW k 900 1h", "[1 900 899]"},
		{"units, replica of 0.1.0", binary, earlier, "RL.ALLOW k 900 1h COST 100", foreign},
		{"a run, master of 0.1.0", earlier, binary, "RL.ALLOW k 900 1h COST 100", "[1 900 800]"},
		{"a hold, master of 0.1.0", earlier, binary, "RL.RESERVE k 900 1h 9 HOLD 1h ID a", "[1 900 891]"},
	} {
		t.Run(roles.name, func(t *testing.T) {
			t.Parallel()
			master := serve(t, roles.master, "--repl-diskless-sync-delay", "0")
			replica := serve(t, roles.replica, "--replicaof", "127.0.0.1 "+master.port)
			m, r := master.dial(t), replica.dial(t)
			ask := func(c *client, line string) string {
				c.send(t, line+"\r\n")
				reply, err := scenario.ShowNext(c.r)
				require.NoError(t, err, line)
				return reply
			}
			require.Equal(t, "1", ask(m, "WAIT 1 0")) // it follows
			require.Regexp(t, `^\[\d+ 900 \d+ 0 3600000\]$`, ask(m, roles.line))
			require.Equal(t, "1", ask(m, "WAIT 1 0"))
			replica.talk(t, []exchange{{"RL.ALLOW k 900 1h PEEK", roles.want}})
			require.Equal(t, ask(m, "ZRANGE k 0 -1 WITHSCORES"), ask(r, "ZRANGE k 0 -1 WITHSCORES"))
		})
	}
}
