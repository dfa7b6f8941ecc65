//go:build linux

package disk

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReleaseWhileChildStarts releases a directory while a copy of its descriptor is
// open, as in a child process between fork and exec.
func TestReleaseWhileChildStarts(t *testing.T) {
	dir := t.TempDir()
	fs := OS(dir)
	release, err := fs.Lock()
	require.NoError(t, err)
	child, err := syscall.Dup(descriptorOf(t, dir))
	require.NoError(t, err)
	defer syscall.Close(child)
	_, err = fs.Lock()
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, release())
	release, err = fs.Lock()
	require.NoError(t, err)
	require.NoError(t, release())
}

// descriptorOf returns this process's open descriptor of a path.
func descriptorOf(t *testing.T, path string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); target == path {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			return fd
		}
	}
	require.Fail(t, "not open", path)
	return -1
}
