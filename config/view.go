package config

import "slices"

// A View is a Config together with the functions that one user of it has registered.
// End unregisters them: a Config may outlive a server, and its successor may get it.
type View struct{ *Config }

// View returns a new view of the values.
func (c *Config) View() *View { return &View{c} }

// A hook is a function that Set calls.
type hook struct {
	owner     *View
	when      moment
	directive int // index in table; not for afterAny
	call      func() error
}

type moment uint8

const (
	onTry    moment = iota // see OnTry
	afterAny               // see Follow
	onChange               // see OnChange
)

// OnChange registers fn to be called after each Set that has changed the directive.
// Getters then return the new value and do not block. Calls never overlap, for any
// directive; fn must not call Set. Reading a file or the command line calls no
// functions.
func (v *View) OnChange(name string, fn func()) {
	v.register(onChange, mustLookup(name).index, func() error { fn(); return nil })
}

// Follow calls fn at once, and again after each Set that has changed anything. It
// is for caches of directives that are read often. These calls come before those of
// OnChange and never overlap with each other or with them; fn must not call Set.
func (v *View) Follow(fn func()) {
	fn()
	v.register(afterAny, 0, func() error { fn(); return nil })
}

// OnTry is like OnChange for changes that may fail. If fn returns an error, Set
// restores all values, returns the error's text, and calls the functions that had
// succeeded again. They are called before those of OnChange.
func (v *View) OnTry(name string, fn func() error) { v.register(onTry, mustLookup(name).index, fn) }

func (v *View) register(when moment, directive int, call func() error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hooks = append(v.hooks, hook{v, when, directive, call})
}

// End unregisters the functions of this view, after those that Set is calling now. The
// values can be read as before.
func (v *View) End() {
	v.setMu.Lock()
	defer v.setMu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hooks = slices.DeleteFunc(v.hooks, func(h hook) bool { return h.owner == v })
}

// hooksOf returns the functions to call at a moment, for the directives that have changed.
func (c *Config) hooksOf(when moment, directive int) (calls []func() error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, h := range c.hooks {
		if h.when == when && h.directive == directive {
			calls = append(calls, h.call)
		}
	}
	return calls
}
