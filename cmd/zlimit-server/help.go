package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/config"
)

const usage = `Usage: zlimit-server [FILE | -] [--DIRECTIVE VALUE ...] ...
       zlimit-server --check-aof FILE [--fix] | --check-rdb FILE
       zlimit-server --help | --version

  zlimit-server                          listens on 127.0.0.1:6379
  zlimit-server --port 7000              the same on another port
  zlimit-server zlimit.conf --hz 100     a file as for redis-server, and more
  zlimit-server --port 0 --port-file p   any free port; p tells which
  echo "port 7000" | zlimit-server -     directives from standard input
  zlimit-server --appendonly yes         keeps its keys in ./appendonlydir
  zlimit-server --check-aof FILE --fix   cuts a damaged end off a log
  zlimit-server --check-rdb FILE         says whether a snapshot is sound

Then:
  redis-cli PING
  redis-cli RL.ALLOW user:42 100 1m      at most 100 a minute

`

// columns is how wide help is.
const columns = 80

// writeHelp tells how to call the server, and every directive with its
// default.
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
		case len(d.Only) > 0:
			limited = append(limited, strings.TrimSpace(d.Name+" "+value))
		default:
			fmt.Fprintf(w, "  --%s %s\n", d.Name, value)
			writeWrapped(w, "      ", strings.Fields(d.About))
		}
	}
	fmt.Fprintln(w, "\nTaken with one value only:")
	writeWrapped(w, "  ", withCommas(limited))
	fmt.Fprintln(w, "\nTaken without effect, so that a redis.conf can be used as it is:")
	writeWrapped(w, "  ", withCommas(unused))
}

// withCommas ends all words but the last with a comma.
func withCommas(words []string) []string {
	words = slices.Clone(words)
	for i := range len(words) - 1 {
		words[i] += ","
	}
	return words
}

// writeWrapped writes words in indented lines of at most columns bytes, if no
// word is longer.
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
