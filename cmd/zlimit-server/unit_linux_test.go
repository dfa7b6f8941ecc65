package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const unitFile = "../../dist/systemd/zlimit.service"

// unit returns the values of a unit file by key.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		out[key] = append(out[key], value)
	}
	return out
}

// TestUnit starts the server as the unit does, with the sample of the configuration, and
// waits for what Type=notify waits for.
func TestUnit(t *testing.T) {
	t.Parallel()
	u := unit(t)
	require.Equal(t, []string{"notify"}, u["Type"])
	require.Len(t, u["ExecStart"], 1)
	dir, err := filepath.Abs(t.TempDir())
	require.NoError(t, err)
	conf, err := filepath.Abs("../../dist/zlimit.conf")
	require.NoError(t, err)
	words := strings.Fields(u["ExecStart"][0])
	require.Equal(t, "/usr/local/bin/zlimit-server", words[0])
	for i, word := range words {
		switch word {
		case "/var/lib/zlimit/zlimit.conf":
			words[i] = conf
		case "/var/lib/zlimit":
			words[i] = dir
		}
	}
	require.True(t, slices.Contains(words, conf) && slices.Contains(words, dir), words)
	socket := filepath.Join(shortDir(t), "notify")
	s := newSupervisor(t, socket)
	args, _ := anyPort(t)
	p := prepare(t, append(words[1:], args...)...)
	p.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket)
	p.run(t)
	p.readGreeting(t, p.stdout)
	require.Equal(t, "STATUS=Loading", s.next(t))
	require.Contains(t, s.next(t), "READY=1")
	require.Equal(t, "+OK", p.dial(t).ask(t, "SET k v"))
	require.Equal(t, "+OK", p.dial(t).ask(t, "SAVE"))
	require.FileExists(t, filepath.Join(dir, "dump.rdb"))
}

// TestUnitVerifies lets systemd check the unit, where it is installed.
func TestUnitVerifies(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze, and the tests need Go and nothing else")
	}
	text, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	// It looks for the program.
	file := filepath.Join(t.TempDir(), "zlimit.service")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text),
		"/usr/local/bin/zlimit-server", binary)), 0o600))
	out, err := exec.Command(analyze, "verify", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
