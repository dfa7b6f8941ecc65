package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/server"
)

// startInDir runs a server whose directory clients may change, for one test.
func startInDir(t *testing.T, dir string, directives ...string) *wire {
	t.Helper()
	o := server.Options{Disk: engine.Directory(dir), Chdir: engine.Directory}
	args := []string{"--bind", "127.0.0.1", "--dir", dir, "--enable-protected-configs", "local"}
	srv, _ := serve(t, o, append(args, directives...)...)
	return connectLoaded(t, srv)
}

// TestConfigSetDir changes the directory of the snapshot.
func TestConfigSetDir(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(two, "sub"), 0o700))
	c := startInDir(t, one, "--save", "900 1")
	refused := func(dir, why string) {
		t.Helper()
		require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'dir') - "+why,
			c.call(t, "CONFIG", "SET", "dir", dir))
	}
	require.Equal(t, "+OK", c.call(t, "SET", "k", "v"))
	require.Equal(t, "+OK", c.call(t, "SAVE"))
	require.FileExists(t, filepath.Join(one, "dump.rdb"))

	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "dir", two, "dbfilename", "other.rdb"))
	require.Equal(t, "+OK", c.call(t, "SAVE"))
	require.FileExists(t, filepath.Join(two, "other.rdb"))
	require.NoFileExists(t, filepath.Join(one, "other.rdb"))
	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "dir", "sub"), "relative to the current one")
	require.Contains(t, c.call(t, "CONFIG", "GET", "dir"), filepath.Join(two, "sub"))
	require.Equal(t, "+OK", c.call(t, "SAVE"))
	require.FileExists(t, filepath.Join(two, "sub", "other.rdb"))

	refused(filepath.Join(two, "none"), "No such file or directory")
	refused(filepath.Join(two, "other.rdb"), "Not a directory")
	require.Equal(t,
		"-ERR CONFIG SET failed (possibly related to argument 'dbfilename') - dbfilename can't be a path, "+
			"just a filename",
		c.call(t, "CONFIG", "SET", "dir", one, "dbfilename", "../x"))
	require.Contains(t, c.call(t, "CONFIG", "GET", "dir"), filepath.Join(two, "sub"), "all or nothing")

	// The old directory is unlocked for another server, the current one is not.
	d := startInDir(t, one, "--save", "900 1")
	refused(one, "lock "+one+": "+disk.ErrLocked.Error())
	require.Equal(t, "+OK", d.call(t, "SAVE"))
	require.Equal(t, "+OK", c.call(t, "SAVE"), "the refused change had no effect")

	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "save", "", "appendonly", "yes"))
	refused(two, "dir cannot be changed while appendonly is yes")
}

// TestConfigSetDirIsFixed: a server may have a directory that clients cannot change. Whom
// enable-protected-configs admits is in testdata/network.
func TestConfigSetDirIsFixed(t *testing.T) {
	t.Parallel()
	srv, _ := startWithDisk(t, engine.Directory(t.TempDir()), "--enable-protected-configs", "yes")
	require.Equal(t,
		"-ERR CONFIG SET failed (possibly related to argument 'dir') - the directory of this server is fixed",
		connectLoaded(t, srv).call(t, "CONFIG", "SET", "dir", t.TempDir()))
}
