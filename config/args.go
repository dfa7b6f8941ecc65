package config

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// Returned by ParseArgs if the command line asks for help or the version. Nothing
// is parsed then.
var (
	ErrHelp    = errors.New("config: help is asked for")
	ErrVersion = errors.New("config: the version is asked for")
)

// ParseArgs parses a command line, without the program's name, like redis-server:
//
//	[FILE] [-] [--name value ...] ...
//
// A file comes first. A - at the start or at the end reads directives from stdin.
// An argument that starts with -- begins a directive, and its values follow, the
// first of which may start with -- too. --save without a value means --save "".
// Later values win: options over stdin over the file. -h and --help, -v and
// --version are recognized only as the first argument.
//
// Errors are those of ParseFile, ErrHelp and ErrVersion. Lines are counted as in
// Redis: through the file, stdin, and one for each option, after an empty line.
func (c *Config) ParseArgs(args []string, stdin io.Reader) error {
	if len(args) > 0 {
		switch args[0] {
		case "-h", "--help":
			return ErrHelp
		case "-v", "--version":
			return ErrVersion
		}
	}
	path, text, err := readFileArg(args)
	if err != nil {
		return err
	}
	options, fromStdin := optionLines(args)
	if fromStdin {
		more, err := readAll("-", stdin)
		if err != nil {
			return err
		}
		// Redis would append to the file's last line if it had no line end.
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += more
	}
	if options != "" {
		text += "\n" + options
	}
	if err := c.parseText(text); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = path
	return nil
}

// readFileArg reads the file that a command line begins with. path is "" if there is none.
func readFileArg(args []string) (path, text string, err error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", "", nil
	}
	if path, err = filepath.Abs(args[0]); err != nil {
		return "", "", openError(args[0], err)
	}
	text, err = readFile(path)
	return path, text, err
}

// CheckArgs is ParseArgs for a command line to be checked: it goes on behind an error, sets what the other
// lines say, and returns all errors. A *FileError then names the file also if it is the first
// one, and counts lines from the beginning of that file, of stdin or of the options.
func (c *Config) CheckArgs(args []string, stdin io.Reader) (errs []error) {
	path, text, err := readFileArg(args)
	if err != nil {
		return []error{err}
	}
	options, fromStdin := optionLines(args)
	c.mu.Lock()
	defer c.mu.Unlock()
	report := func(err error) { errs = append(errs, err) }
	p := parser{values: slices.Clone(c.values), users: c.users, renames: c.renames, report: report}
	_ = p.parse(path, text) // it reports all errors
	if fromStdin {
		more, err := readAll("-", stdin)
		if err != nil {
			report(err)
		}
		_ = p.parse("-", more)
	}
	_ = p.parse("", options)
	for _, r := range p.refused {
		report(r.at)
	}
	c.values, c.users, c.renames, c.path = p.values, p.users, p.renames, path
	return errs
}

// optionLines converts the options to lines of a file, and reports whether stdin is
// to be read.
func optionLines(args []string) (lines string, fromStdin bool) {
	var b strings.Builder
	needsValue := false // the last option has no value yet
	for i, arg := range args {
		last := i == len(args)-1
		switch {
		case i == 0 && !strings.HasPrefix(arg, "-"): // the file
		case arg == "-" && (i == 0 || last):
			fromStdin = true
		case !needsValue && strings.HasPrefix(arg, "--"):
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(arg[len("--"):] + " ")
			parts, err := splitLine(arg)
			needsValue = err == nil && len(parts) == 1 // otherwise the argument contains the value
			if asciiEqual(arg, "--save") && (last || strings.HasPrefix(args[i+1], "--")) {
				b.WriteString(`""`)
				needsValue = false
			}
		default:
			b.WriteString(words.Quote(arg) + " ")
			needsValue = false
		}
	}
	return b.String(), fromStdin
}
