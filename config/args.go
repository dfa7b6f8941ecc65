package config

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// What ParseArgs returns where the command line asks for text rather than for
// a server. Nothing is parsed then.
var (
	ErrHelp    = errors.New("config: help is asked for")
	ErrVersion = errors.New("config: the version is asked for")
)

// ParseArgs reads a command line, without the program's name, as redis-server
// takes it:
//
//	[FILE] [-] [--name value ...] ...
//
// A file comes first. A - at the start or at the end reads directives from
// stdin. What starts with -- begins a directive, and what follows are its
// values, the first of which may start with -- itself; --save without a value
// is --save "". The later one wins: options over stdin over the file. -h and
// --help, -v and --version count only as the first argument.
//
// Errors are those of ParseFile, ErrHelp and ErrVersion. The lines are counted
// as Redis does: through the file, stdin, and one for each option, which
// begin after an empty line.
func (c *Config) ParseArgs(args []string, stdin io.Reader) error {
	var text, path string
	if len(args) > 0 {
		switch args[0] {
		case "-h", "--help":
			return ErrHelp
		case "-v", "--version":
			return ErrVersion
		}
		if !strings.HasPrefix(args[0], "-") {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return openError(args[0], err)
			}
			if text, err = readFile(file); err != nil {
				return err
			}
			path = file
		}
	}
	options, fromStdin := optionLines(args)
	if fromStdin {
		more, err := readAll("-", stdin)
		if err != nil {
			return err
		}
		// Redis would go on in the file's last line if that has no end.
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

// optionLines writes the options as lines of a file, and finds out whether
// stdin is to be read.
func optionLines(args []string) (lines string, fromStdin bool) {
	var b strings.Builder
	needsValue := false // the last option has none yet
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
			needsValue = err == nil && len(parts) == 1 // otherwise the value is in the same argument
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
