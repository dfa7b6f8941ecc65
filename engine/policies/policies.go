// Package policies has the policies of an engine: it reads the files of rl-policies, replaces what was read
// as a whole, and has the rows of RL.POLICY.
//
// This package is internal to zlimit: it may change in any release.
package policies

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/policy"
)

// Policies are those of an engine. Their methods may be called concurrently, but for Init.
type Policies struct {
	config  *config.View
	log     *slog.Logger
	changed func() // called when Set has changed

	registry policy.Registry
	current  atomic.Pointer[policy.Set]
	loading  sync.Mutex // held while files are read
}

// Init sets what the policies are made of. It is called first.
func (p *Policies) Init(c *config.View, log *slog.Logger, changed func()) {
	p.config, p.log, p.changed = c, log, changed
}

// Set returns the policies, or nil if rl-policies names no files.
func (p *Policies) Set() *policy.Set { return p.current.Load() }

// Registry returns the counts of decisions.
func (p *Policies) Registry() *policy.Registry { return &p.registry }

// Load reads the files, if rl-policies names any, and replaces what was read before. If a file has an error,
// nothing changes.
func (p *Policies) Load() error {
	if p.config.String("rl-policies") == "" {
		return nil
	}
	p.loading.Lock()
	defer p.loading.Unlock()
	set, err := p.read(&p.registry)
	if err != nil {
		return err
	}
	for _, w := range set.Warnings() {
		p.log.Warn("rl-policies: " + w)
	}
	set.RefusesUnknown = p.config.String("rl-policy-unknown-domain") == "refuse"
	p.current.Store(set)
	p.changed()
	return nil
}

// Check reads the files without loading them.
func (p *Policies) Check() (*policy.Set, error) { return p.read(&policy.Registry{}) }

func (p *Policies) read(registry *policy.Registry) (*policy.Set, error) {
	files, err := readFiles(p.config.String("rl-policies"))
	if err != nil {
		return nil, fmt.Errorf("rl-policies: %w", err)
	}
	set, err := policy.Read(files, registry, rl.CheckTerm)
	if err != nil {
		return nil, fmt.Errorf("rl-policies: %w", err)
	}
	return set, nil
}

// Bounds of a directory of files.
const (
	maxFiles     = 1000
	maxFileBytes = policy.MaxFileBytes
)

// readFiles reads a file, or those of a directory that end in .yaml or .yml, in the order of their names.
// Names that begin with a dot are left out, as editors and mounted volumes make them.
func readFiles(path string) (files []policy.File, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	if !info.IsDir() {
		data, err := readFile(path)
		return []policy.File{{Name: filepath.Base(path), Data: data}}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	total := 0
	for _, e := range entries {
		name := e.Name()
		if ext := filepath.Ext(name); strings.HasPrefix(name, ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if len(files) == maxFiles {
			return nil, fmt.Errorf("%s has more than %d files", path, maxFiles)
		}
		data, err := readFile(filepath.Join(path, name))
		if err != nil {
			return nil, err
		}
		if total += len(data); total > maxFileBytes {
			return nil, fmt.Errorf("the files of %s are larger than %d bytes", path, maxFileBytes)
		}
		files = append(files, policy.File{Name: name, Data: data})
	}
	return files, nil
}

func readFile(path string) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(f, maxFileBytes+1)); err != nil {
		return nil, pathError(path, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	return data, nil
}

// pathError names the path and the reason, without the system call.
func pathError(path string, err error) error {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
