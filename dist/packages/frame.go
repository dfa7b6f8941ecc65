package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A platform is one that binaries are built for.
type platform struct {
	system, arch string // as GOOS and GOARCH
}

func (p platform) String() string { return p.system + "/" + p.arch }

// platforms are those of packages: all for which command release builds.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
}

// A frame is what the builders of all languages share.
type frame struct {
	dist    string // directory of this module
	bin     string // directory of the binaries
	out     string // directory of the packages; each language has a folder there
	version string // of the binaries and of all packages, as 1.2.3 or 1.2.3-rc.1

	owner     owner
	platforms []platform // those that packages are built for; empty means all

	binaries map[platform][]byte
	texts    []byte // the licences of what the binaries contain
}

// versionLine is where the source has the version.
var versionLine = regexp.MustCompile(`(?m)^var Version = "([^"]+)"$`)

// acceptedVersion is what all package managers have a spelling for.
var acceptedVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// textsName is the file of command release with the licences of what the binaries contain.
const textsName = "THIRD-PARTY.txt"

// prepare fills in the version and reads the binaries.
func (f *frame) prepare() error {
	if f.version == "" {
		text, err := os.ReadFile(filepath.Join(f.dist, "..", "engine", "info.go"))
		if err != nil {
			return err
		}
		m := versionLine.FindSubmatch(text)
		if m == nil {
			return errors.New("engine/info.go has no line with the version")
		}
		f.version = string(m[1])
	}
	if !acceptedVersion.MatchString(f.version) {
		return fmt.Errorf("version %q is none that all packages can have: 1.2.3, or 1.2.3-rc.1 with alpha, "+
			"beta or rc", f.version)
	}
	if len(f.platforms) == 0 {
		f.platforms = platforms
	}
	var err error
	if f.texts, err = os.ReadFile(filepath.Join(f.bin, textsName)); err != nil {
		return err
	}
	f.binaries = make(map[platform][]byte)
	for _, p := range f.platforms {
		content, err := os.ReadFile(filepath.Join(f.bin, "zlimit-server-"+p.system+"-"+p.arch))
		if err != nil {
			return err
		}
		if err := checkBinary(content, p); err != nil {
			return fmt.Errorf("the binary for %v: %w", p, err)
		}
		f.binaries[p] = content
	}
	return os.MkdirAll(f.out, 0o755)
}

// folder returns the empty folder of a language in the output.
func (f *frame) folder(language string) (string, error) {
	dir := filepath.Join(f.out, language)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// A file is one of an archive.
type file struct {
	path    string // with slashes
	content []byte
	mode    fs.FileMode // 0 means 0o644
}

// sources returns the files below a folder of this module that keep accepts, sorted by path.
// Paths are relative to the folder.
func (f *frame) sources(folder string, keep func(path string) bool) ([]file, error) {
	root := filepath.Join(f.dist, folder)
	var out []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || !keep(filepath.ToSlash(rel)) {
			return err
		}
		content, err := os.ReadFile(path)
		out = append(out, file{path: filepath.ToSlash(rel), content: content})
		return err
	})
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return out, err
}

const sumsName = "SHA256SUMS"

// writeSums writes the checksums of all packages in the output.
func (f *frame) writeSums() error {
	var sums strings.Builder
	err := filepath.WalkDir(f.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == sumsName {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.out, path)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.out, sumsName), []byte(sums.String()), 0o644)
}

// printSizes prints how many bytes each archive in the output has.
func (f *frame) printSizes(w io.Writer) error {
	return filepath.WalkDir(f.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".whl", ".tgz", ".jar"}, filepath.Ext(path)) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			_, err = fmt.Fprintf(w, "%9d  %s\n", info.Size(), d.Name())
		}
		return err
	})
}
