package main

import (
	"bytes"
	"compress/zlib"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// half is half a file: its header, and one type with an offset of some hours and no changes.
func half(hours byte, footer string) string {
	counts := make([]byte, 24)
	counts[19], counts[23] = 1, 4 // types, characters
	seconds := int(hours) * 3600
	kind := []byte{0, 0, byte(seconds >> 8), byte(seconds), 0, 0}
	return "TZif2" + strings.Repeat("\x00", 15) + string(counts) + string(kind) + "+0X\x00" + footer
}

// file is a zone's file. The first half has another offset than the second, as no real one has.
func file(hours byte, footer string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(half(1, "") + half(hours, footer))}
}

func TestPack(t *testing.T) {
	two, three := half(2, "\n<+02>-2\n"), half(3, "\n<+03>-3\n")
	dir := fstest.MapFS{
		"B/Two":      file(2, "\n<+02>-2\n"),
		"A":          file(3, "\n<+03>-3\n"),
		"C":          file(2, "\n<+02>-2\n"),
		"Factory":    file(0, ""),
		"localtime":  file(0, ""),
		"posixrules": file(0, ""),
		"posix/A":    file(3, ""),
		"right/A":    file(3, ""),
		"zone.tab":   {Data: []byte("text")},
	}
	data, err := pack(dir, "2026f")
	require.NoError(t, err)
	again, err := pack(dir, "2026f")
	require.NoError(t, err)
	require.Equal(t, data, again)
	release, compressed, _ := bytes.Cut(data, []byte("\n"))
	require.Equal(t, "2026f", string(release))
	r, err := zlib.NewReader(bytes.NewReader(compressed))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "A 0 63\nB/Two 63 63\nC 63 63\n\n"+three+two, string(text))
}

func TestPackRefuses(t *testing.T) {
	good := file(2, "\n<+02>-2\n")
	for name, data := range map[string]string{
		"short":        "TZif2",
		"one half":     half(2, ""),
		"version 1":    strings.Replace(string(good.Data), "TZif2", "TZif1", 1),
		"no footer":    string(good.Data[:60]),
		"a later form": strings.ReplaceAll(string(good.Data), "TZif2", "TZif9"),
	} {
		_, err := pack(fstest.MapFS{"A": {Data: []byte(data)}}, "2026f")
		require.Error(t, err, name)
	}
	_, err := pack(fstest.MapFS{"A": good}, "")
	require.Error(t, err)
	_, err = pack(fstest.MapFS{"zone.tab": {Data: []byte("text")}}, "2026f")
	require.Error(t, err)
	require.Error(t, compare("A", []byte(half(1, "")), []byte(half(2, ""))))
}
