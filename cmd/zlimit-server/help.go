package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/config"
)

const usage = `Usage: zlimit-server [FILE | -] [--DIRECTIVE VALUE ...] ...
       zlimit-server --check FILE [--DIRECTIVE VALUE ...] ...
       zlimit-server --check-aof FILE [--fix] | --check-rdb FILE
       zlimit-server --export URL [--from URL] [--replace] [--DIRECTIVE VALUE]
       zlimit-server --help | --version

  zlimit-server                          listens on 127.0.0.1:6379
  zlimit-server --port 7000              the same on another port
  zlimit-server zlimit.conf --hz 100     a configuration file with an override
  zlimit-server --port 0 --port-file p   any free port; p tells which
  echo "port 7000" | zlimit-server -     directives from standard input
  zlimit-server --appendonly yes         keeps its keys in ./appendonlydir
  zlimit-server --check zlimit.conf      reports the errors of a configuration
  zlimit-server --check-aof FILE --fix   truncates a damaged end of a log
  zlimit-server --check-rdb FILE         reports whether a snapshot is valid
  zlimit-server --export URL --from URL  moves the keys of a server or a cluster
  zlimit-server --export URL --dir D     moves the keys of the files in D

Then:
  redis-cli PING
  redis-cli RL.ALLOW user:42 100 1m      at most 100 a minute

`

// columns is the width of the help text.
const columns = 80

// writeHelp writes the usage and every directive with its default.
func writeHelp(w io.Writer) {
	fmt.Fprint(w, usage)
	cfg := config.New()
	var limited, unused []string
	fmt.Fprintln(w, "Directives, with their defaults:")
	for _, d := range cfg.Directives() {
		value := cfg.Text(d.Name)
		if value == "" {
			value = `""`
		}
		switch {
		case d.NoEffect:
			unused = append(unused, d.Name)
		case len(d.Only) == 1:
			limited = append(limited, strings.TrimSpace(d.Name+" "+value))
		default:
			fmt.Fprintf(w, "  --%s %s\n", d.Name, value)
			writeWrapped(w, "      ", strings.Fields(d.About))
		}
	}
	fmt.Fprintln(w, "\nAccepted with one value only:")
	writeWrapped(w, "  ", withCommas(limited))
	fmt.Fprintln(w, "\nAccepted without effect, so that an existing redis.conf can be used unchanged:")
	writeWrapped(w, "  ", withCommas(unused))
}

// withCommas appends a comma to all words but the last.
func withCommas(words []string) []string {
	words = slices.Clone(words)
	for i := range len(words) - 1 {
		words[i] += ","
	}
	return words
}

// writeWrapped writes words in indented lines of at most columns bytes; a longer word
// gets a line of its own.
func writeWrapped(w io.Writer, indent string, words []string) {
	line := indent
	for _, word := range words {
		if line != indent && len(line)+1+len(word) > columns {
			fmt.Fprintln(w, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}
