package config

import (
	"strings"

	"github.com/zlimit/zlimit/words"
)

// Path returns the path of the file that ParseArgs has read, or "" if there was
// none.
func (c *Config) Path() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.path
}

// File returns the lines of a file that makes a new Config equal to this one: those
// of rename-command, and one for each directive with a value other than its default,
// in alphabetical order. It may contain the password.
func (c *Config) File() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var b strings.Builder
	for _, r := range c.renames {
		b.WriteString("rename-command " + words.Spell(r.From) + " " + words.Spell(r.To) + "\n")
	}
	for i := range table {
		v := c.values[i]
		if v.text == table[i].Default {
			continue
		}
		b.WriteString(table[i].Name)
		parts := []string{v.text}
		switch {
		case len(v.keys) > 0:
			parts = keyLimitWords(v.keys)
		case table[i].Kind.takesWords() && v.text != "":
			parts = strings.Split(v.text, " ")
		}
		for _, word := range parts {
			b.WriteString(" " + words.Spell(word))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
