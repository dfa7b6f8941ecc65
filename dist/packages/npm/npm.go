// Package npm makes the tarballs of the Node package: one with the code, and one for each
// platform with the server's binary, of which npm installs the one that fits.
//
// It writes what npm pack would, without npm: the same bytes from the same files.
package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// A Binary is the server for one platform.
type Binary struct {
	OS, Arch string // as GOOS and GOARCH
	Path     string
}

// placeholder is the version that the source has wherever the version belongs.
const placeholder = "0.0.0"

// names are npm's names for Go's, where they differ.
var names = map[string]string{"amd64": "x64"}

func name(goName string) string {
	if n, ok := names[goName]; ok {
		return n
	}
	return goName
}

// Platform returns npm's name of the platform, as in @zlimit/linux-x64.
func (b Binary) Platform() string { return name(b.OS) + "-" + name(b.Arch) }

// Build writes the tarballs of the package in source into out and returns their paths.
func Build(source, out, version string, binaries []Binary) ([]string, error) {
	files, err := sources(source, version)
	if err != nil {
		return nil, err
	}
	if err := checkPlatforms(files[0].content, version, binaries); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var written []string
	write := func(name string, files []file) error {
		path := filepath.Join(out, name+"-"+version+".tgz")
		written = append(written, path)
		return writeTarball(path, files)
	}
	if err := write("zlimit", files); err != nil {
		return nil, err
	}
	for _, b := range binaries {
		files, err := platformFiles(b, version)
		if err != nil {
			return nil, err
		}
		if err := write("zlimit-"+b.Platform(), files); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// A file is an entry of a tarball.
type file struct {
	name    string
	mode    int64
	content []byte
}

type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Repository           string            `json:"repository"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	Files                []string          `json:"files,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// sources returns the files of the package with the code, package.json first.
func sources(dir, version string) ([]file, error) {
	var out []file
	add := func(name string) error {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if name == "package.json" {
			content = bytes.ReplaceAll(content, []byte(`"`+placeholder+`"`), []byte(`"`+version+`"`))
		}
		out = append(out, file{name, mode, content})
		return err
	}
	if err := add("package.json"); err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(out[0].content, &m); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	for _, listed := range append([]string{"README.md"}, m.Files...) {
		err := fs.WalkDir(os.DirFS(dir), listed, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return add(name)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkPlatforms checks that package.json depends on the platforms that are built, as they
// are built.
func checkPlatforms(text []byte, version string, binaries []Binary) error {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	for _, b := range binaries {
		if got := m.OptionalDependencies["@zlimit/"+b.Platform()]; got != version {
			return fmt.Errorf("package.json depends on version %q of @zlimit/%s, not on %q", got, b.Platform(), version)
		}
	}
	return nil
}

// platformFiles returns the files of a platform's package.
func platformFiles(b Binary, version string) ([]file, error) {
	content, err := os.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	m := manifest{
		Name: "@zlimit/" + b.Platform(), Version: version, License: "UNLICENSED", Repository: "github:zlimit/zlimit",
		Description: "The binary of zlimit-server for " + b.Platform(),
		// Yarn must not leave the binary in an archive.
		PreferUnplugged: true,
		OS:              []string{name(b.OS)}, CPU: []string{name(b.Arch)}, Engines: map[string]string{"node": ">=20"},
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	readme := fmt.Sprintf("# %s\n\n%s, which the package `zlimit` depends on. Install that one.\n", m.Name, m.Description)
	return []file{
		{"package.json", 0o644, append(text, '\n')},
		{"README.md", 0o644, []byte(readme)},
		{"bin/zlimit-server", 0o755, content},
	}, nil
}

// modified is the time of every entry, as in npm's own tarballs.
var modified = time.Date(1985, time.October, 26, 8, 15, 0, 0, time.UTC)

func writeTarball(to string, files []file) error {
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join("package", f.name), Mode: f.mode, Size: int64(len(f.content)),
			ModTime: modified, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	for _, c := range []io.Closer{archive, zipped} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return os.WriteFile(to, packed.Bytes(), 0o644)
}
