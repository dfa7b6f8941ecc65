package sentinel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../../docs/high-availability.md"

// A step is lines of the page's section "Try it on one machine" that are typed at once: a line with a
// comment, or all up to the next one.
type step struct{ text, comment string }

// steps returns the steps of text in its blocks of sh.
func steps(text string) (all []step) {
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		plain := ""
		for line := range strings.Lines(block[1]) {
			command, comment, found := strings.Cut(line, "  # ")
			nested := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "for ") || line == "done\n"
			if !found {
				command, comment, found = strings.Cut(line, " # ")
			}
			switch {
			case !found && (nested || strings.HasPrefix(line, "mkdir") || strings.HasPrefix(line, "echo")):
				plain += line
				continue
			case plain != "":
				all = append(all, step{text: plain})
				plain = ""
			}
			all = append(all, step{strings.TrimSpace(command), strings.TrimSpace(comment)})
		}
		if plain != "" {
			all = append(all, step{text: plain})
		}
	}
	return all
}

// A shell is what a reader types into.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// run runs lines and returns what they print, in one line, and whether the last one has succeeded.
func (s *shell) run(lines string) (printed string, ok bool) {
	s.t.Helper()
	const end = "--end of the step--"
	_, err := fmt.Fprintf(s.in, "%s\necho %s $?\n", strings.TrimSpace(lines), end)
	require.NoError(s.t, err)
	var words []string
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(s.t, err, "%s", lines)
		if before, status, found := strings.Cut(line, end); found {
			words = append(words, strings.Fields(before)...)
			return strings.Join(words, " "), strings.TrimSpace(status) == "0"
		}
		words = append(words, strings.Fields(line)...)
	}
}

// TestWalkThrough types what the page says, with free ports in the place of its own, and requires what it
// promises.
func TestWalkThrough(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("the walk-through needs redis-cli (Debian: redis-tools): ", err)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Try it on one machine\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	ports := freePorts(t, 6)
	own := map[string]string{}
	for i, port := range []string{"7001", "7002", "7003", "27001", "27002", "27003"} {
		own[port] = strconv.Itoa(ports[i])
	}
	number := regexp.MustCompile(`\b2?700[123]\b`)
	section = number.ReplaceAllStringFunc(section, func(port string) string { return own[port] })

	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.Symlink(paths[zlimit], filepath.Join(bin, "zlimit-server")))
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var complaints bytes.Buffer // and what bash says of processes that are killed
	cmd.Stderr = &complaints
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // whatever the shell has started is in its group
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(complaints.String())
		}
	})
	sh := &shell{t, in, bufio.NewReader(out)}

	master := "127.0.0.1 " + own["7001"] // as GET-MASTER-ADDR-BY-NAME prints it
	another := func(printed string) error {
		if !strings.HasPrefix(printed, "127.0.0.1 ") || printed == master {
			return errors.New("it is not another one")
		}
		return nil
	}
	matches := func(pattern string) func(string) error {
		return func(printed string) error {
			if !regexp.MustCompile(pattern).MatchString(printed) {
				return fmt.Errorf("it does not match %s", pattern)
			}
			return nil
		}
	}
	// What a comment promises. A step with a promise is repeated until that holds, unless it consumes a unit.
	promises := map[string]func(printed string) error{
		"OK 3 usable Sentinels. ...": matches(`^OK 3 usable Sentinels\.`),
		"each: slaves=2,sentinels=3": matches(
			`^(# Sentinel .*slaves=2,sentinels=3 ?){3}$`),
		"connected_slaves:2":                      matches(`connected_slaves:2 .*state=online.*state=online`),
		"1 3 2 0 600000":                          matches(`^1 3 2 0 600000$`),
		"a replica answers, and consumes nothing": matches(`^1 3 2 0 \d+$`),
		"the last line: 2":                        matches(` 2$`),
		"1 3 1 0 ...":                             matches(`^1 3 1 0 \d+$`),
		"slave, the master, connected":            matches(`^slave 127\.0\.0\.1 \d+ connected \d+$`),
		"another one, after a moment":             another,
		"READONLY You can't write against a read only replica.": matches(
			`^READONLY You can't write against a read only replica\.$`),
	}
	consumes := regexp.MustCompile(`RL\.ALLOW \S+ \S+ \S+$`)
	kept := 0
	for _, one := range steps(section) {
		promise, promised := promises[one.comment]
		require.True(t, promised || one.comment == "", "no check for %q", one.comment)
		switch {
		case promised:
			kept++
		case strings.Contains(one.text, "SENTINEL FAILOVER"):
			promise = matches("^OK$")
		case strings.HasSuffix(one.text, "GET-MASTER-ADDR-BY-NAME limits"):
			promise = another
		case strings.HasPrefix(one.text, "grep "):
			promise = matches(`^replicaof 127\.0\.0\.1 \d+$`)
		default:
			promise = func(string) error { return nil }
		}
		printed := ""
		try := func() error {
			var ok bool
			printed, ok = sh.run(one.text)
			if err := promise(printed); err != nil || !ok {
				return fmt.Errorf("it prints %q: %w", printed, err)
			}
			return nil
		}
		if consumes.MatchString(one.text) && !strings.Contains(one.comment, "READONLY") {
			require.NoError(t, try(), one.text)
		} else {
			await(t, one.text, try)
		}
		if strings.Contains(one.text, "GET-MASTER-ADDR-BY-NAME") && strings.HasPrefix(printed, "127") {
			master = printed
		}
	}
	require.Equal(t, len(promises), kept, "promises that the page makes")
	printed, _ := sh.run("wait; jobs -r")
	require.Empty(t, printed, "servers that run at the end")
}

// TestSteps: lines with comments are steps of their own, and loops are not torn.
func TestSteps(t *testing.T) {
	t.Parallel()
	got := steps("text\n```sh\nmkdir ha && cd ha\nfor i in 1; do\n\tmkdir $i\ndone\n```\nand\n```sh\n" +
		"ask 1    # yes\nask 2 # no\nask 3\n```\n```\nno step\n```\n")
	require.Equal(t, []step{
		{"mkdir ha && cd ha\nfor i in 1; do\n\tmkdir $i\ndone\n", ""},
		{"ask 1", "yes"},
		{"ask 2", "no"},
		{"ask 3", ""},
	}, got)
}
