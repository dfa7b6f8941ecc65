package config

import (
	"fmt"
	"strings"
)

// SetError is why Set changed nothing.
type SetError struct {
	Name    string // the parameter that is to blame; empty where it is their number
	Reason  string // empty where there is no such parameter, or CONFIG SET has no value for it
	unknown bool
}

// Error returns the reply without its code word.
func (e *SetError) Error() string {
	switch {
	case e.Name == "" && !e.unknown:
		return "syntax error"
	case e.unknown:
		return fmt.Sprintf("Unknown option or number of arguments for CONFIG SET - '%s'", e.Name)
	}
	return fmt.Sprintf("CONFIG SET failed (possibly related to argument '%s') - %s", e.Name, e.Reason)
}

// Reply returns the error reply of CONFIG SET, byte for byte as Redis 7.0
// gives it, without the leading minus sign.
func (e *SetError) Reply() string {
	return "ERR " + strings.NewReplacer("\r", " ", "\n", " ").Replace(e.Error())
}

// Set is CONFIG SET: names and values in turn. Either all of them are set, or
// none and the error is a *SetError. Then the functions of Follow and the
// OnChange functions of what changed run, these in the order of the pairs; Set
// returns after them. It refuses protected directives: see SetProtected.
func (c *Config) Set(pairs [][]byte) error { return c.set(pairs, false) }

// SetProtected is Set for a caller that enable-protected-configs lets change
// protected directives.
func (c *Config) SetProtected(pairs [][]byte) error { return c.set(pairs, true) }

func (c *Config) set(pairs [][]byte, protected bool) error {
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return &SetError{}
	}
	c.setting.Lock()
	defer c.setting.Unlock()
	found, err := settable(pairs, protected)
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
	if err := c.try(changed, before); err != nil {
		return err
	}
	c.tell(changed)
	return nil
}

// tell calls the functions of Follow and OnChange.
func (c *Config) tell(changed []entry) {
	if len(changed) == 0 {
		return
	}
	c.mu.RLock()
	caches := c.caches
	c.mu.RUnlock()
	for _, fn := range caches {
		fn()
	}
	for _, n := range changed {
		for _, fn := range c.hooksOf(n) {
			fn()
		}
	}
}

// try calls the OnTry functions of what has changed.
func (c *Config) try(changed []entry, before []value) error {
	var tried []func() error
	for _, n := range changed {
		for _, fn := range c.trialsOf(n) {
			err := fn()
			if err == nil {
				tried = append(tried, fn)
				continue
			}
			c.mu.Lock()
			c.values = before
			c.mu.Unlock()
			for _, again := range tried {
				_ = again() // it held this value a moment ago
			}
			return &SetError{Name: n.text, Reason: err.Error()}
		}
	}
	return nil
}

func (c *Config) hooksOf(n entry) []func() {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.hooks[n.index]
}

func (c *Config) trialsOf(n entry) []func() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.trials[n.index]
}

// settable finds the names, and refuses those that cannot be set. The first
// that is wrong in any way is the one that is named.
func settable(pairs [][]byte, protected bool) ([]entry, error) {
	found := make([]entry, 0, len(pairs)/2)
	// An alias is a parameter of its own: Redis takes both names in one call.
	seen := make(map[string]bool, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		asked, _, _ := strings.Cut(string(pairs[i]), "\x00") // Redis prints a C string
		n, ok := lookup(string(pairs[i]))
		switch {
		case !ok:
			return nil, &SetError{Name: asked, unknown: true}
		case table[n.index].Immutable:
			return nil, &SetError{Name: asked, Reason: "can't set immutable config"}
		case table[n.index].Protected && !protected:
			return nil, &SetError{Name: asked, Reason: "can't set protected config"}
		case seen[n.text]:
			return nil, &SetError{Name: asked, Reason: "duplicate parameter"}
		}
		seen[n.text] = true
		found = append(found, n)
	}
	return found, nil
}

// store sets all or nothing, and returns what has changed.
func (c *Config) store(found []entry, pairs [][]byte) ([]entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := append([]value(nil), c.values...)
	for i, n := range found {
		d := &table[n.index]
		args := []string{string(pairs[2*i+1])}
		old := values[n.index]
		if d.Kind.takesWords() {
			args = splitWords(args[0])
		}
		if d.Kind == KindSave {
			old = value{} // only lines of a file add up
		}
		v, err := d.parse(args, old)
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
		if values[n.index].text != c.values[n.index].text {
			changed = append(changed, n)
		}
	}
	c.values = values
	return changed, nil
}

// splitWords cuts at every single space, as CONFIG SET does: two in a row make
// an empty word.
func splitWords(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, " ")
}
