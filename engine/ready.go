package engine

import "errors"

// Errors of Ready.
var (
	ErrNotLoaded = errors.New("loading")
	ErrMisconf   = errors.New("misconf: changes cannot be kept, so that commands that write are refused")
	ErrEnding    = errors.New("shutting down")
)

// Ready returns nil if the engine takes commands that write, as far as it is for the
// engine to say: its files are loaded, changes can be kept, and it is not ending.
func (e *Engine) Ready() error {
	switch {
	case e.ending.Load():
		return ErrEnding
	case e.storage.Loading():
		return ErrNotLoaded
	case e.storage.Failing():
		return ErrMisconf
	}
	return nil
}
