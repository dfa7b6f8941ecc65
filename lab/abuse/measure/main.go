// Command measure runs the abuses of package abuse against zlimit-server and
// redis-server, each on its own in turn, and prints what other clients notice: how
// long the slowest hundredth of their replies takes while the server is quiet and
// while it is abused, and the memory before and after.
//
// It exits with 1 if at zlimit-server an abuse has more than Aim times the quiet
// latency, and its row states no reason; or if memory does not come back.
//
// The attackers are a process of their own with a lower priority, so that what is
// measured is the server and not the machine's other work. On a machine with fewer
// than three cores they still share one with the server or the probe.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/zlimit/zlimit/lab/abuse"
)

const (
	// aim is how many times the quiet latency others may wait.
	aim = 3
	// floor is the least quiet latency that counts: below it the scheduler of a
	// shared machine decides.
	floor = 500 * time.Microsecond
	// slack is memory that a server may keep once, beside a tenth.
	slack = 16 << 20

	probes        = 8
	probeInterval = 10 * time.Millisecond
)

type options struct {
	rows    string
	ours    string
	redis   string
	seconds float64
	size    int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == attackWord {
		if err := attack(os.Args[2:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var o options
	flag.StringVar(&o.rows, "row", "", "run only these rows, separated by commas")
	flag.StringVar(&o.ours, "ours", "", "our program (default: one that it builds)")
	flag.StringVar(&o.redis, "redis", "redis-server", "the program to compare with; empty: none")
	flag.Float64Var(&o.seconds, "seconds", 5, "how long each abuse runs")
	flag.IntVar(&o.size, "size", 10_000, "connections of rows with many; others have 100 times as many keys")
	flag.Parse()
	ok, err := run(ctx, &o, os.Stdout)
	if err != nil {
		log.Fatal("abuse: ", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// run measures the rows and prints their table. It reports whether all are within the
// aim.
func run(ctx context.Context, o *options, out io.Writer) (ok bool, err error) {
	if o.ours == "" {
		dir, err := os.MkdirTemp("", "abuse")
		if err != nil {
			return false, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		if o.ours, err = abuse.BuildServer(dir); err != nil {
			return false, err
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "row\tserver\tquiet p99\tp99\tratio\tslowest\tMB before\tat most\tafter\t ")
	ok = true
	for i := range abuse.Rows {
		row := &abuse.Rows[i]
		if o.rows != "" && !strings.Contains(","+o.rows+",", ","+row.Name+",") {
			continue
		}
		for _, program := range []string{o.ours, o.redis} {
			if program == "" || program == o.redis && (row.OnlyOurs || row.Doors) {
				continue
			}
			f, err := measure(ctx, o, row, program)
			if err != nil {
				return false, fmt.Errorf("%s at %s: %w", row.Name, filepath.Base(program), err)
			}
			verdict := ""
			if program == o.ours {
				verdict = f.verdict(row)
				ok = ok && !strings.HasPrefix(verdict, "MISSED")
			}
			f.print(table, row, filepath.Base(program), verdict)
		}
	}
	return ok, table.Flush()
}

// figures are what is measured of one row at one server.
type figures struct {
	quiet, during       time.Duration // p99
	slowest             time.Duration
	before, most, after int64  // resident bytes
	attack              string // how the attack has failed
}

// ratio returns how many times longer others wait.
func (f *figures) ratio() float64 { return float64(f.during) / float64(max(f.quiet, floor)) }

// verdict says whether the figures are within the aim.
func (f *figures) verdict(row *abuse.Row) string {
	switch {
	case f.attack != "":
		return "MISSED: " + f.attack
	case f.after > f.before+f.before/10+slack:
		return "MISSED: memory does not come back"
	case f.ratio() <= aim:
		return "ok"
	case row.Reason != "":
		return row.Reason
	}
	return fmt.Sprintf("MISSED: more than %d times", aim)
}

func (f *figures) print(w io.Writer, row *abuse.Row, server, verdict string) {
	us := func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
	if verdict == "" && f.attack != "" {
		verdict = f.attack
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%s\t%d\t%d\t%d\t %s\n", row.Name, server, us(f.quiet), us(f.during),
		f.ratio(), us(f.slowest), f.before>>20, f.most>>20, f.after>>20, verdict)
}

// measure starts a server, and measures it quiet, abused and afterwards.
func measure(ctx context.Context, o *options, row *abuse.Row, program string) (f figures, err error) {
	dir, err := os.MkdirTemp("", "abuse")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	p, err := abuse.Start(ctx, program, dir, row)
	if err != nil {
		return f, err
	}
	defer p.Stop()
	target := &abuse.Target{
		Addr: p.Addr, TLSAddr: p.TLSAddr, GRPCAddr: p.GRPCAddr, HTTPAddr: p.HTTPAddr,
		Password: row.Password, Size: o.size,
	}
	if row.Setup != nil {
		if err := row.Setup(target); err != nil {
			return f, err
		}
	}
	probe, err := abuse.NewProbe(target, probes, probeInterval)
	if err != nil {
		return f, err
	}
	defer probe.Close()
	length := time.Duration(o.seconds * float64(time.Second))
	during := func(d time.Duration) (abuse.Latencies, error) {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return probe.Run(ctx)
	}
	if _, err := during(time.Second); err != nil { // warm
		return f, err
	}
	quiet, err := during(length)
	if err != nil {
		return f, err
	}
	if f.before, err = p.ResidentBytes(); err != nil {
		return f, err
	}
	a, err := startAttack(row, target, length+time.Second)
	if err != nil {
		return f, err
	}
	abused, err := during(length)
	if err != nil {
		a.stop()
		return f, fmt.Errorf("another client: %w", err)
	}
	if f.most, err = p.ResidentBytes(); err != nil {
		return f, err
	}
	f.attack = a.wait()
	f.quiet, f.during, f.slowest = quiet.P(0.99), abused.P(0.99), abused.P(1)
	// Memory mostly comes back within seconds: buffers are released, keys expire, the
	// collector returns what is free. While nobody allocates it runs every two minutes.
	for range 150 {
		if f.after, err = p.ResidentBytes(); err != nil || f.after <= f.before+f.before/10+slack {
			break
		}
		if _, err := during(time.Second); err != nil {
			return f, err
		}
	}
	return f, errors.Join(err, ctx.Err())
}
