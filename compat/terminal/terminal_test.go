package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waitTimeout is far more than anything here takes on a busy machine.
const waitTimeout = time.Minute

// A screen is a terminal of 120 columns and 60 rows in which one shell command runs.
type screen struct {
	t      *testing.T
	socket string        // of the tmux server, which has no other terminal
	output chan struct{} // has an element if something was written since the last look
}

// open runs a shell command in a new terminal. When the command ends, the screen
// stays, and ends with a line "exit STATUS".
func open(t *testing.T, command string) *screen {
	t.Helper()
	dir, err := os.MkdirTemp("", "terminal") // shorter than t.TempDir: a socket's path is bounded
	require.NoError(t, err)
	s := &screen{t: t, socket: filepath.Join(dir, "tmux"), output: make(chan struct{}, 1)}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() // it may have ended
		require.NoError(t, os.RemoveAll(dir))
	})
	// The command starts when the pipe that reports its output is attached.
	pipe, start := filepath.Join(dir, "output"), filepath.Join(dir, "start")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, syscall.Mkfifo(start, 0o600))
	script := filepath.Join(dir, "command")
	text := fmt.Sprintf("read -r go <'%s'\n%s\necho exit $?\n", start, command)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o600))
	s.tmux("-f", "/dev/null", "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";",
		"set-option", "-g", "remain-on-exit-format", "", ";",
		"new-session", "-d", "-x", "120", "-y", "60", "-e", "HOME="+dir, "-e", "REDISCLI_HISTFILE=/dev/null",
		"sh '"+script+"'", ";", "pipe-pane", "-O", "exec cat >'"+pipe+"'")
	go s.follow(pipe)
	require.NoError(t, os.WriteFile(start, []byte("go\n"), 0o600))
	return s
}

// follow reports that the command has written, until the terminal ends.
func (s *screen) follow(pipe string) {
	f, err := os.Open(pipe)
	if err != nil {
		return // await runs into its timeout
	}
	defer f.Close()
	for buffer := make([]byte, 4096); ; {
		if n, _ := f.Read(buffer); n == 0 {
			return
		}
		select {
		case s.output <- struct{}{}:
		default: // nobody has looked since the last report
		}
	}
}

// tmux runs a tmux command and returns its output.
func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...).CombinedOutput()
	require.NoError(s.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// enter types a text.
func (s *screen) enter(text string) { s.tmux("send-keys", "-l", "--", text) }

// press presses a key by tmux's name of it: Enter, Tab, C-c.
func (s *screen) press(key string) { s.tmux("send-keys", key) }

// text returns what the screen shows, without the blanks at the ends of lines.
func (s *screen) text() string { return tidy(s.tmux("capture-pane", "-p", "-S", "-")) }

// colored returns the same with the escape sequences of colors.
func (s *screen) colored() string { return tidy(s.tmux("capture-pane", "-p", "-e", "-S", "-")) }

func tidy(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// await blocks until the screen matches a pattern, and returns the screen.
func (s *screen) await(pattern string) string {
	s.t.Helper()
	return s.awaitIn(s.text, pattern)
}

// awaitColored is await for a screen with colors.
func (s *screen) awaitColored(pattern string) string {
	s.t.Helper()
	return s.awaitIn(s.colored, pattern)
}

func (s *screen) awaitIn(look func() string, pattern string) string {
	s.t.Helper()
	wanted := regexp.MustCompile("(?m)" + pattern)
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	for {
		shown := look()
		if wanted.MatchString(shown) {
			return shown
		}
		select {
		case <-s.output:
		case <-timeout.C:
			s.t.Fatalf("no %q on the screen:\n%s", pattern, shown)
		}
	}
}

// awaitEnd blocks until the command has ended, and returns what it has left on the
// screen and its exit status.
func (s *screen) awaitEnd() (shown, status string) {
	s.t.Helper()
	shown = s.await(`^exit \d+$`)
	shown, status, _ = cutLast(shown, "exit ")
	return strings.TrimRight(shown, "\n"), status
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}
