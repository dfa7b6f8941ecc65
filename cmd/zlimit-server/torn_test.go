//go:build unix

package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Scripts that write, loop forever and would write again. The log shows when they have
// begun.
const (
	halfScript = `EVAL "redis.call('set','x',1) redis.log(redis.LOG_WARNING,'begun') ` +
		`while true do end redis.call('set','y',1)" 0`
	halfExec   = "MULTI\r\nSET a 1\r\n" + halfScript + "\r\nSET b 1\r\nEXEC"
	readerExec = "MULTI\r\nSET a 1\r\n" + `EVAL "redis.log(redis.LOG_WARNING,'begun') while true do end" 0` +
		"\r\nSET b 1\r\nEXEC"
)

// awaitLine reads the log until a line holds want.
func (p *process) awaitLine(t *testing.T, want string) {
	t.Helper()
	for {
		line, err := p.stdout.ReadString('\n')
		require.NoError(t, err, "no line with %q", want)
		if strings.Contains(line, want) {
			return
		}
	}
}

// awaitBusy waits until a script has exceeded the threshold.
func (c *client) awaitBusy(t *testing.T) {
	t.Helper()
	for !strings.HasPrefix(c.ask(t, "GET n"), "-BUSY") {
		continue
	}
}

// info returns the section persistence of INFO.
func (c *client) info(t *testing.T) string {
	t.Helper()
	size, err := strconv.Atoi(strings.TrimPrefix(c.ask(t, "INFO persistence"), "$"))
	require.NoError(t, err)
	b := make([]byte, size+len("\r\n"))
	_, err = io.ReadFull(c.r, b)
	require.NoError(t, err)
	return string(b)
}

// awaitLoaded waits until the files are loaded.
func (c *client) awaitLoaded(t *testing.T) {
	t.Helper()
	for strings.HasPrefix(c.ask(t, "DBSIZE"), "-LOADING") {
		continue
	}
}

// TestInterruptedScript checks that a script past busy-reply-threshold that is
// interrupted by the end of the process leaves nothing in the log, and neither does
// the EXEC around it.
func TestInterruptedScript(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fsync, script, said string
		end                 func(t *testing.T, p *process, c *client)
	}{
		"SIGTERM, always":         {"always", halfScript, "-ERR Script killed by user", sigterm},
		"SIGTERM, everysec":       {"everysec", halfScript, "-ERR Script killed by user", sigterm},
		"SIGTERM, no":             {"no", halfScript, "-ERR Script killed by user", sigterm},
		"SHUTDOWN NOSAVE, always": {"always", halfScript, "-ERR Script killed by user", shutdownNoSave},
		"SIGTERM in EXEC": {
			"always", halfExec,
			"-EXECABORT Transaction discarded because of: Script killed", sigterm,
		},
		"SHUTDOWN in EXEC": {
			"always", halfExec,
			"-EXECABORT Transaction discarded because of: Script killed", shutdownNoSave,
		},
		"a reader in EXEC": {
			"always", readerExec,
			"-EXECABORT Transaction discarded because of: Script killed", sigterm,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words, _ := anyPort(t)
			words = append(words, "--dir", t.TempDir(), "--appendonly", "yes", "--appendfsync", c.fsync,
				"--busy-reply-threshold", "20", "--save", "3600 1")
			p := start(t, words...)
			other, caller := p.dial(t), p.dial(t)
			other.awaitLoaded(t)
			require.Equal(t, "+OK", other.ask(t, "SET n 1"))
			caller.send(t, c.script+"\r\n")
			p.awaitLine(t, "begun")
			other.awaitBusy(t)
			c.end(t, p, other)
			rest, err := io.ReadAll(caller.r)
			require.NoError(t, err)
			require.Contains(t, "\r\n"+string(rest), "\r\n"+c.said)
			code, said := p.wait(t)
			require.Zero(t, code, "%s%s", said, &p.stderr)

			p = start(t, words...)
			other = p.dial(t)
			other.awaitLoaded(t)
			require.Equal(t, ":1", other.ask(t, "DBSIZE"))
			require.Equal(t, "$1", other.ask(t, "GET n"))
			require.Equal(t, "1", other.line(t))
			p.kill(t)
		})
	}
}

func sigterm(t *testing.T, p *process, _ *client) { p.signal(t, syscall.SIGTERM) }

func shutdownNoSave(t *testing.T, _ *process, c *client) {
	require.Contains(t, c.ask(t, "SHUTDOWN"), "-BUSY")
	c.send(t, "SHUTDOWN NOSAVE\r\n")
}

// TestInterruptedScriptWithinThreshold checks a script that nothing interrupts: the
// second signal ends the process without it.
func TestInterruptedScriptWithinThreshold(t *testing.T) {
	t.Parallel()
	words, _ := anyPort(t)
	words = append(words, "--dir", t.TempDir(), "--appendonly", "yes", "--appendfsync", "always",
		"--busy-reply-threshold", "0")
	p := start(t, words...)
	c := p.dial(t)
	c.awaitLoaded(t)
	require.Equal(t, "+OK", c.ask(t, "SET n 1"))
	c.send(t, halfScript+"\r\n")
	p.awaitLine(t, "begun")
	p.signal(t, syscall.SIGTERM)
	p.awaitLine(t, "finishing the commands under way")
	p.signal(t, syscall.SIGTERM)
	code, _ := p.wait(t)
	require.Equal(t, 1, code)
	p = start(t, words...)
	c = p.dial(t)
	c.awaitLoaded(t)
	require.Equal(t, ":1", c.ask(t, "DBSIZE"))
	p.kill(t)
}

// TestInterruptedScriptIsNotSaved checks that without a log SIGTERM waits for a
// script that has written, as in Redis. The second signal ends it, and the last
// snapshot stays.
func TestInterruptedScriptIsNotSaved(t *testing.T) {
	t.Parallel()
	words, _ := anyPort(t)
	words = append(words, "--dir", t.TempDir(), "--save", "3600 1", "--busy-reply-threshold", "20")
	p := start(t, words...)
	c, other := p.dial(t), p.dial(t)
	c.awaitLoaded(t)
	require.Equal(t, "+OK", c.ask(t, "SET n 1"))
	require.Equal(t, "+OK", c.ask(t, "SAVE"))
	c.send(t, halfScript+"\r\n")
	p.awaitLine(t, "begun")
	other.awaitBusy(t)
	p.signal(t, syscall.SIGTERM)
	p.awaitLine(t, "saving")
	require.Contains(t, other.ask(t, "GET n"), "-BUSY", "the server waits")
	p.signal(t, syscall.SIGTERM)
	p.awaitLine(t, "once more")
	_, said := p.wait(t)
	require.Contains(t, said, "a script that had written was ended: nothing of it is kept")
	p = start(t, words...)
	c = p.dial(t)
	c.awaitLoaded(t)
	require.Equal(t, ":1", c.ask(t, "DBSIZE"))
	p.kill(t)
}

// TestSecondSignalDoesNotSave checks that a second signal ends a save that is under way, whoever asked for
// it, and that nothing is saved after it.
func TestSecondSignalDoesNotSave(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"signal": "", "SHUTDOWN": "SHUTDOWN SAVE\r\n", "BGSAVE": "BGSAVE\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words, _ := anyPort(t)
			dir := t.TempDir()
			words = append(words, "--dir", dir, "--save", "3600 1", "--rdb-key-save-delay", "1000000000")
			p := start(t, words...)
			c, other := p.dial(t), p.dial(t)
			c.awaitLoaded(t)
			require.Equal(t, "+OK", c.ask(t, "SET n 1"))
			c.send(t, begin)
			p.signal(t, os.Interrupt)
			for !strings.Contains(other.info(t), "rdb_bgsave_in_progress:1") {
				continue
			}
			p.signal(t, syscall.SIGTERM)
			_, said := p.wait(t)
			require.Contains(t, said, "not saved")
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, f := range files {
				require.NotContains(t, f.Name(), ".rdb")
			}
		})
	}
}
