package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/store/effects"
)

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

// logLines formats a piece of an append-only file, a line for each command.
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
			if quoted := strconv.Quote(word); word == "" || strings.ContainsAny(word, " \n") ||
				len(quoted) != len(word)+2 {
				word = quoted
			}
			show = append(show, word)
		}
		out = append(out, strings.Join(show, " "))
	}
}

// veiled masks random words.
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

// take returns the commands that were logged since the last call.
func (l *logBuffer) take() []byte {
	out := l.bytes
	l.bytes = nil
	return out
}

// TestEffectsOfRedis checks that every writing command leaves in the log what it leaves
// in redis-server's append-only file, except for effectsExceptions.
func TestEffectsOfRedis(t *testing.T) {
	dir := t.TempDir()
	text := recording(t, effectsRecording, []string{
		"--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no",
		"--auto-aof-rewrite-percentage", "0",
	}, func(r *oracle.Redis, _ *effectsClient, old string) string { return recordEffects(t, r, dir, old) })
	met := map[string]bool{}
	for _, c := range parseEffects(t, text) {
		for _, d := range replayEffects(t, c) {
			id := c.name + ": " + d.step.line
			exception, known := effectsExceptions[id]
			met[id] = true
			if !known || exception.ours != strings.Join(d.got, "; ") {
				t.Errorf("%s\n redis: %s\n  ours: %s", id, strings.Join(d.want, "; "),
					strings.Join(d.got, "; "))
			}
		}
	}
	for id := range effectsExceptions {
		require.True(t, met[id], "no exception any more: %s", id)
	}
}

// replayEffects runs a case and returns the steps at which its log differs.
func replayEffects(t testing.TB, c effectsCase) []effectsDifference {
	e, h := newEngine(t)
	log := &logBuffer{}
	e.Record(log)
	return replaySteps(t, e, h, c, func() []string { return logLines(t, log.take()) }, veiled)
}

// TestEffectsAreCompared checks that a missing or different command in a log is found.
func TestEffectsAreCompared(t *testing.T) {
	for _, planted := range []string{
		"== x\n> SET k v\n", "== x\n> GET k\nSET k v\n",
		"== x\n> set k v\nSET k v\n", "== x\n> SET k v EX 1\nSET k v PXAT 1700000001001\n",
	} {
		require.NotEmpty(t, replayEffects(t, parseEffects(t, planted)[0]), planted)
	}
	require.Empty(t, replayEffects(t,
		parseEffects(t, "== x\n> SET k v EX 1\nSET k v PXAT 1700000001000\n")[0]))
}

// recordEffects records every case from redis-server.
func recordEffects(t *testing.T, r *oracle.Redis, dir, old string) string {
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
	for _, c := range parseEffects(t, old) {
		recordSteps(t, r, c, &out, logged)
	}
	return out.String()
}

// asLogged is a command in a log in which its database is selected.
func asLogged(words [][]byte) []byte {
	var g effects.Group
	g.Add(0, words...)
	out, _ := g.AppendTo(nil, 0)
	return out
}
