package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
)

// Config has the values of all directives. Its methods may be called concurrently.
// New makes one; the zero value is not usable.
type Config struct {
	// setMu is held by Set until the functions of its views have returned, so that none of
	// them caches a value that is no longer the newest.
	setMu sync.Mutex

	mu      sync.RWMutex // protects the fields below
	values  []value      // by index in table
	path    string       // the file that ParseArgs has read; "": none
	users   []UserLine   // in the order of their lines
	renames []Rename     // in the order of their lines
	hooks   []hook       // in the order of their registration

	initial map[int]value // protected by setMu: what directives were before SetAs changed them first
}

// New returns a Config with the default values.
func New() *Config {
	return &Config{values: slices.Clone(defaults)}
}

// defaults are parsed as in a file, so that no row has a default that it would
// refuse.
var defaults = func() []value {
	values := make([]value, len(table))
	for i := range table {
		d := &table[i]
		args := []string{d.Default}
		if d.Kind.takesWords() {
			args = splitWords(d.Default)
		}
		v, err := d.parse(args, value{})
		if err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", d.Name, err))
		}
		if v.text != d.Default || d.refusal(v.text) != "" {
			panic(fmt.Sprintf("config: default of %s is shown as %q", d.Name, v.text))
		}
		values[i] = v
	}
	return values
}()

// Bool returns a KindBool directive. Getters panic if there is no directive of that
// name, or if it has a kind that they do not read.
func (c *Config) Bool(name string) bool { return c.get(name, KindBool).num != 0 }

// Int returns a KindInt, KindMemory (bytes) or KindOctal directive.
func (c *Config) Int(name string) int64 {
	return c.get(name, KindInt, KindMemory, KindOctal).num
}

// String returns a KindString, KindEnum, KindSave, KindFileName, KindPath or
// KindDir directive. Enums are in lower case. A relative path is joined to dir; an
// empty one stays empty.
func (c *Config) String(name string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return stringOf(c.values, name)
}

// stringOf is String for values that are not yet those of a Config.
func stringOf(values []value, name string) string {
	n := mustLookup(name)
	text := values[n.index].text
	switch kind := table[n.index].Kind; kind {
	case KindPath:
		if text == "" || filepath.IsAbs(text) {
			return text
		}
		return filepath.Join(stringOf(values, "dir"), text)
	case KindString, KindEnum, KindSave, KindFileName, KindDir:
		return text
	}
	panic("config: " + name + " is not a string")
}

// Strings returns the words of a KindList, KindPercentiles, KindPrefixes or KindMaster directive, or nil if
// there are none. The caller must not change them.
func (c *Config) Strings(name string) []string {
	return c.get(name, KindList, KindPercentiles, KindPrefixes, KindMaster).words
}

// SavePoints returns the save points of save, seconds and changes alternating, or
// nil if there are none. The caller must not change them.
func (c *Config) SavePoints() []string { return c.get("save", KindSave).words }

// OutputBufferLimit returns the client-output-buffer-limit of a class.
func (c *Config) OutputBufferLimit(class Class) OutputBufferLimit {
	return c.get("client-output-buffer-limit", KindOutputBuffer).limits[class]
}

// Text returns any directive as it was set, in the format of CONFIG GET.
func (c *Config) Text(name string) string {
	n := mustLookup(name)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.values[n.index].text
}

func (c *Config) get(name string, kinds ...Kind) value {
	n := mustLookup(name)
	if !slices.Contains(kinds, table[n.index].Kind) {
		panic("config: " + name + " is read with another getter")
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.values[n.index]
}

func mustLookup(text string) entry {
	n, ok := byName[text]
	if !ok {
		panic("config: there is no directive " + text)
	}
	return n
}
