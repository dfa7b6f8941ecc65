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

// TestSharedPreparation checks that what several preparations need first runs once, and that its failure
// is theirs.
func TestSharedPreparation(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	if err := os.WriteFile(input, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := &preparation{
		name: "first", dir: dir, inputs: []string{input}, steps: [][]string{{"sh", "-c", "echo >> count"}},
	}
	for _, name := range []string{"one", "two"} {
		p := preparation{name: name, dir: dir, first: first, steps: [][]string{{"true"}}}
		if _, err := p.run(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	if runs, _ := os.ReadFile(filepath.Join(dir, "count")); len(runs) != 1 {
		t.Errorf("ran %d times, want once", len(runs))
	}
	first.name, first.steps = "other", [][]string{{"false"}}
	if _, err := (preparation{name: "three", dir: dir, first: first}).run(t.Context(), dir); err == nil {
		t.Error("a failure of the first is no error")
	}
}

func TestPrepareNamed(t *testing.T) {
	dir := t.TempDir()
	var all []preparation
	for _, name := range []string{"one", "two", "three"} {
		all = append(all, preparation{name: name, dir: dir, steps: [][]string{{"sh", "-c", "echo >" + name}}})
	}
	if err := prepareNamed(t.Context(), all, filepath.Join(dir, "stamps"), "three,one"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
		if got := allExist([]string{filepath.Join(dir, name)}); got != want {
			t.Errorf("%s has run: %v", name, got)
		}
	}
	if err := prepareNamed(t.Context(), all, dir, "one,four"); err == nil {
		t.Error("an unknown name is no error")
	}
	all[1].steps = [][]string{{"false"}}
	if err := prepareNamed(t.Context(), all, dir, "two"); err == nil {
		t.Error("a failure is no error")
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
