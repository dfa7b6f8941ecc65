package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/logging"
)

// openLog returns the logger that logfile and log-format ask for. loglevel is the
// server's to apply, as it may change.
func openLog(cfg *config.Config, stdout io.Writer) (*slog.Logger, error) {
	out := stdout
	if path := cfg.String("logfile"); path != "" {
		file, err := logging.OpenFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot open logfile: %w", err)
		}
		out = file
	}
	return logging.New(out, logHandler(cfg.String("log-format"), out)), nil
}

// logHandler returns the constructor of the handler for a format of log-format.
func logHandler(format string, out io.Writer) func(io.Writer) slog.Handler {
	if format == "json" || format == "auto" && !isTerminal(out) {
		return logging.JSON
	}
	return func(w io.Writer) slog.Handler { return logging.Text(w, os.Getpid()) }
}

// isTerminal reports whether people read what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
