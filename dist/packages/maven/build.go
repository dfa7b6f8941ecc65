package maven

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	group = "io.zlimit"
	code  = "zlimit-junit"
	// placeholder is the version that the source has wherever the version belongs.
	placeholder = "0.0.0"
)

// Build writes the artifacts of the package in source into the repository at out and
// returns the paths of jars and poms. It needs Maven and a JDK.
func Build(ctx context.Context, source, out, version string, binaries []Binary) ([]string, error) {
	r := repository{dir: out, version: version}
	for _, b := range binaries {
		jar, err := platformJar(b, version)
		if err != nil {
			return nil, err
		}
		text, err := platformPom(b, version)
		if err != nil {
			return nil, err
		}
		if err := r.add(artifact(b), map[string][]byte{".jar": jar, ".pom": text}); err != nil {
			return nil, err
		}
	}
	work, err := os.MkdirTemp("", "zlimit-java")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	project := filepath.Join(work, "project")
	if err := Stage(source, project, version); err != nil {
		return nil, err
	}
	mvn, err := NewMaven(filepath.Join(work, "maven"), out)
	if err != nil {
		return nil, err
	}
	if err := mvn.Run(ctx, project, "-DskipTests", "package"); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for suffix, from := range map[string]string{
		".pom": "pom.xml", ".jar": "target/zlimit-junit-" + version + ".jar",
		"-sources.jar": "target/zlimit-junit-" + version + "-sources.jar",
	} {
		if files[suffix], err = os.ReadFile(filepath.Join(project, from)); err != nil {
			return nil, err
		}
	}
	err = r.add(code, files)
	return r.written, err
}

// Stage copies a project to a folder that does not exist, with the version in its poms.
func Stage(source, to, version string) error {
	if err := os.CopyFS(to, os.DirFS(source)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "target" {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return filepath.SkipDir
		}
		if d.Name() != "pom.xml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		stamped := strings.ReplaceAll(string(text), ">"+placeholder+"<", ">"+version+"<")
		return os.WriteFile(path, []byte(stamped), 0o644)
	})
}

// A repository is a directory in the layout of a Maven repository.
type repository struct {
	dir, version string
	written      []string
}

// add writes the files of an artifact, given by what follows the version in their names,
// and their checksums.
func (r *repository) add(artifact string, files map[string][]byte) error {
	dir := filepath.Join(r.dir, filepath.FromSlash(strings.ReplaceAll(group, ".", "/")), artifact, r.version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for suffix, content := range files {
		path := filepath.Join(dir, fmt.Sprintf("%s-%s%s", artifact, r.version, suffix))
		r.written = append(r.written, path)
		for name, content := range withChecksums(path, content) {
			if err := os.WriteFile(name, content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
