package config

import "slices"

// A UserLine is a line of a file that declares a user of the ACL: user, a name, and rules.
// This package does not know the rules.
type UserLine struct {
	Words []string // behind "user": the name, then the rules
	at    *FileError
}

// Error returns the *FileError for the line.
func (l UserLine) Error(reason string) error {
	at := *l.at
	at.Reason = reason
	return &at
}

// Users returns the lines of users, in the order in which they were read. The caller must
// not change them.
func (c *Config) Users() []UserLine {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clip(c.users)
}
