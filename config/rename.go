package config

import "slices"

// A Rename is a line rename-command. It is no directive: CONFIG neither shows nor sets
// it. Package config knows no commands, so the caller must check the names.
type Rename struct {
	From string // the command
	To   string // its new name; empty removes it

	at *FileError // without a reason
}

// Refused returns the *FileError for a line that is refused.
func (r Rename) Refused(reason error) error {
	at := *r.at
	at.Reason = reason.Error()
	return &at
}

// Renames returns the lines rename-command of files and the command line, in their
// order. The caller must not change them.
func (c *Config) Renames() []Rename {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clip(c.renames)
}
