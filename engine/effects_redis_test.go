package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/store/effects"
)

var recordEffects = flag.Bool("record-effects", false, "record testdata/effects.txt from redis-server")

// effectsRecording holds commands, and what redis-server's append-only file has
// of each:
//
//	== name             a case, which begins with no keys
//	> SET k v EX 10     a command; words that need it are quoted as in Go
//	2> ...              one of a second session
//	2>> BLPOP k 0       one that waits
//	?> SPOP k           one that draws lots: only the key is compared
//	@+ 11               the clock moves on by milliseconds
//
// and below each command the lines of the file.
const effectsRecording = "testdata/effects.txt"

// effectsStep is one line that is no recorded one, and what is recorded below.
type effectsStep struct {
	line    string
	session int
	waits   bool
	lots    bool
	words   [][]byte
	want    []string
}

type effectsCase struct {
	name  string
	steps []effectsStep
}

func parseEffects(t testing.TB, text string) (all []effectsCase) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, effectsCase{name: name})
			continue
		}
		c := &all[len(all)-1]
		step := effectsStep{line: line, session: 1}
		head, rest, _ := strings.Cut(line, " ")
		switch head {
		case ">":
		case "?>":
			step.lots = true
		case "2>", "2>>", "3>>":
			step.session = int(head[0] - '0')
			step.waits = strings.HasSuffix(head, ">>")
		case "@+":
			step.session = 0
		default:
			last := &c.steps[len(c.steps)-1]
			last.want = append(last.want, line)
			continue
		}
		step.words = wordsOf(t, rest)
		c.steps = append(c.steps, step)
	}
	return all
}

// wordsOf returns the words of a command.
func wordsOf(t testing.TB, line string) [][]byte {
	out, err := oracle.Words(line)
	require.NoError(t, err)
	return out
}

// logLines shows a piece of an append-only file, a line for each command.
func logLines(t testing.TB, log []byte) (out []string) {
	r := bufio.NewReader(bytes.NewReader(log))
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return out
		}
		require.Equal(t, byte('*'), line[0], "%q", log)
		n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		require.NoError(t, err)
		var show []string
		for range n {
			line, err = r.ReadString('\n')
			require.NoError(t, err)
			size, err := strconv.Atoi(strings.TrimSpace(line[1:]))
			require.NoError(t, err)
			arg := make([]byte, size+2)
			_, err = io.ReadFull(r, arg)
			require.NoError(t, err)
			word := string(arg[:size])
			if quoted := strconv.Quote(word); word == "" || strings.ContainsAny(word, " \n") || len(quoted) != len(word)+2 {
				word = quoted
			}
			show = append(show, word)
		}
		out = append(out, strings.Join(show, " "))
	}
}

// veiled hides what was drawn by lot.
func veiled(lines []string) (out []string) {
	for _, line := range lines {
		w := strings.Fields(line)
		for i := 2; i < len(w); i++ {
			w[i] = "?"
		}
		out = append(out, strings.Join(w, " "))
	}
	return out
}

// A logBuffer is a journal in memory.
type logBuffer struct {
	mu       sync.Mutex
	bytes    []byte
	selected int
	groups   int    // that were appended
	seen     func() // called by Append, where it is there
}

func (l *logBuffer) Append(g *effects.Group, nowMs int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen != nil {
		l.seen()
	}
	l.bytes, l.selected = g.AppendTo(l.bytes, l.selected)
	l.groups++
	return int64(len(l.bytes))
}

// take returns what was logged since the last call.
func (l *logBuffer) take() []byte {
	out := l.bytes
	l.bytes = nil
	return out
}

// TestEffectsOfRedis: every writing command leaves in the log what it leaves in
// redis-server's append-only file, except where effectsExceptions says.
func TestEffectsOfRedis(t *testing.T) {
	if *recordEffects {
		recordEffectsFromRedis(t)
	}
	text, err := os.ReadFile(effectsRecording)
	require.NoError(t, err)
	met := map[string]bool{}
	for _, c := range parseEffects(t, string(text)) {
		for _, d := range replayEffects(t, c) {
			id := c.name + ": " + d.step.line
			exception, known := effectsExceptions[id]
			met[id] = true
			if !known || exception.ours != strings.Join(d.got, "; ") {
				t.Errorf("%s\n redis: %s\n  ours: %s", id, strings.Join(d.want, "; "), strings.Join(d.got, "; "))
			}
		}
	}
	for id := range effectsExceptions {
		require.True(t, met[id], "no exception any more: %s", id)
	}
}

type effectsDifference struct {
	step      effectsStep
	want, got []string
}

// replayEffects runs a case and returns where its log is another.
func replayEffects(t testing.TB, c effectsCase) (out []effectsDifference) {
	e, h := newEngine(t)
	log := &logBuffer{}
	e.Record(log)
	sessions := [4]*engine.Session{}
	for i := range sessions {
		sessions[i] = newSession(t, e)
	}
	for _, step := range c.steps {
		if step.session == 0 {
			ms, err := strconv.ParseInt(string(step.words[0]), 10, 64)
			require.NoError(t, err)
			h.pass(ms)
			continue
		}
		sessions[step.session].Do(step.words)
		for _, s := range sessions {
			if s.Blocked() != nil && s.Ready() {
				s.Resume()
			}
		}
		got, want := logLines(t, log.take()), step.want
		if step.lots {
			got, want = veiled(got), veiled(want)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			out = append(out, effectsDifference{step, want, got})
		}
	}
	return out
}

// TestEffectsAreCompared: a log that lacks a command, or has it otherwise, is
// noticed.
func TestEffectsAreCompared(t *testing.T) {
	for _, planted := range []string{"== x\n> SET k v\n", "== x\n> GET k\nSET k v\n", "== x\n> set k v\nSET k v\n", "== x\n> SET k v EX 1\nSET k v PXAT 1700000001001\n"} {
		require.NotEmpty(t, replayEffects(t, parseEffects(t, planted)[0]), planted)
	}
	require.Empty(t, replayEffects(t, parseEffects(t, "== x\n> SET k v EX 1\nSET k v PXAT 1700000001000\n")[0]))
}

// recordEffectsFromRedis asks redis-server, case by case.
func recordEffectsFromRedis(t *testing.T) {
	text, err := os.ReadFile(effectsRecording)
	require.NoError(t, err)
	dir := t.TempDir()
	nowMs := int64(startNowMs)
	r, err := oracle.Start(oracle.Options{NowMs: nowMs, Args: []string{
		"--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-percentage", "0",
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	incr, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	require.NoError(t, err)
	require.Len(t, incr, 1)
	read := 0
	logged := func() []string {
		all, err := os.ReadFile(incr[0])
		require.NoError(t, err)
		piece := all[read:]
		read = len(all)
		return logLines(t, piece)
	}
	var out strings.Builder
	for _, c := range parseEffects(t, string(text)) {
		nowMs = startNowMs
		require.NoError(t, r.SetClock(nowMs))
		clients := [4]*effectsClient{}
		for i := range clients {
			clients[i] = dialEffects(t, r.Addr())
		}
		clients[0].do(t, "FLUSHALL")
		clients[0].do(t, "FUNCTION", "FLUSH")
		logged()
		fmt.Fprintf(&out, "== %s\n", c.name)
		for _, step := range c.steps {
			fmt.Fprintln(&out, step.line)
			if step.session == 0 {
				ms, _ := strconv.ParseInt(string(step.words[0]), 10, 64)
				nowMs += ms
				require.NoError(t, r.SetClock(nowMs))
				continue
			}
			client := clients[step.session]
			if client.waiting {
				client.reply(t)
				client.waiting = false
			}
			client.send(t, step.words)
			if client.waiting = step.waits; !step.waits {
				client.reply(t)
			} else {
				for !strings.Contains(clients[0].do(t, "CLIENT", "LIST", "ID", client.id), "flags=b") {
				}
			}
			for _, line := range logged() {
				fmt.Fprintln(&out, line)
			}
		}
		for _, client := range clients {
			require.NoError(t, client.conn.Close())
		}
	}
	require.NoError(t, os.WriteFile(effectsRecording, []byte(out.String()), 0o644))
}

type effectsClient struct {
	conn    net.Conn
	r       *bufio.Reader
	id      string
	waiting bool // a reply is still to come
}

func dialEffects(t *testing.T, addr string) *effectsClient {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	c := &effectsClient{conn: conn, r: bufio.NewReader(conn)}
	c.id = c.do(t, "CLIENT", "ID")
	return c
}

func (c *effectsClient) do(t *testing.T, line ...string) string {
	var words [][]byte
	for _, w := range line {
		words = append(words, []byte(w))
	}
	c.send(t, words)
	return c.reply(t)
}

func (c *effectsClient) send(t *testing.T, words [][]byte) {
	_, err := c.conn.Write(asLogged(words))
	require.NoError(t, err)
}

// reply reads a reply and returns its first word.
func (c *effectsClient) reply(t *testing.T) string {
	if words := c.words(t); len(words) > 0 {
		return words[0]
	}
	return ""
}

// words reads a reply and returns its words, whatever its depth.
func (c *effectsClient) words(t testing.TB) (out []string) {
	line, err := c.r.ReadString('\n')
	require.NoError(t, err)
	line = strings.TrimSpace(line)
	switch n, _ := strconv.Atoi(line[1:]); {
	case n < 0 && (line[0] == '$' || line[0] == '*'):
		return []string{"(nil)"}
	case line[0] == '$':
		bulk := make([]byte, n+2)
		_, err = io.ReadFull(c.r, bulk)
		require.NoError(t, err)
		return []string{string(bulk[:n])}
	case line[0] == '*':
		for range n {
			out = append(out, c.words(t)...)
		}
		return out
	}
	return []string{line[1:]}
}

// asLogged is a command in a log in which its database is selected.
func asLogged(words [][]byte) []byte {
	var g effects.Group
	g.Add(0, words...)
	out, _ := g.AppendTo(nil, 0)
	return out
}
