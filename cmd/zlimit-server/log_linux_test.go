package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIsTerminal checks what counts as a terminal: not each character device.
func TestIsTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer terminal.Close()
	require.True(t, isTerminal(terminal))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer file.Close()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	for _, f := range []*os.File{null, file, write} {
		require.False(t, isTerminal(f), f.Name())
	}
	require.False(t, isTerminal(&bytes.Buffer{}))
}

// TestLogFormat checks which format each output gets.
func TestLogFormat(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer terminal.Close()
	for _, c := range []struct {
		format   string
		terminal bool
		json     bool
	}{
		{"auto", true, false},
		{"auto", false, true},
		{"text", false, false},
		{"json", true, true},
	} {
		var out bytes.Buffer
		handler := logHandler(c.format, &out)
		if c.terminal {
			handler = logHandler(c.format, terminal)
		}
		require.NoError(t, handler(&out).Handle(t.Context(), slog.Record{Message: "m"}))
		require.Equal(t, c.json, json.Valid(out.Bytes()), "%+v %s", c, &out)
	}
}
