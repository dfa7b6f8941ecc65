//go:build linux

package disk

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReleaseWhileAChildStarts gives a directory back while a copy of its
// descriptor is open, as it is in a child process between fork and exec.
func TestReleaseWhileAChildStarts(t *testing.T) {
	fs := OS(t.TempDir())
	before := descriptors(t)
	release, err := fs.Lock()
	require.NoError(t, err)
	for fd := range descriptors(t) {
		if !before[fd] {
			if child, err := syscall.Dup(fd); err == nil {
				defer syscall.Close(child)
			}
		}
	}
	_, err = fs.Lock()
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, release())
	release, err = fs.Lock()
	require.NoError(t, err)
	require.NoError(t, release())
}

// descriptors are the open ones of this process.
func descriptors(t *testing.T) map[int]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	out := make(map[int]bool)
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		out[fd] = true
	}
	return out
}
