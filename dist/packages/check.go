package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A requirement is what a registry or a user expects of a file, as a text that it contains.
type requirement struct {
	text string
	open bool // the owner provides it, before publishing
}

// required lists the texts of each package's metadata. %s is the version.
var required = map[string][]requirement{
	"METADATA": {
		{text: "\nName: zlimit\n"},
		{text: "\nVersion: %s\n"},
		{text: "\nSummary: "},
		{text: "\nRequires-Python: "},
		{text: "\nProject-URL: Source, " + projectURL + "\n"},
		{text: "\nDescription-Content-Type: text/markdown\n"},
		{text: "\nLicense-Expression: ", open: true},
	},
	"package.json": {
		{text: `"version": "%s"`},
		{text: `"description": "`},
		{text: `"repository": "github:zlimit/zlimit"`},
		{text: `"engines": {`},
		{text: `"license": "`},
	},
	".pom": {
		{text: "<groupId>" + mavenGroup + "</groupId>"},
		{text: "<version>%s</version>"},
		{text: "<name>"},
		{text: "<description>"},
		{text: "<url>" + projectURL + "</url>"},
		{text: "<scm>"},
		{text: "<licenses>", open: true},
		{text: "<developers>", open: true},
	},
}

// A check collects what keeps packages from being published: faults, and what is open because the owner
// provides it.
type check struct{ faults, open []string }

func (c *check) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *check) left(format string, args ...any) {
	c.open = append(c.open, fmt.Sprintf(format, args...))
}

// metadata looks for the required texts in the metadata of a file.
func (c *check) metadata(name, kind, version, text string) {
	for _, r := range required[kind] {
		want := strings.ReplaceAll(r.text, "%s", version)
		switch {
		case strings.Contains(text, want):
		case r.open:
			c.left("%s lacks %s", name, strings.TrimSpace(want))
		default:
			c.fault("%s lacks %s", name, strings.TrimSpace(want))
		}
	}
	if strings.Contains(text, `"license": "UNLICENSED"`) {
		c.left("%s says UNLICENSED", name)
	}
}

// publishable checks all that can be checked of built packages without an account.
func (f *frame) publishable(ctx context.Context) (*check, error) {
	c := &check{}
	for _, dir := range []string{f.bin, f.out} {
		if err := c.sums(dir); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(c.bills(f), c.wheels(f), c.tarballs(ctx, f), c.artifacts(f)); err != nil {
		return nil, err
	}
	if licence, _ := filepath.Glob(filepath.Join(f.dist, "..", "LICENSE*")); len(licence) == 0 {
		c.left("the project has no file LICENSE")
	}
	changes, err := os.ReadFile(filepath.Join(f.dist, "..", "CHANGELOG.md"))
	if !strings.Contains(string(changes), "\n## "+f.version) {
		c.left("CHANGELOG.md has no section %s", f.version)
	}
	return c, err
}

// sums compares the files of a folder with their checksums.
func (c *check) sums(dir string) error {
	list, err := os.Open(filepath.Join(dir, sumsName))
	if err != nil {
		return err
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(content)) != sum {
			c.fault("%s is not what %s lists", name, sumsName)
		}
	}
	return nil
}

// bills checks that the bill of materials of each binary names the licence of each part.
func (c *check) bills(f *frame) error {
	for _, p := range f.platforms {
		name := "zlimit-server-" + p.system + "-" + p.arch + ".cdx.json"
		text, err := os.ReadFile(filepath.Join(f.bin, name))
		if err != nil {
			return err
		}
		var bill struct {
			Components []struct {
				Name     string `json:"name"`
				Licenses []any  `json:"licenses"`
			} `json:"components"`
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			return err
		}
		for _, part := range bill.Components {
			if len(part.Licenses) == 0 {
				c.fault("%s names no licence of %s: docs/dependencies.md lists them", name, part.Name)
			}
		}
		if len(bill.Components) == 0 {
			c.fault("%s is empty", name)
		}
	}
	return nil
}

func (c *check) wheels(f *frame) error {
	names, err := filepath.Glob(filepath.Join(f.out, "python", "zlimit-"+pythonVersion(f.version)+"-*.whl"))
	if len(names) != len(f.platforms)+1 {
		c.fault("python has %d wheels of %d", len(names), len(f.platforms)+1)
	}
	for _, name := range names {
		wheel, err := zip.OpenReader(name)
		if err != nil {
			return err
		}
		text := readAll(wheel, "zlimit-"+pythonVersion(f.version)+".dist-info/METADATA")
		c.metadata(filepath.Base(name), "METADATA", pythonVersion(f.version), text)
		_ = wheel.Close() // of a file that was read
	}
	return err
}

// readAll returns the text of a file in an archive, which is empty if it cannot be read.
func readAll(archive *zip.ReadCloser, name string) string {
	in, err := archive.Open(name)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(in) // what is missing is found
	return string(text)
}

func (c *check) tarballs(ctx context.Context, f *frame) error {
	names := []string{"zlimit-" + f.version + ".tgz"}
	for _, p := range f.platforms {
		names = append(names, "zlimit-"+npmNames.platform(p)+"-"+f.version+".tgz")
	}
	for _, name := range names {
		path, err := filepath.Abs(filepath.Join(f.out, "node", name))
		if err != nil {
			return err
		}
		text, err := firstOfTarball(path)
		if err != nil {
			return err
		}
		c.metadata(name, "package.json", f.version, text)
		cmd := exec.CommandContext(ctx, "npm", "pack", "--dry-run", "--ignore-scripts", path)
		cmd.Dir = f.out
		if out, err := cmd.CombinedOutput(); err != nil {
			c.fault("npm pack %s: %v\n%s", name, err, out)
		}
	}
	return nil
}

// firstOfTarball returns the package.json of a package.
func firstOfTarball(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return "", err
	}
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("%s: package.json: %w", path, err)
		}
		if h.Name == "package/package.json" {
			text, err := io.ReadAll(r)
			return string(text), err
		}
	}
}

// artifacts checks that each has the files and the fields that Maven Central requires, except for
// signatures.
func (c *check) artifacts(f *frame) error {
	r := mavenRepository{dir: filepath.Join(f.out, "java"), version: f.version}
	names := []string{javaCode}
	for _, p := range f.platforms {
		names = append(names, mavenArtifact(p))
	}
	for _, name := range names {
		pom, err := os.ReadFile(r.path(name, ".pom"))
		if err != nil {
			return err
		}
		c.metadata(name+".pom", ".pom", f.version, string(pom))
		for _, suffix := range []string{".pom", ".jar", "-sources.jar", "-javadoc.jar"} {
			for _, sum := range []string{"", ".md5", ".sha1"} {
				if _, err := os.Stat(r.path(name, suffix+sum)); err != nil {
					c.fault("%s has no %s", name, suffix+sum)
				}
			}
		}
	}
	return nil
}

// errUnpublishable is that packages cannot be published as they are.
var errUnpublishable = errors.New("not ready to publish")

// report prints what was found. It is an error if there are faults and, when all must be final, if
// something is open.
func (c *check) report(w io.Writer, final bool) error {
	for _, fault := range c.faults {
		fmt.Fprintln(w, "fault:", fault)
	}
	for _, open := range c.open {
		fmt.Fprintln(w, "open: ", open)
	}
	if len(c.faults) > 0 || final && len(c.open) > 0 {
		return fmt.Errorf("%w: %d faults, %d open", errUnpublishable, len(c.faults), len(c.open))
	}
	_, err := fmt.Fprintf(w, "no faults; %d open before publishing: docs/releasing.md\n", len(c.open))
	return err
}
