package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
)

// Config is the value of every directive. Its methods may be called
// concurrently. The zero value is not usable: see New.
type Config struct {
	setting sync.Mutex // held by Set to its end, the OnChange functions included, so that none of them meets a newer change and then caches the older one

	mu     sync.RWMutex           // protects what follows
	values []value                // by index in table
	path   string                 // of the file that ParseArgs has read; "": none
	hooks  map[int][]func()       // by index in table
	caches []func()               // see Follow
	trials map[int][]func() error // by index in table
}

// New returns the defaults.
func New() *Config {
	return &Config{values: slices.Clone(defaults), hooks: make(map[int][]func()), trials: make(map[int][]func() error)}
}

// defaults are read from the table as a file would be, so that a row cannot
// have a default that it would refuse.
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

// OnChange calls fn each time Set has changed the directive: after the new
// value can be read, and with nothing locked that a getter needs. Calls never
// overlap, for any directive; fn must not call Set. Reading a file or the
// command line calls nothing.
func (c *Config) OnChange(name string, fn func()) {
	n := mustLookup(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks[n.index] = append(c.hooks[n.index], fn)
}

// Follow calls fn now, and again each time Set has changed anything: for what
// keeps a copy of directives that is read often. Calls never overlap, nor with
// those of OnChange, which come later; fn must not call Set.
func (c *Config) Follow(fn func()) {
	fn()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caches = append(c.caches, fn)
}

// OnTry is OnChange for what may fail: where fn returns an error, Set takes all
// its values back, and answers with that error's text; who was tried with
// success before is called again. It comes before every OnChange.
func (c *Config) OnTry(name string, fn func() error) {
	n := mustLookup(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trials[n.index] = append(c.trials[n.index], fn)
}

// Bool returns a KindBool directive. A getter panics on a name that no
// directive has, and on a kind that it does not read.
func (c *Config) Bool(name string) bool { return c.get(name, KindBool).num != 0 }

// Int returns a KindInt, KindMemory (bytes) or KindOctal directive.
func (c *Config) Int(name string) int64 {
	return c.get(name, KindInt, KindMemory, KindOctal).num
}

// String returns a KindString, KindEnum, KindSave, KindFileName,
// KindPath or KindDir directive. Enums are in lower case. A relative path is
// joined to dir; an empty one stays empty.
func (c *Config) String(name string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return textOf(c.values, name)
}

// textOf is String on values that may not be a Config's yet.
func textOf(values []value, name string) string {
	n := mustLookup(name)
	text := values[n.index].text
	switch kind := table[n.index].Kind; kind {
	case KindPath:
		if text == "" || filepath.IsAbs(text) {
			return text
		}
		return filepath.Join(textOf(values, "dir"), text)
	case KindString, KindEnum, KindSave, KindFileName, KindDir:
		return text
	}
	panic("config: " + name + " is not a string")
}

// Strings returns the words of a KindList or KindPercentiles directive; nil if
// there are none. The caller must not change them.
func (c *Config) Strings(name string) []string { return c.get(name, KindList, KindPercentiles).words }

// SavePoints returns the pairs of seconds and changes that save holds, one word
// each; nil if there are none. The caller must not change them.
func (c *Config) SavePoints() []string { return c.get("save", KindSave).words }

// OutputBufferLimit returns what client-output-buffer-limit says of a class.
func (c *Config) OutputBufferLimit(class Class) OutputBufferLimit {
	return c.get("client-output-buffer-limit", KindOutputBuffer).limits[class]
}

// Text returns any directive as it was set, in the form in which CONFIG GET
// shows it.
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
