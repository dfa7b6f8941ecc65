// Command release builds zlimit-server for the platforms of a release: static binaries
// that are equal wherever they are built from the same source with the same Go, their
// checksums, and a software bill of materials for each.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// platforms are those of a release, as GOOS and GOARCH.
var platforms = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

const (
	versionVariable = "github.com/zlimit/zlimit/engine.Version"
	sumsName        = "SHA256SUMS"
)

// A build is what to build.
type build struct {
	source  string // the module's root
	version string // empty: the one in the source
	out     string // directory
	extra   []string
}

// name returns the name of a platform's binary.
func name(platform [2]string) string { return "zlimit-server-" + platform[0] + "-" + platform[1] }

// binary builds for one platform and returns the path.
func (b *build) binary(ctx context.Context, platform [2]string) (string, error) {
	path, err := filepath.Abs(filepath.Join(b.out, name(platform)))
	if err != nil {
		return "", err
	}
	flags := "-s -w -buildid="
	if b.version != "" {
		flags += " -X " + versionVariable + "=" + b.version
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", path}
	cmd := exec.CommandContext(ctx, "go", append(append(args, b.extra...), "./cmd/zlimit-server")...)
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform[0], "GOARCH="+platform[1], "GOAMD64=v1",
		"GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build for %s/%s: %w\n%s", platform[0], platform[1], err, &output)
	}
	return path, nil
}

// release writes the binaries, their bills of materials, the licences of what they contain, and the
// checksums of all.
func (b *build) release(ctx context.Context, platforms [][2]string, licences map[string]string) error {
	if err := checkVersion(b.version); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	sum := func(path string) ([sha256.Size]byte, error) {
		content, err := os.ReadFile(path)
		s := sha256.Sum256(content)
		fmt.Fprintf(&sums, "%x  %s\n", s, filepath.Base(path))
		return s, err
	}
	var modules []string
	for i, p := range platforms {
		fmt.Printf("compiling zlimit-server for %s/%s, %d of %d: minutes the first time\n", p[0], p[1], i+1,
			len(platforms))
		path, err := b.binary(ctx, p)
		if err != nil {
			return err
		}
		digest, err := sum(path)
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			modules = append(modules, m.Path)
		}
		bom := path + ".cdx.json"
		text, err := materials(info, name(p), b.version, digest, licences)
		if err != nil {
			return err
		}
		if err := os.WriteFile(bom, text, 0o644); err != nil {
			return err
		}
		if _, err := sum(bom); err != nil {
			return err
		}
	}
	texts, err := licenceTexts(ctx, b.source, modules)
	if err != nil {
		return err
	}
	path := filepath.Join(b.out, textsName)
	if err := os.WriteFile(path, texts, 0o644); err != nil {
		return err
	}
	if _, err := sum(path); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.out, sumsName), []byte(sums.String()), 0o644)
}

// checkVersion refuses versions that the linker's flags could not hold.
func checkVersion(v string) error {
	const accepted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+"
	if strings.ContainsFunc(v, func(r rune) bool { return !strings.ContainsRune(accepted, r) }) {
		return fmt.Errorf("version %q may have letters, digits, dots, hyphens and plus signs", v)
	}
	return nil
}
