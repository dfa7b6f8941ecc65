package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoFile is returned by Rewrite if ParseArgs has read no file.
var ErrNoFile = errors.New("config: there is no file")

// Path returns the path of the file that ParseArgs has read, or "" if there was
// none.
func (c *Config) Path() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.path
}

// File returns the lines of a file that makes a new Config equal to this one: those
// of rename-command, and one or more for each directive with a value other than its
// default, in alphabetical order. It may contain the password.
func (c *Config) File() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var lines []string
	for _, r := range c.renames {
		lines = append(lines, line("rename-command", r.From, r.To))
	}
	for i := range table {
		if c.values[i].text != table[i].Default {
			lines = append(lines, table[i].lines(c.values[i], false)...)
		}
	}
	return joinLines(lines)
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Rewrite implements CONFIG REWRITE: it passes write the path of the file that
// ParseArgs has read, and a new text for it, which makes a new Config equal to this
// one. Lines stay as they are unless their directive now has another value than the
// file gives it. Such directives have their lines replaced, or are appended. Lines that
// are not understood become comments. If the file has been removed, the text is what
// has to be appended to an empty file.
//
// The lines user of the file are replaced by those that users returns, which spells
// them; it and write are called once, and Set blocks until write has returned. If users
// is nil, the lines stay.
//
// It returns ErrNoFile, an error of reading the file, that of write, or one that says that the text would
// be too long to be read.
func (c *Config) Rewrite(users func() []string, write func(path, text string) error) error {
	return c.rewrite(false, users, write)
}

// RewriteAll is Rewrite for a file that has every directive, also those with their defaults.
func (c *Config) RewriteAll(users func() []string, write func(path, text string) error) error {
	return c.rewrite(true, users, write)
}

func (c *Config) rewrite(all bool, users func() []string, write func(path, text string) error) error {
	c.setMu.Lock()
	defer c.setMu.Unlock()
	c.mu.RLock()
	path, values := c.path, c.values
	c.mu.RUnlock()
	if path == "" {
		return ErrNoFile
	}
	old, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d := parseDocument(old)
	d.update(values)
	if all {
		d.complete(values)
	}
	if users != nil {
		d.replace(userLines, users())
	}
	text := d.text()
	if len(text) > maxFileBytes {
		return fmt.Errorf("it would be longer than %d bytes", maxFileBytes) // and could not be read again
	}
	return write(path, text)
}

// update changes lines so that the document gives values.
func (d *document) update(values []value) {
	whole := d.isValid()
	inPlace := d.clone()
	for _, i := range inPlace.differing(values) {
		inPlace.replace(i, table[i].lines(values[i], false))
	}
	// What a file included later sets is set again behind it.
	for _, i := range inPlace.differing(values) {
		inPlace.append(i, table[i].lines(values[i], true))
	}
	if inPlace.gives(values) && (inPlace.isValid() || !whole) {
		*d = *inPlace
		return
	}
	// A file that is included no longer fits the changed lines before it: it is found
	// relative to dir, for example. Leave them, and override them at the end.
	behind := d.clone()
	for _, i := range behind.differing(values) {
		behind.append(i, table[i].lines(values[i], true))
	}
	if behind.gives(values) && behind.isValid() {
		*d = *behind
		return
	}
	*d = *inPlace
}

// complete appends the directives that have no line.
func (d *document) complete(values []value) {
	has := make(map[int]bool)
	for _, l := range d.lines {
		has[l.index] = true
	}
	for i := range table {
		if !has[i] {
			d.append(i, table[i].lines(values[i], true))
		}
	}
}

// differing returns the indexes of directives to which the document gives other values,
// in ascending order.
func (d *document) differing(values []value) (out []int) {
	p, refused := d.parse()
	for i := range table {
		if refused[i] || !sameText(i, p.values[i], values[i]) {
			out = append(out, i)
		}
	}
	return out
}

func (d *document) gives(values []value) bool { return len(d.differing(values)) == 0 }

// sameText reports whether two values are equal. Directories are compared by their
// absolute paths.
func sameText(index int, a, b value) bool {
	if table[index].Kind == KindDir {
		return absolute(a.text) == absolute(b.text)
	}
	return a.text == b.text
}

// absolute returns the absolute path of a directory, as far as it is known.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}

// parse returns what the lines give that can be parsed, and the directives of those
// that cannot.
func (d *document) parse() (p *parser, refused map[int]bool) {
	p, refused = &parser{values: slices.Clone(defaults)}, make(map[int]bool)
	for _, l := range d.lines {
		if l.index == comment {
			continue
		}
		if p.parseLine(strings.Trim(l.text, blanks), &FileError{}) != nil && l.index >= 0 {
			refused[l.index] = true
		}
	}
	return p, refused
}

// isValid reports whether a server starts with the document.
func (d *document) isValid() bool {
	p := &parser{values: slices.Clone(defaults)}
	return p.parse("", d.text()) == nil && p.firstRefused() == nil
}
