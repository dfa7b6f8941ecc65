package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A preparation makes a client's program runnable. It is skipped if its inputs have not
// changed since its last success and its outputs exist. Without inputs it always runs,
// for tools with a cache of their own.
type preparation struct {
	name    string
	first   *preparation // runs before, if this one has to; several may have the same; nil for none
	dir     string       // where steps run
	inputs  []string
	outputs []string
	steps   [][]string
}

func preparations(root string) []preparation {
	at := func(path string) string { return filepath.Join(root, path) }
	return append(libraryPreparations(root), []preparation{
		pythonPreparation(root, "python", "compat/python"),
		{
			name: "go", dir: at("compat/go"),
			steps: [][]string{{"go", "build", "-o", at("compat/.bin/client-go"), "."}},
		},
		nodePreparation("node", at("compat/node"), "ioredis"),
		{
			name: "java", dir: at("compat/java"),
			inputs:  []string{at("compat/java")},
			outputs: []string{at("compat/java/spring/target"), at("compat/java/jedis/target")},
			steps:   [][]string{maven("package")},
		},
	}...)
}

// sentinelPreparations make the programs of compat/sentinel/clients runnable. Those of Python and Node use
// what is installed for the flows.
func sentinelPreparations(root string) []preparation {
	at := func(path string) string { return filepath.Join(root, path) }
	java := at("compat/sentinel/clients/java")
	return []preparation{
		pythonPreparation(root, "python", "compat/python"),
		nodePreparation("node", at("compat/node"), "ioredis"),
		{
			name: "sentinel-java", dir: java, inputs: []string{java},
			outputs: []string{filepath.Join(java, "target/sentinel.jar"), filepath.Join(java, "target/lib")},
			steps:   [][]string{maven("clean", "package")},
		},
	}
}

// pipPreparation makes the environment whose pip installs into all others: to install pip takes seconds.
func pipPreparation(root string) *preparation {
	dir := filepath.Join(root, "compat", ".bin")
	p := preparation{
		name: "pip", dir: dir,
		outputs: []string{filepath.Join(dir, "pip", "bin", "python")},
		steps:   [][]string{{"python3", "-m", "venv", "--clear", "pip"}},
	}
	if python, err := exec.LookPath("python3"); err == nil {
		p.inputs = []string{python}
	}
	return &p
}

// pythonPreparation installs a folder's requirements.txt, which lists all that is needed, in the folder.
func pythonPreparation(root, name, folder string) preparation {
	dir := filepath.Join(root, folder)
	pip := pipPreparation(root)
	return preparation{
		name: name, dir: dir, first: pip,
		inputs:  []string{filepath.Join(dir, "requirements.txt")},
		outputs: []string{filepath.Join(dir, ".venv/bin/python")},
		steps: [][]string{
			{"python3", "-m", "venv", "--clear", "--without-pip", ".venv"},
			{
				// Modules are compiled when they are imported: most never are.
				pip.outputs[0], "-m", "pip", "--python", ".venv/bin/python", "install", "-q",
				"--disable-pip-version-check", "--no-compile", "--no-deps", "-r", "requirements.txt",
			},
		},
	}
}

// maven returns the step that runs Maven.
func maven(goals ...string) []string {
	options := "MAVEN_OPTS=" + strings.Join(javaOptions, " ")
	return append([]string{"env", options, "mvn", "-q", "-B"}, goals...)
}

// nodePreparation installs a folder's lock file in the folder. The presence of pkg
// shows that it is installed.
func nodePreparation(name, dir, pkg string) preparation {
	return preparation{
		name: name, dir: dir,
		inputs:  []string{filepath.Join(dir, "package.json"), filepath.Join(dir, "package-lock.json")},
		outputs: []string{filepath.Join(dir, "node_modules", pkg, "package.json")},
		steps:   [][]string{{"npm", "ci", "--silent"}},
	}
}

// serverPreparation builds this repository's server, without the profile: tests ask for answers, not speed.
func serverPreparation(root, binary string) preparation {
	return preparation{
		name: "zlimit-server", dir: root,
		steps: [][]string{{"go", "build", "-pgo=off", "-o", binary, "./cmd/zlimit-server"}},
	}
}

// prepareNamed runs those of all whose names are listed, separated by commas.
func prepareNamed(ctx context.Context, all []preparation, stamps, names string) error {
	if err := os.MkdirAll(stamps, 0o755); err != nil {
		return err
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(p preparation) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("--prepare: nothing is named %q", name)
		}
		if _, err := all[i].run(ctx, stamps); err != nil {
			return err
		}
	}
	return nil
}

// run reports whether anything had to be done. stamps is the folder that records
// earlier successes.
func (p preparation) run(ctx context.Context, stamps string) (done bool, err error) {
	stamp := filepath.Join(stamps, p.name+".prepared")
	digest := ""
	if len(p.inputs) > 0 {
		if digest, err = digestOf(p.inputs); err != nil {
			return false, err
		}
		last, err := os.ReadFile(stamp)
		if err == nil && string(last) == digest && allExist(p.outputs) {
			return false, nil
		}
	}
	if p.first != nil {
		if err := p.first.runShared(ctx, stamps); err != nil {
			return true, err
		}
	}
	// An interrupted preparation must not pass for the previous one.
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, step := range p.steps {
		cmd := exec.CommandContext(ctx, step[0], step[1:]...)
		cmd.Dir = p.dir
		if strings.Contains(step[0], "/") && !filepath.IsAbs(step[0]) {
			// exec resolves a relative program against this process' folder, not
			// against Dir.
			cmd.Path = filepath.Join(p.dir, step[0])
		}
		if output, err := cmd.CombinedOutput(); err != nil {
			return true, fmt.Errorf("%s: %w\n%s", strings.Join(step, " "), err, tail(output, 30))
		}
	}
	if len(p.inputs) == 0 {
		return true, nil
	}
	return true, os.WriteFile(stamp, []byte(digest), 0o644)
}

// sharing is held while a preparation runs that others share.
var sharing sync.Mutex

func (p preparation) runShared(ctx context.Context, stamps string) error {
	sharing.Lock()
	defer sharing.Unlock()
	_, err := p.run(ctx, stamps)
	return err
}

// digestOf covers names and contents of files and of the sources in folders, without
// build products.
func digestOf(paths []string) (string, error) {
	sum := sha256.New()
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if entry.Name() == "target" {
					return filepath.SkipDir
				}
				return nil
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%s %d\n", name, len(content))
			sum.Write(content)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func allExist(paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// tail returns the last lines of a program's output, where the reason of a failure is.
func tail(output []byte, count int) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
