package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProfile requires that Go can read the profile that releases are built with. All tests that build a
// server do without it.
func TestProfile(t *testing.T) {
	read := exec.Command("go", "tool", "preprofile", "-i", "default.pgo",
		"-o", filepath.Join(t.TempDir(), "profile"))
	out, err := read.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
