package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// checkConfig handles --check. done is false if the command line does not have it.
func checkConfig(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, done bool) {
	if len(args) == 0 || args[0] != "--check" {
		return 0, false
	}
	if len(args) == 1 || strings.HasPrefix(args[1], "--") {
		fmt.Fprintln(stderr, "Usage: zlimit-server --check FILE [--DIRECTIVE VALUE ...] ...")
		return 1, true
	}
	cfg := config.New()
	errs := cfg.CheckArgs(args[1:], stdin)
	var warnings []error
	if len(errs) == 0 { // otherwise the rest would be of values that nobody has meant
		errs, warnings = server.Check(cfg)
	}
	for _, err := range errs {
		writeLines(stderr, "zlimit-server: ", checkLine(err, args))
	}
	for _, err := range warnings {
		writeLines(stderr, "zlimit-server: warning: ", err.Error())
	}
	if len(errs) > 0 {
		return 1, true
	}
	fmt.Fprintf(stdout, "%s: no errors\n", args[1])
	return 0, true
}

// checkLine returns an error in one line, if it is of a line.
func checkLine(err error, args []string) string {
	line := (*config.FileError)(nil)
	if !errors.As(err, &line) {
		return err.Error()
	}
	reason := line.Reason
	if h := hint(err, args); h != "" {
		reason = h
	}
	if line.File == "" {
		return fmt.Sprintf("option '--%s': %s", line.Text, reason)
	}
	return fmt.Sprintf("%s, line %d: '%s': %s", line.File, line.Line, line.Text, reason)
}

// writeLines writes each line of a text behind a prefix.
func writeLines(w io.Writer, prefix, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, prefix+strings.TrimRight(line, "\n"))
	}
}
