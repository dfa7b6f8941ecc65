package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const ourPackage = "github.com/zlimit/zlimit/cmd/zlimit-server"

// options are the command line.
type options struct {
	names    string
	quick    bool
	list     bool
	rounds   int
	seconds  float64
	ours     string
	redis    string
	json     string
	markdown string
}

// parseOptions reads the command line. --quick changes the defaults of
// --rounds and --seconds, not what was asked for.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.names, "row", "", "run only these rows, separated by commas (see --list)")
	flags.BoolVar(&o.quick, "quick", false, "a short list of rows, short rounds, half the floors: under a minute")
	flags.BoolVar(&o.list, "list", false, "print the rows and stop")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of each server in a row")
	flags.Float64Var(&o.seconds, "seconds", 2, "length of a round (--quick: 0.7)")
	flags.StringVar(&o.ours, "ours", "", "the program to measure as ours (default: build "+ourPackage+")")
	flags.StringVar(&o.redis, "redis", "redis-server", "the program to compare with")
	flags.StringVar(&o.json, "json", "", "write everything measured to this file")
	flags.StringVar(&o.markdown, "markdown", "", "write the table to this file")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.quick && !given["seconds"] {
		o.seconds = 0.7
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
	runtime.LockOSThread() // see tie
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

// run returns the exit code: 0, 1 when a floor was missed or something failed,
// 2 for a command line that makes no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var chosen []row
	if err == nil {
		chosen, err = choose(rows(), o.names, o.quick)
	}
	progress := log.New(stderr, "", 0)
	if err != nil {
		progress.Print("bench: ", err)
		return 2
	}
	rep := new(report)
	if o.list {
		err = writeList(stdout, chosen)
	} else if rep, err = bench(ctx, o, chosen, progress); err == nil {
		err = errors.Join(rep.writeText(stdout), writeFile(o.json, rep.writeJSON), writeFile(o.markdown, rep.writeMarkdown))
	}
	if err != nil {
		progress.Print("bench: ", err)
		return 1
	}
	if len(rep.misses()) > 0 {
		return 1
	}
	return 0
}

// writeList writes the names of rows and what they are.
func writeList(w io.Writer, chosen []row) error {
	var out strings.Builder
	for _, r := range chosen {
		fmt.Fprintf(&out, "%-12s %s\n", r.name, r.about)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// bench runs the rows.
func bench(ctx context.Context, o options, chosen []row, progress *log.Logger) (_ *report, err error) {
	redis, err := exec.LookPath(o.redis)
	if err != nil {
		return nil, fmt.Errorf("%s is needed to compare with and was not found (Debian: apt-get install redis-server): %w", o.redis, err)
	}
	dir, err := os.MkdirTemp("", "zlimit-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ours := o.ours
	if ours == "" {
		progress.Print("building zlimit-server")
		ours = filepath.Join(dir, "zlimit-server")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", ours, ourPackage).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w (run it inside the module, or name a program with --ours)\n%s", ourPackage, err, out)
		}
	} else if ours, err = exec.LookPath(ours); err != nil {
		return nil, err
	} else if ours, err = filepath.Abs(ours); err != nil { // the servers run elsewhere
		return nil, err
	}
	if redis, err = filepath.Abs(redis); err != nil {
		return nil, err
	}
	where, err := locate()
	if err != nil {
		return nil, err
	}
	if err := where.pinSelf(); err != nil {
		return nil, err
	}
	progress.Print(where)

	floors := 1.0
	if o.quick {
		floors = 0.5
	}
	rep := &report{
		Started: time.Now().UTC().Truncate(time.Second), Machine: machine(), Placement: where.String(),
		Rounds: o.rounds, Seconds: o.seconds,
	}
	for i, r := range chosen {
		m := &measurement{row: r, where: where, quota: perMinute, length: time.Duration(o.seconds * float64(time.Second))}
		say := func(format string, args ...any) {
			progress.Printf("[%d/%d] %s: %s", i+1, len(chosen), r.name, fmt.Sprintf(format, args...))
		}
		a, b, err := m.run(ctx, ours, redis, dir, o.rounds, say)
		if err != nil {
			if ctx.Err() != nil {
				err = errors.New("interrupted; the servers are stopped")
			}
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		rep.Ours, rep.Redis = a.version, b.version
		res := conclude(r, a.rounds, b.rounds, floors)
		say("%.2f times redis", res.Ratio.OfMedians)
		rep.Rows = append(rep.Rows, res)
	}
	return rep, nil
}

// run starts both servers, lets them take turns, and stops them.
func (m *measurement) run(ctx context.Context, ours, redis, dir string, rounds int, say func(string, ...any)) (a, b *side, err error) {
	a, b = &side{flow: m.row.ours}, &side{flow: m.row.redis}
	if a.serverProcess, err = startServer(ctx, m.where, "ours", ours, dir); err != nil {
		return nil, nil, err
	}
	defer a.stop()
	if b.serverProcess, err = startServer(ctx, m.where, "redis", redis, dir); err != nil {
		return nil, nil, err
	}
	defer b.stop()
	for _, s := range []*side{a, b} {
		if err := m.prepare(ctx, s); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for n := range rounds {
		for _, turn := range [][2]*side{{a, b}, {b, a}} {
			if err := m.turn(ctx, turn[0], turn[1]); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", turn[0].name, err)
			}
		}
		x, y := a.rounds[n].PerSecond, b.rounds[n].PerSecond
		say("round %d of %d: ours %s/s, redis %s/s, %.2f times", n+1, rounds, thousands(x), thousands(y), x/y)
	}
	return a, b, nil
}

// machine describes where the figures come from.
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

// writeFile writes to a file, unless there is no name.
func writeFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
