package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxFileBytes bounds the reading of files such as /dev/zero.
	maxFileBytes = 16 << 20
	// maxIncludes bounds the recursion of a file that includes itself.
	maxIncludes = 256
)

// FileError is the error for an invalid line of a file or the command line.
type FileError struct {
	File   string // the included file with the line; empty if it is not in one
	Line   int    // from 1; see ParseArgs
	Text   string // the line, without surrounding white space
	Reason string

	// Unknown is the name in the line that is the name of no directive; empty if that is not the error.
	Unknown string
}

// Error returns Report without a version.
func (e *FileError) Error() string { return e.Report("") }

// Report returns the lines that redis-server prints in this case, with zlimit's
// name.
func (e *FileError) Report(version string) string {
	product, file := "zlimit", ""
	if version != "" {
		product += " " + version
	}
	if e.File != "" {
		file = " " + e.File
	}
	return fmt.Sprintf("*** FATAL CONFIG FILE ERROR (%s) ***\nReading the configuration file%s, at line "+
		"%d\n>>> '%s'\n%s",
		product, file, e.Line, e.Text, e.Reason)
}

// OpenError is the error for a file that cannot be read. It unwraps to the cause.
type OpenError struct {
	File string
	Err  error
}

// Error returns what redis-server prints in this case.
func (e *OpenError) Error() string {
	reason := []byte(e.Err.Error())
	if len(reason) > 0 && 'a' <= reason[0] && reason[0] <= 'z' {
		reason[0] -= 'a' - 'A' // the C library's texts begin with a capital letter
	}
	return fmt.Sprintf("Fatal error, can't open config file '%s': %s", e.File, reason)
}

// Unwrap returns Err.
func (e *OpenError) Unwrap() error { return e.Err }

// ParseFile parses a file in the syntax of redis.conf on top of the current values:
// one directive per line, name and value, with comments after # at the start of a
// line, quoted words, and include for other files. name is used only in an
// OpenError. It sets all values, or none and returns a *FileError or an *OpenError.
//
// A value that is refused because zlimit does not implement it may be overridden by
// a later line, as daemonize yes in a file by --daemonize no.
func (c *Config) ParseFile(name string, r io.Reader) error {
	text, err := readAll(name, r)
	if err != nil {
		return err
	}
	return c.parseText(text)
}

func (c *Config) parseText(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := parser{values: slices.Clone(c.values), users: c.users, renames: c.renames}
	if err := p.parse("", text); err != nil {
		return err
	}
	if err := p.firstRefused(); err != nil {
		return err
	}
	c.values, c.users, c.renames = p.values, p.users, p.renames
	return nil
}

// parser parses one file and the files that it includes.
type parser struct {
	values   []value
	users    []UserLine
	renames  []Rename
	refused  []refused
	included int
	report   func(error) // is called with each error of a line, and parsing goes on; nil: it ends
}

// refused is a value that is not true of zlimit. It is an error unless a later line
// sets the same directive.
type refused struct {
	index int // in table
	at    *FileError
}

func (p *parser) firstRefused() error {
	if len(p.refused) > 0 {
		return p.refused[0].at
	}
	return nil
}

func (p *parser) parse(file, text string) error {
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		at := &FileError{File: file, Line: i + 1, Text: line}
		switch err := p.parseLine(line, at); {
		case err != nil && p.report != nil:
			p.report(err)
		case err != nil:
			return err
		}
	}
	return nil
}

//nolint:staticcheck // Redis' text
var errBadDirective = errors.New("Bad directive or wrong number of arguments")

// deprecated are directives of older versions, which Redis ignores in files.
var deprecated = []string{"list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands"}

// parseLine parses one line. at is the error to complete.
func (p *parser) parseLine(line string, at *FileError) error {
	words, err := splitLine(line)
	if err != nil {
		return at.withReason(err)
	}
	if len(words) == 0 {
		return nil
	}
	switch {
	case asciiEqual(words[0], "include") && len(words) == 2:
		return p.include(words[1], at)
	case asciiEqual(words[0], "rename-command") && len(words) == 3:
		p.renames = append(slices.Clip(p.renames), Rename{From: words[1], To: words[2], at: at})
		return nil
	case asciiEqual(words[0], "user") && len(words) > 1:
		p.users = append(slices.Clip(p.users), UserLine{words[1:], at})
		return nil
	case slices.ContainsFunc(deprecated, func(name string) bool { return asciiEqual(words[0], name) }) &&
		len(words) == 2:
		return nil
	}
	n, ok := lookup(words[0])
	if !ok {
		at.Unknown = words[0]
		return at.withReason(errBadDirective)
	}
	d, args := &table[n.index], words[1:]
	if d.Kind.takesWords() && len(args) == 1 {
		if args, err = splitLine(args[0]); err != nil {
			return at.withReason(err)
		}
	}
	v, err := d.parse(args, p.values[n.index])
	if err != nil {
		return at.withReason(err)
	}
	p.values[n.index] = v
	p.refused = slices.DeleteFunc(p.refused, func(r refused) bool { return r.index == n.index })
	if why := d.refusal(v.text); why != "" {
		at.Reason = why
		p.refused = append(p.refused, refused{n.index, at})
	}
	return nil
}

func (e *FileError) withReason(err error) error {
	e.Reason = err.Error()
	return e
}

// include parses the files that match a pattern. A pattern may match nothing, but a
// named file must exist.
func (p *parser) include(pattern string, at *FileError) error {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(stringOf(p.values, "dir"), pattern)
	}
	files := []string{pattern}
	if strings.ContainsAny(pattern, "*?[") {
		if matches, err := filepath.Glob(pattern); err == nil {
			files = matches
		}
	}
	for _, file := range files {
		if p.included++; p.included > maxIncludes {
			return at.withReason(fmt.Errorf("more than %d files are included: does one include itself?",
				maxIncludes))
		}
		text, err := readFile(file)
		if err != nil {
			return err
		}
		if err := p.parse(file, text); err != nil {
			return err
		}
	}
	return nil
}

func readFile(name string) (_ string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", openError(name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readAll(name, f)
}

func readAll(name string, r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return "", openError(name, err)
	}
	if len(b) > maxFileBytes {
		return "", openError(name, fmt.Errorf("it is longer than %d bytes", maxFileBytes))
	}
	return string(b), nil
}

// openError omits the path that a PathError repeats.
func openError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &OpenError{File: name, Err: err}
}
