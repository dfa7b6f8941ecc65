package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/logging"
)

// hostile is what a client may send as a name, a password or a script's message.
const hostile = "a\nb\r\x1b[2J\u0085\u202e\xff\x00 \"c\" =\\"

func text(w io.Writer) slog.Handler { return logging.Text(w, 42) }

// TestTextLines compares lines with the format of Redis' log.
func TestTextLines(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		msg   string
		attrs []any
		want  string
	}{
		{logging.Debug, "m", nil, ". m"},
		{logging.Verbose, "m", nil, "- m"},
		{logging.Notice, "loaded", []any{"keys", 3, "file", "a.rdb"}, "* loaded keys=3 file=a.rdb"},
		{logging.Warning, "m", []any{"error", errors.New("disk full")}, `# m error="disk full"`},
		{slog.LevelError, "m", []any{"for", 5 * time.Millisecond}, "# m for=5ms"},
		{slog.Level(-100), "m", []any{"empty", ""}, `. m empty=""`},
		{logging.Notice, "m", []any{slog.Group("g", "a", 1, "b", true), slog.Attr{}}, "* m g.a=1 g.b=true"},
		{
			logging.Notice, hostile,
			[]any{"name", hostile, "k\n", "v"},
			`* a\nb\r\x1b[2J\u0085\u202e\xff\x00 "c" =\ ` +
				`name="a\nb\r\x1b[2J\u0085\u202e\xff\x00 \"c\" =\\" k\n=v`,
		},
	} {
		var out strings.Builder
		slog.New(text(&out)).Log(t.Context(), c.level, c.msg, c.attrs...)
		require.Regexp(t, `^42:M \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d{3} `, out.String())
		require.Equal(t, c.want+"\n", out.String()[len("42:M 23 Nov 2026 22:20:15.123 "):])
	}
}

func TestTextKeepsAttributes(t *testing.T) {
	var out strings.Builder
	slog.New(text(&out)).With("a", 1).WithGroup("g").With("b", 2).WithGroup("").Info("m", "c", 3)
	require.True(t, strings.HasSuffix(out.String(), " * m a=1 g.b=2 g.c=3\n"), out.String())
}

// TestJSONLines checks that each record is one line with an object, whatever it holds.
func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	l := logging.New(&out, logging.JSON)
	l.Log(t.Context(), logging.Verbose, hostile, "name", hostile, "keys", 3)
	l.Warn("second", "level", "of the caller")
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	require.Len(t, lines, 2)
	var first map[string]any
	require.NoError(t, json.Unmarshal(lines[0], &first))
	_, err := time.Parse(time.RFC3339Nano, first["time"].(string))
	require.NoError(t, err)
	delete(first, "time")
	valid := strings.ToValidUTF8(hostile, "\ufffd")
	require.Equal(t, map[string]any{"level": "verbose", "msg": valid, "name": valid, "keys": 3.0}, first)
	require.Contains(t, string(lines[1]), `"level":"warning","msg":"second"`)
}

// TestLevels checks what each level admits, and that it can change.
func TestLevels(t *testing.T) {
	names := []string{"debug", "verbose", "notice", "warning", "nothing"}
	var level slog.LevelVar
	var got []string
	l := logging.AtLeast(logging.Func(func(line string) { got = append(got, line) }), &level).With().
		WithGroup("g").With("a", 1)
	for i, name := range names {
		level.Set(logging.Level(name))
		got = nil
		for _, sent := range names[:4] {
			l.Log(t.Context(), logging.Level(sent), sent)
		}
		var want []string
		for _, sent := range names[min(i, 4):4] {
			want = append(want, sent+" g.a=1")
		}
		require.Equal(t, want, got, name)
	}
	require.Equal(t, logging.Notice, logging.Level("no such level"))
	require.False(t, logging.AtLeast(nil, &level).Enabled(t.Context(), slog.LevelError))
}

// A faulty writer takes so many bytes in all.
type faulty struct {
	strings.Builder
	room int
}

var errFull = errors.New("no space left on device")

func (f *faulty) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	f.Builder.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestFullDisk checks that lines which cannot be written are dropped and counted, and
// that a line of which a part was written ends before the next one.
func TestFullDisk(t *testing.T) {
	f := &faulty{room: 40}
	l := logging.New(f, text).With()
	l.Info("a line that does not fit")
	l.Info("another")
	f.room = 1 << 20
	l.WithGroup("").Warn("there is room again")
	l.Info("last")
	lines := strings.Split(f.String(), "\n")
	for i := range lines {
		lines[i] = lines[i][min(len(lines[i]), len("42:M 23 Nov 2026 22:20:15.123 ")):]
	}
	require.Equal(t, []string{
		"* a line t", "# there is room again",
		`# lines of the log could not be written lines=2 error="no space left on device"`, "* last", "",
	}, lines)
}

// TestFile checks that a file may be moved away, and that its directory may be removed.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(dir, "log")
	_, err := logging.OpenFile(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Mkdir(dir, 0o755))
	f, err := logging.OpenFile(path)
	require.NoError(t, err)
	l := logging.New(f, text)
	l.Info("first")
	require.NoError(t, os.Rename(path, path+".1"))
	l.Info("second")
	require.NoError(t, os.RemoveAll(dir))
	l.Info("third")
	require.NoError(t, os.Mkdir(dir, 0o755))
	l.Info("fourth")
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, `^.* \* fourth\n.* # lines of the log could not be written lines=1 error=.*\n$`,
		string(got))
}
