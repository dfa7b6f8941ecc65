package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// textsName is the file with the licences of what the binaries contain.
const textsName = "THIRD-PARTY.txt"

// licenceTexts returns the licence texts and notices of Go's library and of modules, which their licences
// want in every copy of a binary.
func licenceTexts(ctx context.Context, source string, modules []string) ([]byte, error) {
	slices.Sort(modules)
	modules = slices.Compact(modules)
	list := func(args ...string) ([]string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = source, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		out, err := cmd.Output()
		return strings.Split(strings.TrimSpace(string(out)), "\n"), err
	}
	library, err := list("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs, err := list(append([]string{"list", "-m", "-f", "{{.Dir}}"}, modules...)...)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i, name := range append([]string{"Go's standard library"}, modules...) {
		dir := append(library, dirs...)[i]
		found := 0
		for _, pattern := range []string{"LICEN[SC]E*", "COPYING*", "NOTICE*"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				return nil, err
			}
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&out, "==== %s: %s\n\n%s\n\n", name, filepath.Base(path), bytes.TrimSpace(text))
				found++
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s has no file with its licence in %s", name, dir)
		}
	}
	return out.Bytes(), nil
}
