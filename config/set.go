package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SetError is the error of Set.
type SetError struct {
	Name    string // the offending parameter; empty if their number is wrong
	Reason  string // empty if the parameter is unknown or lacks a value
	unknown bool
}

// Error returns the reply without its error code.
func (e *SetError) Error() string {
	switch {
	case e.Name == "" && !e.unknown:
		return "syntax error"
	case e.unknown:
		return fmt.Sprintf("Unknown option or number of arguments for CONFIG SET - '%s'", e.Name)
	}
	return fmt.Sprintf("CONFIG SET failed (possibly related to argument '%s') - %s", e.Name, e.Reason)
}

// Reply returns the error reply of CONFIG SET, byte for byte as in Redis 7.0,
// without the leading minus sign.
func (e *SetError) Reply() string {
	return "ERR " + strings.NewReplacer("\r", " ", "\n", " ").Replace(e.Error())
}

// Set sets directives as CONFIG SET does: alternating names and values. It sets all of
// them, or none and returns a *SetError. Then it calls the functions of Follow, and those
// of OnChange for changed directives, in the order of the pairs, and returns after them.
// It refuses protected directives: see SetAs.
func (c *Config) Set(pairs [][]byte) error { return c.set(Setter{}, pairs, false) }

// A Setter says what may be set.
type Setter struct {
	Protected bool // directives whose row has Protected: enable-protected-configs admits the client
	Loading   bool // none whose row has Loaded, which give ErrLoading: files are being loaded
}

// ErrLoading is returned by SetAs for directives that cannot be set while files are loaded.
var ErrLoading = errors.New("files are being loaded")

// SetAs is Set for a Setter. Restore undoes it.
func (c *Config) SetAs(by Setter, pairs [][]byte) error { return c.set(by, pairs, true) }

func (c *Config) set(by Setter, pairs [][]byte, restored bool) error {
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return &SetError{}
	}
	c.setMu.Lock()
	defer c.setMu.Unlock()
	found, err := settable(pairs, by)
	if err != nil {
		return err
	}
	c.mu.RLock()
	before := c.values
	c.mu.RUnlock()
	changed, err := c.store(found, pairs)
	if err != nil {
		return err
	}
	if err := c.runOnTry(changed, before); err != nil {
		return err
	}
	if restored && c.initial == nil {
		c.initial = make(map[int]value)
	}
	for _, n := range changed {
		if _, ok := c.initial[n.index]; !ok && restored {
			c.initial[n.index] = before[n.index]
		}
	}
	c.notify(changed)
	return nil
}

// Restore gives the directives that SetAs has changed the values that they had before, as Set does: all of
// them, or none and an error. What Set has changed, such as a port that was chosen, stays.
func (c *Config) Restore() error {
	c.setMu.Lock()
	defer c.setMu.Unlock()
	c.mu.Lock()
	before := c.values
	values := slices.Clone(before)
	var changed []entry
	for index := range table {
		if v, ok := c.initial[index]; ok && values[index].text != v.text {
			values[index] = v
			changed = append(changed, entry{index: index, text: table[index].Name})
		}
	}
	c.values = values
	c.mu.Unlock()
	if err := c.runOnTry(changed, before); err != nil {
		return err
	}
	c.notify(changed)
	return nil
}

// notify calls the functions of Follow and OnChange.
func (c *Config) notify(changed []entry) {
	if len(changed) == 0 {
		return
	}
	for _, call := range c.hooksOf(afterAny, 0) {
		_ = call() // they do not fail
	}
	for _, n := range changed {
		for _, call := range c.hooksOf(onChange, n.index) {
			_ = call()
		}
	}
}

// runOnTry calls the OnTry functions of changed directives. If one fails, it
// restores their values before the change.
func (c *Config) runOnTry(changed []entry, before []value) error {
	var tried []func() error
	for _, n := range changed {
		for _, call := range c.hooksOf(onTry, n.index) {
			err := call()
			if err == nil {
				tried = append(tried, call)
				continue
			}
			c.restore(changed, before)
			for _, again := range tried {
				_ = again() // it has accepted this value before
			}
			return &SetError{Name: n.text, Reason: err.Error()}
		}
	}
	return nil
}

// restore sets directives to what they were before. Assign may have set others meanwhile.
func (c *Config) restore(changed []entry, before []value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values = slices.Clone(c.values)
	for _, n := range changed {
		c.values[n.index] = before[n.index]
	}
}

// settable looks the names up, and refuses those that cannot be set. The error
// names the first that is wrong.
func settable(pairs [][]byte, by Setter) ([]entry, error) {
	found := make([]entry, 0, len(pairs)/2)
	// An alias is a parameter of its own: Redis accepts both names in one call.
	seen := make(map[string]bool, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, _, _ := strings.Cut(string(pairs[i]), "\x00") // Redis prints a C string
		n, ok := lookup(string(pairs[i]))
		switch {
		case !ok:
			return nil, &SetError{Name: name, unknown: true}
		case table[n.index].Immutable:
			return nil, &SetError{Name: name, Reason: "can't set immutable config"}
		case table[n.index].Protected && !by.Protected:
			return nil, &SetError{Name: name, Reason: "can't set protected config"}
		case table[n.index].Loaded && by.Loading:
			return nil, ErrLoading
		case seen[n.text]:
			return nil, &SetError{Name: name, Reason: "duplicate parameter"}
		}
		seen[n.text] = true
		found = append(found, n)
	}
	return found, nil
}

// store sets all values or none, and returns those that have changed.
func (c *Config) store(found []entry, pairs [][]byte) ([]entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := append([]value(nil), c.values...)
	for i, n := range found {
		d := &table[n.index]
		args := []string{string(pairs[2*i+1])}
		old := values[n.index]
		var err error
		switch {
		case d.Kind == KindKeyLimits, d.Kind == KindPrefixes:
			args, err = splitQuoted(args[0])
		case d.Kind.takesWords():
			args = splitWords(args[0])
		}
		if d.Kind == KindSave || d.Kind == KindKeyLimits || d.Kind == KindPrefixes {
			old = value{} // only the lines of a file accumulate
		}
		var v value
		if err == nil {
			v, err = d.parse(args, old)
		}
		if err != nil {
			return nil, &SetError{Name: n.text, Reason: err.Error()}
		}
		if why := d.refusal(v.text); why != "" {
			return nil, &SetError{Name: n.text, Reason: why}
		}
		values[n.index] = v
	}
	var changed []entry
	for _, n := range found {
		if table[n.index].Volatile || values[n.index].text != c.values[n.index].text {
			changed = append(changed, n)
		}
	}
	c.values = values
	return changed, nil
}

// splitWords splits at every single space, as CONFIG SET does: two spaces enclose
// an empty word.
func splitWords(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, " ")
}

// Assign sets a directive that CONFIG SET refuses to change, for the server itself. It calls no function of
// Follow or OnChange.
func (c *Config) Assign(name, text string) error {
	_, err := c.store([]entry{mustLookup(name)}, [][]byte{[]byte(name), []byte(text)})
	return err
}
