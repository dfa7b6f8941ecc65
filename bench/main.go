package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

const ourPackage = "github.com/zlimit/zlimit/cmd/zlimit-server"

// options holds the command line.
type options struct {
	names   string
	quick   bool
	list    bool
	rounds  int
	seconds float64
	ours    string
	redis   string
	valkey  string
	redis8  string
	old     string
	json    string
	profile string
}

// parseOptions parses the command line.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.names, "row", "",
		"run only these rows, separated by commas, or patterns like 'allow-*'")
	flags.BoolVar(&o.quick, "quick", false,
		"a short list of rows, short rounds, half the floors: under a minute")
	flags.BoolVar(&o.list, "list", false, "print the rows and stop")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of each server in a row")
	flags.Float64Var(&o.seconds, "seconds", 0, "length of a round (default: 2, with --quick 0.7)")
	flags.StringVar(&o.ours, "ours", "", "the program to measure as ours (default: build "+ourPackage+")")
	flags.StringVar(&o.redis, "redis", "redis-server", "the program to compare with")
	flags.StringVar(&o.valkey, "valkey", "", "a Valkey that joins in (default: none)")
	flags.StringVar(&o.redis8, "redis8", "", "a newer Redis that joins in (default: none)")
	flags.StringVar(&o.old, "old", "", "an older program of ours that joins in (default: none)")
	flags.StringVar(&o.json, "json", "", "write everything measured to this file")
	flags.StringVar(&o.profile, "profile", "",
		"write what our server does with its processor time in these rows, and stop")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.seconds == 0 {
		if o.seconds = 2; o.quick {
			o.seconds = 0.7
		}
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.rounds < 1 || o.rounds > 1000:
		return o, errors.New("--rounds must be from 1 to 1000")
	case !(o.seconds >= 0.05 && o.seconds <= 3600):
		return o, errors.New("--seconds must be from 0.05 to 3600")
	}
	return o, nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == insideWord {
		if err := beInside(os.Args[2:], os.Stdout); err != nil {
			log.Fatal("bench: ", err)
		}
		return
	}
	runtime.LockOSThread() // see tie
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

// run returns the exit code: 0, 1 if a floor was missed, or 2 if something failed, such as
// the command line. Then nothing is saved.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var chosen []row
	if err == nil {
		chosen, err = choose(cmp.Or(o.profile, o.names), o.quick)
	}
	progress := log.New(stderr, "", 0)
	if err != nil {
		progress.Print("bench: ", err)
		return 2
	}
	var rep *report
	if o.list {
		for _, r := range chosen {
			fmt.Fprintf(stdout, "%-18s %s\n", r.name, r.about)
		}
	} else if rep, err = runAll(ctx, o, chosen, stdout, progress); rep != nil && o.profile == "" {
		writeErr := rep.writeText(stdout)
		if err = errors.Join(err, writeErr); err == nil {
			err = rep.save(o.json)
		}
	}
	if err != nil {
		progress.Print("bench: ", err)
		return 2
	}
	if rep != nil && len(rep.misses()) > 0 {
		return 1
	}
	return 0
}

// machine describes the machine that the figures come from.
func machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %s/%s, %s", model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
