package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPicture checks that --picture writes the file of docs, and says if it cannot.
func TestPicture(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "traffic.svg")
	require.Zero(t, run(context.Background(), []string{"--picture", file}, &stdout, &stderr), stderr.String())
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	have, err := os.ReadFile("../docs/traffic.svg")
	require.NoError(t, err)
	require.True(t, bytes.Equal(written, have))
	require.Equal(t, 1,
		run(context.Background(), []string{"--picture", filepath.Join(t.TempDir(), "no", "folder")}, &stdout,
			&stderr))
}
