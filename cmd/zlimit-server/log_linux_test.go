package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestIsTerminal checks what counts as a terminal: not each character device.
func TestIsTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer terminal.Close()
	require.True(t, isTerminal(terminal))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer file.Close()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	for _, f := range []*os.File{null, file, write} {
		require.False(t, isTerminal(f), f.Name())
	}
	require.False(t, isTerminal(&bytes.Buffer{}))
}

// TestLogFormat checks which format each output gets.
func TestLogFormat(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer terminal.Close()
	for _, c := range []struct {
		format   string
		terminal bool
		json     bool
	}{
		{"auto", true, false},
		{"auto", false, true},
		{"text", false, false},
		{"json", true, true},
	} {
		var out bytes.Buffer
		handler := logHandler(c.format, &out)
		if c.terminal {
			handler = logHandler(c.format, terminal)
		}
		require.NoError(t, handler(&out).Handle(t.Context(), slog.Record{Message: "m"}))
		require.Equal(t, c.json, json.Valid(out.Bytes()), "%+v %s", c, &out)
	}
}

// TestLogOfProcess checks the lines of a server in both formats: levels of redis.log,
// which CONFIG SET changes, and that a script cannot make a line of its own.
func TestLogOfProcess(t *testing.T) {
	t.Parallel()
	args, _ := anyPort(t)
	p := start(t, args...)
	c := p.dial(t)
	say := func(level, text string) {
		require.Equal(t, "+OK", c.ask(t, `EVAL "redis.log(redis.LOG_`+level+`, '`+text+
			`') return redis.status_reply('OK')" 0`))
	}
	say("VERBOSE", "not admitted")
	require.Equal(t, "+OK", c.ask(t, "CONFIG SET loglevel debug"))
	say("DEBUG", `two\\nlines`)
	require.Equal(t, "+OK", c.ask(t, "CONFIG SET loglevel nothing"))
	say("WARNING", "not admitted")
	require.Equal(t, "+OK", c.ask(t, "CONFIG SET loglevel warning"))
	say("WARNING", "the end")
	c.send(t, "SHUTDOWN\r\n")
	code, said := p.wait(t)
	require.Zero(t, code)
	var got []string
	for line := range strings.Lines(said) {
		var one struct{ Level, Msg string }
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		got = append(got, one.Level+" "+one.Msg)
	}
	require.Equal(t, []string{"debug two\nlines", "warning the end"}, got)
}

// awaitFile waits until a file exists and returns its line.
func awaitFile(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; runtime.Gosched() {
		if text, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(text))
		}
		require.True(t, time.Now().Before(deadline), "there is no %s", path)
	}
}

// TestFullLogfile checks that a log which cannot be written does not stop the server.
func TestFullLogfile(t *testing.T) {
	t.Parallel()
	args, port := anyPort(t)
	p := startAsync(t, append(args, "--logfile", "/dev/full")...)
	p.port = awaitFile(t, port)
	p.addr = "127.0.0.1:" + p.port
	c := p.dial(t)
	require.Equal(t, "+OK", c.ask(t, `EVAL "for i = 1, 100 do redis.log(redis.LOG_WARNING, 'x') end `+
		`return redis.status_reply('OK')" 0`))
	require.Equal(t, "+PONG", c.ask(t, "PING"))
	c.send(t, "SHUTDOWN\r\n")
	code, said := p.wait(t)
	require.Zero(t, code)
	require.Empty(t, said+p.stderr.String())
}
