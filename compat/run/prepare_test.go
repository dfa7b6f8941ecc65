package main

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreparation checks that a preparation is skipped only while its inputs and
// outputs are those of its last success.
func TestPreparation(t *testing.T) {
	dir := t.TempDir()
	input, output, count := filepath.Join(dir, "lock"), filepath.Join(dir, "installed"),
		filepath.Join(dir, "count")
	p := preparation{
		name: "x", dir: dir, inputs: []string{input}, outputs: []string{output},
		steps: [][]string{{"sh", "-c", "echo >> count; grep -q fine lock && echo > installed"}},
	}
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prepare := func(wantDone, wantErr bool, wantCount int) {
		t.Helper()
		done, err := p.run(t.Context(), dir)
		if done != wantDone || (err != nil) != wantErr {
			t.Fatalf("done %v, error %v", done, err)
		}
		if runs, _ := os.ReadFile(count); len(runs) != wantCount {
			t.Fatalf("ran %d times, want %d", len(runs), wantCount)
		}
	}

	write(input, "fine")
	prepare(true, false, 1)
	prepare(false, false, 1)
	write(input, "fine, and changed")
	prepare(true, false, 2)
	if err := os.Remove(output); err != nil {
		t.Fatal(err)
	}
	prepare(true, false, 3)
	write(input, "broken")
	prepare(true, true, 4)
	// These are the inputs of an earlier success, but the failure in between has
	// invalidated it.
	write(input, "fine, and changed")
	prepare(true, false, 5)

	if err := os.Remove(input); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run(t.Context(), dir); err == nil {
		t.Error("missing inputs are no error")
	}
}

func TestJar(t *testing.T) {
	root := t.TempDir()
	pack := func(name, manifest string) {
		t.Helper()
		file, err := os.Create(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		archive := zip.NewWriter(file)
		entry, err := archive.Create("META-INF/MANIFEST.MF")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(entry, manifest); err != nil {
			t.Fatal(err)
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
	}
	find := jar(".")
	pack("sources.jar", "Manifest-Version: 1.0\r\n")
	if words, err := find(root); err == nil {
		t.Errorf("found %q where nothing can be started", words)
	}
	pack("app.jar", "Manifest-Version: 1.0\r\nMain-Class: zlimit.Main\r\n")
	if words, err := find(root); err != nil || !strings.HasSuffix(words[len(words)-1], "app.jar") {
		t.Errorf("got %q, %v", words, err)
	}
	pack("other.jar", "Main-Class: zlimit.Other\r\n")
	if words, err := find(root); err == nil {
		t.Errorf("chose %q out of two", words)
	}
}
