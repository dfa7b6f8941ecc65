package oracle

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// wantVersion is the release line of the reference. Others differ in texts and replies,
// so they are refused.
const wantVersion = "v=7.0."

type toolPaths struct{ redisServer, libfaketime string }

// Find reports whether Start can run here. The error names everything missing and the
// Debian package that has it.
func Find() error {
	_, err := find(true)
	return err
}

// FindRealTime is Find for servers with Options.RealTime.
func FindRealTime() error {
	_, err := find(false)
	return err
}

func find(faketime bool) (toolPaths, error) {
	var t toolPaths
	var missing []error
	path, err := exec.LookPath("redis-server")
	if err != nil {
		missing = append(missing, errors.New("oracle: no redis-server in PATH (Debian: redis-server)"))
	} else if out, err := versionOf(path); err != nil {
		missing = append(missing, fmt.Errorf("oracle: %s --version: %w", path, err))
	} else if !strings.Contains(out, wantVersion) {
		missing = append(missing,
			fmt.Errorf("oracle: redis-server 7.0 is wanted, found %s", strings.TrimSpace(out)))
	}
	t.redisServer = path
	if t.libfaketime = installedLibrary(); faketime && t.libfaketime == "" {
		missing = append(missing, errors.New("oracle: no libfaketimeMT.so.1 (Debian: libfaketime)"))
	}
	return t, errors.Join(missing...)
}

// versions are the outputs of --version by path: a test asks for each of its hundreds of servers, which would
// start two more processes for each.
var versions sync.Map

func versionOf(path string) (string, error) {
	if out, ok := versions.Load(path); ok {
		return out.(string), nil
	}
	out, err := exec.Command(path, "--version").Output()
	if err == nil {
		versions.Store(path, string(out))
	}
	return string(out), err
}

var installedLibrary = sync.OnceValue(func() string { return findLibrary(libraryPatterns) })

// libraryPatterns are where distributions install the library. The MT build is for
// programs with threads such as redis-server.
var libraryPatterns = []string{
	"/usr/lib/*/faketime/libfaketimeMT.so.1",
	"/usr/lib/faketime/libfaketimeMT.so.1",
	"/usr/lib64/faketime/libfaketimeMT.so.1",
	"/usr/local/lib/faketime/libfaketimeMT.so.1",
}

func findLibrary(patterns []string) string {
	for _, pattern := range patterns {
		// Glob fails only on malformed patterns, and these are constants.
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}
