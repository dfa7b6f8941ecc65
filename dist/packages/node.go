package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// npmNames are npm's names for Go's, where they differ.
var npmNames = names{"amd64": "x64"}

// names maps Go's names of systems and architectures to those of another ecosystem.
type names map[string]string

func (n names) of(goName string) string {
	if name, ok := n[goName]; ok {
		return name
	}
	return goName
}

func (n names) platform(p platform) string { return n.of(p.system) + "-" + n.of(p.arch) }

// A npmManifest is a package.json, as far as it is of interest here.
type npmManifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Repository           string            `json:"repository"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // Yarn keeps no archive
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	Files                []string          `json:"files,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// buildNode writes what npm pack would: the package with the code, and one for each platform
// with the binary, of which npm installs the one that fits.
func buildNode(_ context.Context, f *frame) error {
	dir, err := f.folder("node")
	if err != nil {
		return err
	}
	files, err := nodeSources(f)
	if err != nil {
		return err
	}
	if err := writeTar(filepath.Join(dir, "zlimit-"+f.version+".tgz"), "package", files); err != nil {
		return err
	}
	for _, p := range f.platforms {
		files, err := nodePlatform(f, p)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("zlimit-%s-%s.tgz", npmNames.platform(p), f.version)
		if err := writeTar(filepath.Join(dir, name), "package", files); err != nil {
			return err
		}
	}
	return nil
}

// nodeSources returns the files that package.json lists.
func nodeSources(f *frame) ([]file, error) {
	all, err := f.sources("node", func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(f file) bool { return f.path == "package.json" })
	if at < 0 {
		return nil, fmt.Errorf("node has no package.json")
	}
	all[at].content = []byte(f.manifest(all[at]))
	var m npmManifest
	if err := json.Unmarshal(all[at].content, &m); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	if len(m.OptionalDependencies) != len(f.platforms) {
		return nil, fmt.Errorf("package.json has %d platforms of %d", len(m.OptionalDependencies),
			len(f.platforms))
	}
	for _, p := range f.platforms {
		if name := "@zlimit/" + npmNames.platform(p); m.OptionalDependencies[name] != f.version {
			return nil, fmt.Errorf("package.json does not depend on %s %s", name, f.version)
		}
	}
	listed := append([]string{"package.json", "README.md"}, m.Files...)
	out := slices.DeleteFunc(all, func(f file) bool {
		first, _, _ := strings.Cut(f.path, "/")
		return !slices.Contains(listed, first)
	})
	for i := range out {
		if path.Dir(out[i].path) == "bin" {
			out[i].mode = 0o755
		}
	}
	return out, nil
}

// nodePlatform returns the files of a platform's package.
func nodePlatform(f *frame, p platform) ([]file, error) {
	m := npmManifest{
		Name: "@zlimit/" + npmNames.platform(p), Version: f.version, License: f.owner.npm(),
		Description: "The binary of zlimit-server for " + p.String(), Repository: "github:zlimit/zlimit",
		OS: []string{npmNames.of(p.system)}, CPU: []string{npmNames.of(p.arch)},
		Engines: map[string]string{"node": ">=20"}, PreferUnplugged: true,
	}
	text, err := json.MarshalIndent(m, "", "  ")
	readme := fmt.Sprintf("# %s\n\n%s. Install the package `zlimit`, which depends on it.\n", m.Name, m.Description)
	return []file{
		{path: "package.json", content: append(text, '\n')},
		{path: "README.md", content: []byte(readme)},
		{path: textsName, content: f.texts},
		{path: "bin/zlimit-server", content: f.binaries[p], mode: 0o755},
	}, err
}
