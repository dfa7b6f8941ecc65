package config

import (
	"errors"
	"io"
	"path/filepath"
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
