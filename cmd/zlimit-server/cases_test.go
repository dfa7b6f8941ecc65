//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/testca"
)

// TestCases runs testdata/cases, in the format of package scenario, with processes. Connections are opened to
// the process that was started last. $DIR is the working directory, which replies call DIR, and $PORT is the
// port of the last process, and $PID its number. Directives of the test's own:
//
//	@start [FILE] ARGS  a server on a port of the system's choice or on --unixsocket, until it is ready;
//	                    what it has logged
//	@hardened           one with docs/hardened.conf; connections log in as the user whose name they have,
//	                    unless a word says that the file is as it is distributed
//	@stdin TEXT         what the next process reads
//	@env NAME=VALUE     a variable of the next process
//	@file NAME TEXT     writes a file
//	@certificates       ca.crt, server.crt and server.key
//	@signal NAME        a signal to the process
//	@log TEXT           wait for a line of its log with the text
//	@until /RE/ NAME: CMD       CMD is sent until its reply matches
//	@each /RE/ NAME: CMD; CMD   each reply matches, shown with its kind
//	@exit               the end of the process: its exit code, the rest of its log, and 2> stderr
//	@run ARGS           the same of a process that runs to its end
//	@here ARGS          the same of the command in this process
//	@read NAME          what is in a file
//	@files              the names in the working directory
func TestCases(t *testing.T) {
	t.Parallel()
	files, err := scenario.Glob("testdata/cases/*.cases", "start", "hardened", "stdin", "env", "file",
		"certificates", "signal", "log", "until", "each", "exit", "run", "here", "read", "files")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				t.Parallel()
				r := &casesRun{t: t, dir: t.TempDir(), vars: map[string]string{}}
				r.vars["DIR"] = r.dir
				own := map[string]func(string) ([]byte, error){}
				for name, do := range r.directives() {
					own[name] = func(text string) ([]byte, error) { return []byte(do(text)), nil }
				}
				player := scenario.Runner{Dial: r.dial, Vars: r.vars, Own: own}
				for _, fault := range player.Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// A casesRun is the last process of a section.
type casesRun struct {
	*process
	t        *testing.T
	dir      string
	vars     map[string]string
	stdin    io.Reader
	env      []string
	hardened *hardened
	clients  map[string]caseClient
}

// A caseClient is a connection to a process.
type caseClient struct{ *client }

func encodeCommand[T string | []byte](words ...T) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

func (c caseClient) Send(args [][]byte) error { return c.SendRaw(encodeCommand(args...)) }

func (c caseClient) SendRaw(b []byte) error { _, err := c.Write(b); return err }
func (c caseClient) Reply() ([]byte, error) { return scenario.ReadReply(c.r, nil) }
func (c caseClient) Rest() ([]byte, error)  { return io.ReadAll(c.r) }
func (c caseClient) Unread() (b []byte)     { b, _ = c.r.Peek(c.r.Buffered()); return b }

// dial returns the connection with a name, to the process that was started last.
func (r *casesRun) dial(name string) (scenario.Client, error) {
	if _, ok := r.clients[name]; ok {
		return r.clients[name], nil
	}
	if r.hardened != nil {
		return caseClient{r.hardened.dial(r.t, strings.TrimRight(name, "0123456789A"))}, nil
	}
	r.clients[name] = caseClient{r.process.dial(r.t)}
	return r.clients[name], nil
}

// show returns what a process has said, as a reply.
func (r *casesRun) show(code int, stdout, stderr string) string {
	lines := []string{fmt.Sprint("exit ", code)}
	for line := range strings.Lines(stdout) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	for line := range strings.Lines(stderr) {
		lines = append(lines, "2> "+strings.TrimSuffix(line, "\n"))
	}
	out := fmt.Sprintf("*%d\r\n", len(lines))
	for _, line := range lines {
		line = strings.ReplaceAll(logLine.ReplaceAllString(line, "$1: $2$3"), r.dir, "DIR")
		out += fmt.Sprintf("$%d\r\n%s\r\n", len(line), line)
	}
	return out
}

func (r *casesRun) words(text string) (words []string) {
	args, err := scenario.Words("x " + text)
	require.NoError(r.t, err)
	for _, a := range args[1:] {
		words = append(words, string(a))
	}
	return words
}

// run starts a process.
func (r *casesRun) run(args []string) {
	r.process = prepare(r.t, args...)
	r.cmd.Dir, r.cmd.Stdin, r.cmd.Env = r.dir, r.stdin, append(os.Environ(), r.env...)
	r.stdin, r.env = nil, nil
	r.process.run(r.t)
}

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

// ask takes a connection. What it returns sends a command there and returns the reply with its kind in front.
func (r *casesRun) ask(name string) func(command string) string {
	c, err := r.dial(name)
	require.NoError(r.t, err)
	return func(command string) string {
		require.NoError(r.t, c.SendRaw([]byte(command+"\r\n")))
		reply, err := c.Reply()
		require.NoError(r.t, err, command)
		shown, err := scenario.Show(reply)
		require.NoError(r.t, err)
		return string(reply[:1]) + shown
	}
}

var (
	eachText  = regexp.MustCompile(`(?s)^/(.+?)/ (?:(\w+): )?(.+)$`)
	readyLine = regexp.MustCompile(`^ready port=(\d+) `)
	logLine   = regexp.MustCompile(`^\{"time":"[^"]+","level":"(\w+)","msg":"([^"]*)"(.*)\}$`)
)

func (r *casesRun) directives() map[string]func(text string) string {
	quiet := func(do func(text string)) func(string) string {
		return func(text string) string { do(text); return "" }
	}
	return map[string]func(text string) string{
		"start": func(text string) string {
			words := r.words(text)
			args := []string{"--bind", "127.0.0.1", "--port", "0", "--ready-line", "yes"}
			if len(words) > 0 && !strings.HasPrefix(words[0], "-") { // a file
				args, words = append(words[:1:1], args...), words[1:]
			}
			r.run(append(args, words...))
			r.clients = map[string]caseClient{}
			var m []string
			said := ""
			for line := ""; m == nil; m = readyLine.FindStringSubmatch(line) {
				said += line
				var err error
				line, err = r.stdout.ReadString('\n')
				require.NoError(r.t, err, "stderr: %s", &r.stderr)
			}
			r.addr, r.port = "127.0.0.1:"+m[1], m[1]
			if i := slices.Index(words, "--unixsocket"); i >= 0 {
				r.addr, r.port = filepath.Join(r.dir, words[i+1]), ""
			}
			r.vars["PORT"], r.vars["PID"] = m[1], strconv.Itoa(r.cmd.Process.Pid)
			return r.show(0, said, "")
		},
		"hardened": quiet(func(text string) {
			r.hardened = startHardened(r.t, text == "")
			r.process = r.hardened.process
		}),
		"stdin": quiet(func(text string) { r.stdin = strings.NewReader(r.words(text)[0]) }),
		"env":   quiet(func(text string) { r.env = append(r.env, text) }),
		"file": quiet(func(text string) {
			words := r.words(text)
			require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, words[0]), []byte(words[1]), 0o600))
		}),
		"certificates": quiet(func(string) {
			ca, err := testca.New("ca")
			require.NoError(r.t, err)
			_, err = ca.Write(r.dir, "ca.crt")
			require.NoError(r.t, err)
			leaf, err := ca.Issue(testca.Leaf{Name: "server"})
			require.NoError(r.t, err)
			_, _, err = leaf.Write(r.dir, "server")
			require.NoError(r.t, err)
		}),
		"signal": quiet(func(name string) {
			r.signal(r.t, map[string]os.Signal{
				"TERM": syscall.SIGTERM, "INT": os.Interrupt, "HUP": syscall.SIGHUP, "KILL": os.Kill,
			}[name])
		}),
		"log": quiet(func(text string) { r.awaitLine(r.t, text) }),
		"until": quiet(func(text string) {
			m := eachText.FindStringSubmatch(text)
			for re, ask := regexp.MustCompile(m[1]), r.ask(m[2]); !re.MatchString(ask(m[3])); {
				continue
			}
		}),
		"each": quiet(func(text string) {
			m := eachText.FindStringSubmatch(text)
			ask := r.ask(m[2])
			for command := range strings.SplitSeq(m[3], "; ") {
				require.Regexp(r.t, m[1], ask(command), command)
			}
		}),
		"exit": func(string) string {
			code, said := r.wait(r.t)
			return r.show(code, said, r.stderr.String())
		},
		"run": func(text string) string {
			r.run(r.words(text))
			code, said := r.wait(r.t)
			return r.show(code, said, r.stderr.String())
		},
		"here": func(text string) string {
			var stdout, stderr bytes.Buffer
			code := run(r.words(text), strings.NewReader(""), &stdout, &stderr)
			return r.show(code, stdout.String(), stderr.String())
		},
		"read": func(name string) string {
			text, err := os.ReadFile(filepath.Join(r.dir, name))
			require.NoError(r.t, err)
			return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
		},
		"files": func(string) string {
			entries, err := os.ReadDir(r.dir)
			require.NoError(r.t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			slices.Sort(names)
			return "+" + strings.Join(names, " ") + "\r\n"
		},
	}
}
