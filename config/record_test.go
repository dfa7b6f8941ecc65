package config

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/words"
)

// The replies of redis-server 7.0.15 are recorded in testdata, for machines without
// Redis. -record replaces the lines that start with <; the rest of the files is
// written by hand.
var record = flag.Bool("record", false, "run redis-server 7.0.15 and update testdata")

// recordedCase is a block of a testdata file: lines that begin with a mark and a
// space.
type recordedCase struct {
	lines  []string // all but the replies
	redis  []string // the lines after <
	ours   []string // the lines after =: our different reply
	reason string   // the line after !: the reason for it
}

// marked returns the text of the lines with a mark.
func (c *recordedCase) marked(prefix string) []string {
	var out []string
	for _, line := range c.lines {
		if text, ok := strings.CutPrefix(line, prefix+" "); ok {
			out = append(out, text)
		} else if line == prefix {
			out = append(out, "")
		}
	}
	return out
}

// difference returns how got differs from Redis' reply, or from ours if the case
// has a reason for another one. It returns "" if it does not.
func (c *recordedCase) difference(got []string) string {
	want := c.redis
	if c.reason != "" {
		want = c.ours
		if slices.Equal(c.redis, got) {
			return fmt.Sprintf("no different from Redis any more: %q", got)
		}
	}
	if slices.Equal(want, got) {
		return ""
	}
	return fmt.Sprintf("want %q\n got %q", want, got)
}

func (c *recordedCase) compare(t *testing.T, got []string) {
	t.Helper()
	require.Empty(t, c.difference(got))
}

// readCases reads a file of cases, separated by empty lines. Text before the first
// case and lines with # belong to the following case.
func readCases(t *testing.T, file string) []*recordedCase {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var cases []*recordedCase
	for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n\n") {
		c := &recordedCase{}
		for line := range strings.SplitSeq(block, "\n") {
			rest := strings.TrimPrefix(line[min(1, len(line)):], " ")
			switch {
			case strings.HasPrefix(line, "<"):
				c.redis = append(c.redis, rest)
			case strings.HasPrefix(line, "="):
				c.ours = append(c.ours, rest)
			case strings.HasPrefix(line, "!"):
				require.Empty(t, c.reason, "two reasons in one case of %s", file)
				c.reason = rest
			default:
				c.lines = append(c.lines, line)
			}
		}
		require.Equal(t, c.reason == "", c.ours == nil, "a different reply needs a reason: %q", c.lines)
		cases = append(cases, c)
	}
	return cases
}

func writeCases(t *testing.T, file string, cases []*recordedCase) {
	t.Helper()
	var b strings.Builder
	for i, c := range cases {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range c.lines {
			b.WriteString(line + "\n")
		}
		for _, line := range c.redis {
			b.WriteString(strings.TrimSuffix("< "+line, " ") + "\n")
		}
		if c.reason != "" {
			b.WriteString("! " + c.reason + "\n")
		}
		for _, line := range c.ours {
			b.WriteString(strings.TrimSuffix("= "+line, " ") + "\n")
		}
	}
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
}

// redisServer is a redis-server for one test, on a unix socket.
type redisServer struct {
	net.Conn
	in     *bufio.Reader
	output *bytes.Buffer
}

// startRedis runs redis-server in dir and connects to socket. If it does not start,
// startRedis returns nil and its output. Package oracle does not do here: it adds options of
// its own to the command line, which is what these cases are about, and has no stdin.
func startRedis(t *testing.T, dir, socket string, stdin io.Reader, args ...string) (*redisServer, string) {
	t.Helper()
	const timeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 10*timeout)
	cmd := exec.CommandContext(ctx, "redis-server", args...)
	output := &bytes.Buffer{}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, stdin, output, output
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	for end := time.Now().Add(timeout); time.Now().Before(end); {
		if conn, err := net.Dial("unix", socket); err == nil {
			return &redisServer{Conn: conn, in: bufio.NewReader(conn), output: output}, ""
		}
		select {
		case <-ended:
			return nil, output.String()
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	<-ended
	require.Fail(t, "redis-server neither exits nor listens", "%q\n%s", args, output)
	return nil, ""
}

// do sends a command and returns the reply: one line, or the elements.
func (r *redisServer) do(t *testing.T, args ...string) []string {
	t.Helper()
	fmt.Fprintf(r, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(r, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return r.reply(t)
}

func (r *redisServer) reply(t *testing.T) []string {
	t.Helper()
	line, err := r.in.ReadString('\n')
	require.NoError(t, err)
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '+', '-':
		return []string{line[1:]}
	case '$':
		n, err := strconv.Atoi(line[1:])
		require.NoError(t, err)
		b := make([]byte, n+2)
		_, err = io.ReadFull(r.in, b)
		require.NoError(t, err)
		return []string{string(b[:n])}
	case '*':
		n, err := strconv.Atoi(line[1:])
		require.NoError(t, err)
		var out []string
		for range n {
			out = append(out, r.reply(t)...)
		}
		return out
	}
	require.Fail(t, "unknown reply", "%q", line)
	return nil
}

// formatPairs formats the reply of CONFIG GET as sorted lines: Redis' order is that
// of a hash table.
func formatPairs(pairs []string) []string {
	var lines []string
	for pair := range slices.Chunk(pairs, 2) {
		lines = append(lines, pair[0]+" "+words.Quote(pair[1]))
	}
	slices.Sort(lines)
	return lines
}

func wordsOf(t *testing.T, line string) []string {
	t.Helper()
	parts, err := splitLine(line)
	require.NoError(t, err)
	return parts
}

var (
	versionLine = regexp.MustCompile(`\*\*\* FATAL CONFIG FILE ERROR .* \*\*\*\n`)
	logPrefix   = regexp.MustCompile(`(?m)^\d+:C .* # `)
	logInstant  = regexp.MustCompile(`(?m)^\d+:M .*\d\d:\d\d\.\d{3} `)
	processID   = regexp.MustCompile(`pid=\d+`)
	stdinNotice = regexp.MustCompile(`(?m)^Reading config from stdin\n`)
)

// startError returns what a server that did not start printed about its
// configuration, without the name of the server, its process id and the time.
func startError(output, dir string) []string {
	output = stdinNotice.ReplaceAllString(logPrefix.ReplaceAllString(output, ""), "")
	output = processID.ReplaceAllString(logInstant.ReplaceAllString(output, "PID:M TIME "), "pid=PID")
	output = strings.ReplaceAll(versionLine.ReplaceAllString(output, ""), dir, "DIR")
	return strings.Split(strings.TrimSpace(output), "\n")
}

func caseFile(name string) string { return filepath.Join("testdata", name) }
