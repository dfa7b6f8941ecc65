package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func parsed(t *testing.T, file string, args ...string) (*Config, error) {
	t.Helper()
	c := New()
	return c, c.ParseArgs(append([]string{caseFile(file)}, args...), strings.NewReader(""))
}

// TestSampleFile reads testdata/zlimit.conf, which sets every directive.
func TestSampleFile(t *testing.T) {
	c, err := parsed(t, "zlimit.conf")
	require.NoError(t, err)
	text, err := os.ReadFile(caseFile("zlimit.conf"))
	require.NoError(t, err)
	for _, d := range c.Directives() {
		require.Contains(t, string(text), "\n"+d.Name+" ", "the sample lacks it")
		require.Contains(t, string(text), "# "+d.About+"\n"+d.Name+" ", "the sample has another description")
		if d.Only == nil {
			require.NotEqual(t, d.Default, c.Text(d.Name), "%s: the sample sets the default", d.Name)
		}
	}
	require.Equal(t, []string{"10.0.0.1", "-::1"}, c.Strings("bind"))
	require.Equal(t, int64(6380), c.Int("port"))
	require.Equal(t, int64(0o770), c.Int("unixsocketperm"))
	require.Equal(t, int64(64<<20), c.Int("client-query-buffer-limit"))
	require.Equal(t, `a "quoted" pass\word`, c.String("requirepass"))
	require.False(t, c.Bool("protected-mode"))
	require.Equal(t, OutputBufferLimit{1 << 30, 512 << 20, 10}, c.OutputBufferLimit(ClassNormal))
	require.Equal(t, OutputBufferLimit{}, c.OutputBufferLimit(ClassReplica))
	require.Equal(t, OutputBufferLimit{64 << 20, 16 << 20, 120}, c.OutputBufferLimit(ClassPubSub))
}

// TestRedisConf reads testdata/redis-7.0.conf, the directives of the redis.conf in
// Debian's redis-server 7.0.15.
func TestRedisConf(t *testing.T) {
	_, err := parsed(t, "redis-7.0.conf")
	require.EqualError(t, err, "*** FATAL CONFIG FILE ERROR (zlimit) ***\n"+
		"Reading the configuration file, at line 7\n>>> 'daemonize yes'\n"+
		"zlimit stays in the foreground: only 'no' is accepted, leave the background to a service manager")

	c, err := parsed(t, "redis-7.0.conf", "--daemonize", "no")
	require.NoError(t, err, "all other directives are accepted")
	require.Equal(t, "/var/log/redis/redis-server.log", c.String("logfile"))

	_, err = parsed(t, "redis-7.0.conf", "--daemonize", "no", "--supervised", "upstart")
	require.ErrorContains(t, err, "zlimit does not report to upstart")
}

// TestFirstRefusedValue: the error names the first refused value that no later line
// overrides.
func TestFirstRefusedValue(t *testing.T) {
	for _, tc := range []struct {
		lines string
		line  int // 0: accepted
	}{
		{"daemonize yes\nactivedefrag yes", 1},
		{"daemonize yes\nactivedefrag yes\ndaemonize no", 2},
		{"daemonize yes\nactivedefrag yes\ndaemonize no\ndaemonize yes", 2},
		{"daemonize yes\ndaemonize no\nactivedefrag yes\ndaemonize yes", 3},
		{"daemonize yes\nactivedefrag yes\ndaemonize no\nactivedefrag no", 0},
		{"daemonize yes\nfoo", 2}, // syntax errors take precedence
	} {
		err := New().ParseFile("f", strings.NewReader(tc.lines))
		if tc.line == 0 {
			require.NoError(t, err, tc.lines)
			continue
		}
		var at *FileError
		require.ErrorAs(t, err, &at, tc.lines)
		require.Equal(t, tc.line, at.Line, tc.lines)
	}
}

// TestLineEndsAtNUL: a NUL ends the line, even within quotes.
func TestLineEndsAtNUL(t *testing.T) {
	for line, want := range map[string]string{
		"timeout 5\x00 6": "5", "timeout \"5\"\x00 6": "5", "\x00timeout 6": "0", "timeout \"5\x00\"": "",
	} {
		c := New()
		err := c.ParseFile("f", strings.NewReader(line))
		if want == "" {
			require.ErrorContains(t, err, errUnbalanced.Error(), "%q", line)
			continue
		}
		require.NoError(t, err, "%q", line)
		require.Equal(t, want, c.Text("timeout"), "%q", line)
	}
}

func TestReport(t *testing.T) {
	err := &FileError{Line: 3, Text: "foo bar", Reason: "Bad directive or wrong number of arguments"}
	require.Equal(t, `*** FATAL CONFIG FILE ERROR (zlimit 1.2.3) ***
Reading the configuration file, at line 3
>>> 'foo bar'
Bad directive or wrong number of arguments`, err.Report("1.2.3"))
}

func TestUnreadableFiles(t *testing.T) {
	c := New()
	require.ErrorIs(t, c.ParseArgs([]string{"nosuch.conf"}, nil), fs.ErrNotExist)

	var open *OpenError
	require.ErrorAs(t, c.ParseArgs([]string{t.TempDir()}, nil), &open)
	require.Contains(t, open.Error(), "Is a directory")

	broken := errors.New("the line is cut")
	require.ErrorIs(t, c.ParseArgs([]string{"-"}, iotest.ErrReader(broken)), broken)
	require.ErrorIs(t, c.ParseFile("f", iotest.ErrReader(broken)), broken)

	endless := io.MultiReader(strings.NewReader("timeout 5\n"), zeros{})
	require.EqualError(t, c.ParseFile("/dev/zero", endless),
		"Fatal error, can't open config file '/dev/zero': It is longer than 16777216 bytes")
	require.Zero(t, c.Int("timeout"))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestInclude(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	loop := write("loop.conf", "timeout 5\ninclude "+filepath.Join(dir, "loop.conf")+"\n")
	c := New()
	err := c.ParseArgs([]string{loop}, nil)
	require.ErrorContains(t, err, "more than 256 files are included: does one include itself?")
	require.Zero(t, c.Int("timeout"), "an error sets nothing")

	write("a.conf", "hz 1\nport 1\n")
	write("b.conf", "hz 2\n")
	relative := write("relative.conf", "dir "+dir+"\ninclude [ab].conf\ninclude [z].conf\n")
	require.NoError(t, c.ParseArgs([]string{relative}, nil), "relative names are joined to dir")
	require.Equal(t, int64(2), c.Int("hz"), "in alphabetical order")
	require.Equal(t, int64(1), c.Int("port"))
}

func TestHelpAndVersion(t *testing.T) {
	for arg, want := range map[string]error{
		"-h": ErrHelp, "--help": ErrHelp, "-v": ErrVersion,
		"--version": ErrVersion,
	} {
		require.Equal(t, want, New().ParseArgs([]string{arg, "--foo"}, nil))
	}
	require.NoError(t, New().ParseArgs(nil, nil))
}
