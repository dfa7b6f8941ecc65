package aof_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
)

var record = flag.Bool("record", false, "ask redis-check-aof and redis-server again")

// checked maps files to what redis-check-aof says of each (testdata/check).
var checked = map[string]string{
	"valid":         wire("SELECT 0", "SET a b") + wire("MULTI", "SET x y", "EXEC"),
	"annotated":     "#TS:1628217470\r\n" + wire("PING"),
	"short-bulk":    wire("SET a b") + "*2\r\n$3\r\nDEL\r\n$300\r\nab",
	"short-header":  wire("SET a b") + "*2\r\n$3\r\nDEL\r\n",
	"multi":         wire("SET a b", "MULTI", "SET x y"),
	"bad-count":     wire("SET a b") + "*x\r\n$3\r\nSET\r\n",
	"bad-end":       wire("SET a b") + "*1\r\n$4\r\nPIxNG\r\n" + wire("PING"),
	"bad-prefix":    wire("SET a b") + "*1\r\n+PING\r\n",
	"two-multi":     wire("MULTI", "MULTI"),
	"exec-no-multi": wire("PING", "EXEC"),
	"empty":         "",
}

// wire encodes commands as a file holds them.
func wire(commands ...string) string {
	var b strings.Builder
	for _, c := range commands {
		words := strings.Fields(c)
		b.WriteString("*" + strconv.Itoa(len(words)) + "\r\n")
		for _, w := range words {
			b.WriteString("$" + strconv.Itoa(len(w)) + "\r\n" + w + "\r\n")
		}
	}
	return b.String()
}

// TestCheckOutputIsRedis compares --check-aof with redis-check-aof 7.0.15, line by
// line. A line of ours about keys is extra.
func TestCheckOutputIsRedis(t *testing.T) {
	for name, content := range checked {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f.aof"), []byte(content), 0o644))
			golden := filepath.Join("testdata", "check", name+".txt")
			if *record {
				cmd := exec.CommandContext(t.Context(), "redis-check-aof", "f.aof")
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if err != nil {
					require.ErrorAs(t, err, &exit)
				}
				require.NoError(t, os.WriteFile(golden, out, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			var out bytes.Buffer
			valid := aof.Check{FS: disk.OS(dir), Out: &out}.File("f.aof")
			got := strings.Split(out.String(), "\n")
			kept := got[:0]
			for _, line := range got {
				if !strings.Contains(line, "are about") {
					kept = append(kept, line)
				}
			}
			require.Equal(t, string(want), strings.Join(kept, "\n"))
			require.Equal(t, !strings.Contains(string(want), "not valid"), valid)
		})
	}
}

func TestCheckFixes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.aof")
	torn := wire("SET a b") + "*2\r\n$3\r\nDEL\r\n$300\r\nab"
	require.NoError(t, os.WriteFile(path, []byte(torn), 0o644))
	for _, yes := range []bool{false, true} {
		var out bytes.Buffer
		check := aof.Check{FS: disk.OS(dir), Out: &out, Fix: func() bool { return yes }}
		require.Equal(t, yes, check.File("f.aof"))
		require.Contains(t, out.String(),
			"This will shrink the AOF f.aof from 48 bytes, with 21 bytes, to 27 bytes\nContinue? [y/N]: ")
		require.Contains(t, out.String(), `about 1 key(s): "ab"`)
		if !yes {
			require.Contains(t, out.String(), "Aborting...")
		}
	}
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, wire("SET a b"), string(left))
}

func TestCheckManifest(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	write("a.manifest",
		"file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type i\nfile a.2.incr.aof seq 2 type i\n")
	write("a.1.base.rdb", "REDIS0010\xff")
	write("a.1.incr.aof", wire("SET a b")+"*1")
	write("a.2.incr.aof", wire("SET a c"))
	var out bytes.Buffer
	check := aof.Check{
		FS: disk.OS(dir), Out: &out, Fix: func() bool { return true },
		RDB: func(_ string, _ io.ReaderAt, size int64) (int64, error) { return size, nil },
	}
	require.False(t, check.File("a.manifest"))
	require.Contains(t, out.String(), "Failed to truncate AOF a.1.incr.aof because it is not the last file")
	write("a.2.incr.aof", "")
	out.Reset()
	require.True(t, check.File("a.manifest"), out.String())
	require.Contains(t, out.String(), "Start to check BASE AOF (RDB format).\nRDB preamble is OK")
	require.Contains(t, out.String(),
		"Successfully truncated AOF a.1.incr.aof\nINCR AOF a.2.incr.aof is empty\n"+
			"All AOF files and manifest are valid\n")
	require.False(t, check.File("missing"))
	require.Contains(t, out.String(), "Cannot open file missing: no such file or directory")
}
