package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A bench has what all measurements of a run share.
type bench struct {
	programs map[program]string // absolute paths of the installed ones
	dir      string             // scratch, removed at the end
	where    placement
	rounds   int
	length   time.Duration // of a round
	quick    bool
	profiles io.Writer  // nil: rows are measured, not profiled
	shuffle  *rand.Rand // draws the order of the servers in each round
}

// say reports progress.
type say func(format string, args ...any)

// runAll runs the rows. On an error the report holds the rows before it.
func runAll(
	ctx context.Context, o options, chosen []row, stdout io.Writer, progress *log.Logger,
) (_ *report, err error) {
	dir, err := os.MkdirTemp("", "zlimit-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{
		dir: dir, rounds: o.rounds, length: time.Duration(o.seconds * float64(time.Second)),
		quick: o.quick, shuffle: rand.New(rand.NewPCG(rand.Uint64(), 0)),
	}
	if o.profile != "" {
		b.profiles = stdout
	}
	if b.programs, err = findPrograms(ctx, o, dir, progress); err != nil {
		return nil, err
	}
	if b.where, err = locate(); err != nil {
		return nil, err
	}
	if err := b.where.pinSelf(); err != nil {
		return nil, err
	}
	progress.Print(b.where)
	rep := &report{
		Started: time.Now().UTC().Truncate(time.Second), Machine: machine(), Placement: b.where.String(),
		Rounds: o.rounds, Seconds: o.seconds,
	}
	if rep.Versions, err = b.versions(ctx); err != nil {
		return nil, err
	}
	if o.ours == "" {
		commit, _ := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
		rep.Commit = strings.TrimSpace(string(commit)) // "" outside of a repository
	}
	for i, r := range chosen {
		say := func(format string, args ...any) {
			progress.Printf("[%d/%d] %s: %s", i+1, len(chosen), r.name, fmt.Sprintf(format, args...))
		}
		results, err := b.measure(ctx, r, say)
		if err != nil {
			if ctx.Err() != nil {
				err = errors.New("interrupted; the servers are stopped")
			}
			return rep, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, res := range results {
			progress.Printf("[%d/%d] %s: %.2f times %s", i+1, len(chosen), res.Name, res.judged().OfMedians,
				res.Reference.Name)
		}
		rep.Rows = append(rep.Rows, results...)
	}
	return rep, nil
}

// floor returns the floor that applies to this run: half of it with --quick.
func (b *bench) floor(floor float64) float64 {
	if b.quick {
		return floor / 2
	}
	return floor
}

// quickAttempts is how often --quick measures a row that misses its floor. Short rounds
// on a shared machine may miss one by chance; a slower server misses it each time.
const quickAttempts = 3

// measure runs one row.
func (b *bench) measure(ctx context.Context, r row, say say) (results []result, err error) {
	measure := r.measure
	if b.profiles != nil {
		return nil, b.profileRow(ctx, r)
	} else if measure == nil {
		measure = takeTurns
	}
	for attempt := 1; ; attempt++ {
		results, err = measure(ctx, b, r, say)
		if err != nil || !b.quick || attempt == quickAttempts || len((&report{Rows: results}).misses()) == 0 {
			return results, err
		}
		say("missed its floor, is measured again")
	}
}

// findPrograms builds our server, unless another is named, and finds the others.
func findPrograms(
	ctx context.Context, o options, dir string, progress *log.Logger,
) (map[program]string, error) {
	found := make(map[program]string)
	find := func(p program, name string) error {
		path, err := exec.LookPath(name)
		if err == nil {
			found[p], err = filepath.Abs(path) // the servers run in another directory
		}
		return err
	}
	if err := find(redisServer, o.redis); err != nil {
		return nil, fmt.Errorf("%s is needed to compare with and was not found (Debian: apt-get install "+
			"redis-server): %w", o.redis, err)
	}
	joined := map[program]string{valkeyServer: o.valkey, redis8Server: o.redis8, oldServer: o.old}
	for p, name := range joined {
		if err := find(p, name); name != "" && err != nil {
			return nil, err
		}
	}
	if o.ours != "" {
		return found, find(ourServer, o.ours)
	}
	progress.Print("building zlimit-server")
	found[ourServer] = filepath.Join(dir, "zlimit-server")
	tags := ""
	if o.profile != "" {
		tags = profileTag
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", found[ourServer], ourPackage)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w (run it inside the module, or name a program with --ours)\n"+
			"%s", ourPackage, err, out)
	}
	return found, nil
}

// start starts a contender's server.
func (b *bench) start(ctx context.Context, c contender) (*serverProcess, error) {
	name := cmp.Or(c.name, string(c.program))
	return startServer(ctx, b.where, name, b.programs[c.program], b.dir, c.flags...)
}

// versions asks each program for its version.
func (b *bench) versions(ctx context.Context) (map[program]string, error) {
	versions := make(map[program]string)
	for p := range b.programs {
		s, err := b.start(ctx, contender{program: p})
		if err != nil {
			return nil, err
		}
		versions[p] = s.version
		s.stop()
	}
	return versions, nil
}
