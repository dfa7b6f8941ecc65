package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestBatch has one process run three invocations, and one fail in each way that a process has.
func TestBatch(t *testing.T) {
	const begin = `#!/bin/sh
read -r line; echo "client lib 1"; echo "1 allowed"; echo end; echo "exit 0"
read -r line; echo "client lib 1"; `
	const second = `echo "2 denied"; echo end; echo "exit 0"; `
	const third = `
[ "$1" = --batch ] || exit 1
read -r line; echo "client lib 1"; echo "flow $line" >&2; echo "3 allowed"; echo end; echo "exit 0"
`
	for _, c := range []struct {
		name, script string
		want         [3]string // parts of the errors
	}{
		{"all run", begin + second + third, [3]string{}},
		{"one fails", begin + `echo "exit 1"` + third, [3]string{"", "exit status 1", ""}},
		{"one dies", begin + `echo why >&2; exit 3`, [3]string{"", "why", "ended before"}},
		{"one breaks off", begin + `echo "exit 0"` + third, [3]string{"", "no hits", ""}},
		{"output after the last", begin + second + third + "echo more", [3]string{"", "", "more"}},
		{"it fails after the last", begin + second + third + "exit 7", [3]string{"", "", "exit status 7"}},
		{"words are passed on", begin + second + third + `[ "$line" = "--port	3" ] || exit 1`, [3]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(path, []byte(c.script), 0o700); err != nil {
				t.Fatal(err)
			}
			alive := func() error { return nil }
			outs := runBatch(t.Context(), []string{path}, []invocation{
				{1, "x", []string{"--port", "1"}, alive},
				{2, "x", []string{"--port", "2"}, alive},
				{3, "x", []string{"--port", "3"}, alive},
			})
			for i, out := range outs {
				err := out.err
				s, ok := out.transcript.section("x")
				if err == nil && (!ok || !s.complete || len(s.hits) != 1) {
					err = errors.New("no hits")
				}
				switch {
				case c.want[i] == "" && err != nil:
					t.Errorf("invocation %d: %v", i+1, err)
				case c.want[i] != "" && (err == nil || !strings.Contains(err.Error(), c.want[i])):
					t.Errorf("invocation %d: got %v, want %s", i+1, err, c.want[i])
				}
			}
		})
	}
}

// TestAccess checks that a client is only refused if its program has said so.
func TestAccess(t *testing.T) {
	served := outcome{transcript: read(t, "client lib 1\nflow x\n1 allowed\nend\n")}
	for want, o := range map[string]outcome{
		"served":                     served,
		"refused":                    {err: errors.New("exit status 1")},
		"neither served nor refused": {err: errors.Join(errBrokenOff, errors.New("signal: killed"))},
	} {
		if got := access(o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := access(outcome{}); got != "neither served nor refused" {
		t.Errorf("got %q", got)
	}
}

// TestOneAfterTheOther runs a program on two servers. It fails if another run on its server is under way.
func TestOneAfterTheOther(t *testing.T) {
	dir := t.TempDir()
	const script = `#!/bin/sh
cd "$(dirname "$0")" && mkdir "$1" || exit 1
echo "client lib 1"; echo "1 allowed"; ls /proc >/dev/null; echo end
rmdir "$1"
`
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var calls []invocation
	for i, port := range []int{1, 2, 1, 2, 1, 1} {
		folder := strconv.Itoa(port)
		if i == 5 {
			folder = "nowhere/1"
		}
		calls = append(calls, invocation{port, "x", []string{folder}, func() error { return nil }})
	}
	outs := runClient(t.Context(), dir, client{command: fixed("program")}, calls)
	for i, out := range outs {
		if failed := out.err != nil; failed != (i == 5) {
			t.Errorf("run %d: %v", i, out.err)
		}
	}
}
