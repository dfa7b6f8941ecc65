package main

import (
	"errors"
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
       zlimit-server --help | --help-all | --version

  zlimit-server                          listens on 127.0.0.1:6379
  zlimit-server zlimit.conf --hz 100     a configuration file with an override
  zlimit-server --port 0 --port-file p   any free port; p tells which
  echo "port 7000" | zlimit-server -     directives from standard input
  zlimit-server --check zlimit.conf      reports the errors of a configuration
  zlimit-server --check-aof FILE --fix   truncates a damaged end of a log
  zlimit-server --check-rdb FILE         reports whether a snapshot is valid
  zlimit-server --export URL --from URL  moves the keys of a server or a cluster
  zlimit-server --export URL --dir D     moves the keys of the files in D

Then:
  redis-cli PING
  redis-cli RL.ALLOW user:42 100 1m      at most 100 a minute

`

// frequent are the directives that the short help describes, with what they are for.
var frequent = [][2]string{
	{"port", "TCP port; 0: none"},
	{"bind", "addresses to listen on"},
	{"requirepass", "the password of clients"},
	{"metrics-addr", "of the metrics and the page; try 9100"},
	{"maxclients", "connections at a time"},
	{"maxmemory", "for the keys, such as 1gb; 0: no limit"},
	{"maxmemory-policy", "which keys are evicted; try limiter-aware"},
	{"appendonly", "yes keeps the keys in a log, in dir"},
	{"save", "\"60 1000\": at 1000 changes in 60 s"},
	{"dir", "directory of the files"},
	{"upstream", "the Redis that has the keys instead"},
	{"log-format", "text is for people"},
}

// columns is the width of the help text.
const columns = 80

// writeHelp writes the usage and the directives that are used most. It fits a screen.
func writeHelp(w io.Writer) {
	fmt.Fprint(w, usage)
	cfg := config.New()
	fmt.Fprintln(w, "The most used directives, with their defaults:")
	for _, f := range frequent {
		fmt.Fprintf(w, "  %-32s%s\n", "--"+f[0]+" "+shown(cfg, f[0]), f[1])
	}
	fmt.Fprintln(w, "\nzlimit-server --help-all has every directive.")
}

// shown is the value of a directive as on a command line.
func shown(cfg *config.Config, name string) string {
	if value := cfg.Text(name); value != "" {
		return value
	}
	return `""`
}

// writeHelpAll writes the usage and every directive with its default.
func writeHelpAll(w io.Writer) {
	fmt.Fprint(w, usage)
	cfg := config.New()
	var limited, unused []string
	fmt.Fprintln(w, "Directives, with their defaults:")
	for _, d := range cfg.Directives() {
		value := shown(cfg, d.Name)
		switch {
		case d.NoEffect:
			unused = append(unused, d.Name)
		case len(d.Only) == 1:
			limited = append(limited, d.Name+" "+value)
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

// hint says what an unknown directive may have been meant to be. It returns "" for other errors.
func hint(err error, args []string) string {
	line := (*config.FileError)(nil)
	if !errors.As(err, &line) || line.Unknown == "" {
		return ""
	}
	kind, dashes := "directive ", ""
	switch {
	case slices.Contains(args, "--"+line.Unknown):
		kind, dashes = "option ", "--"
	case slices.Contains(args, line.Unknown): // such as -p
		kind = "option "
	}
	unknown := kind + dashes + line.Unknown
	switch nearest := line.Nearest(); nearest {
	case "":
		return "unknown " + unknown + ": zlimit-server --help-all has every directive"
	case line.Unknown:
		return unknown + " must come first, on the command line"
	default:
		return "unknown " + unknown + ": did you mean " + dashes + nearest + "?"
	}
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
