package embed_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheImportMovesTests runs the tests in before, which are written for miniredis, with ours instead: the
// import is the one line that changes.
func TestTheImportMovesTests(t *testing.T) {
	before, err := filepath.Abs("before/window_test.go")
	require.NoError(t, err)
	text, err := os.ReadFile(before)
	require.NoError(t, err)
	const theirs = `"github.com/alicebob/miniredis/v2"`
	require.Equal(t, 1, strings.Count(string(text), theirs))
	after := strings.Replace(string(text), theirs, `"github.com/zlimit/zlimit/zlimittest/miniredis"`, 1)
	dir := t.TempDir()
	moved, overlay := filepath.Join(dir, "window_test.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(moved, []byte(after), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{before: moved}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-pgo=off", "-overlay", overlay, "-v",
		"./before").CombinedOutput()
	require.NoError(t, err, "%s", out)
	passed := strings.Count("\n"+string(out), "\n--- PASS: ")
	require.Equal(t, strings.Count(after, "\nfunc Test"), passed, "%s", out)
}
