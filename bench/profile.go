package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// profiled is the environment's name for where our server, built with profileTag, writes
// its profiles; see cmd/zlimit-server/profile.go.
const (
	profiled   = "ZLIMIT_CPU_PROFILE"
	profileTag = "benchprofile"
)

// profileRows writes the split of our server's processor time in the rows that the
// command line names. The server is built for it: one from a release has no profiler.
func profileRows(ctx context.Context, o options, stdout io.Writer, progress *log.Logger) (err error) {
	chosen, err := choose(o.profile, false, false)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zlimit-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{dir: dir, rounds: o.rounds, length: time.Duration(o.seconds * float64(time.Second))}
	built := o.ours
	if built == "" {
		progress.Print("building zlimit-server with a profiler")
		built = filepath.Join(dir, "zlimit-server")
		build := exec.CommandContext(ctx, "go", "build", "-tags", profileTag, "-o", built, ourPackage)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	if built, err = filepath.Abs(built); err != nil {
		return err
	}
	b.programs = map[program]string{ourServer: built}
	if b.where, err = locate(); err != nil {
		return err
	}
	if err := b.where.pinSelf(); err != nil {
		return err
	}
	for _, r := range chosen {
		if len(r.sides) == 0 || r.measure != nil {
			return fmt.Errorf("%s: only a closed loop has a profile", r.name)
		}
		for _, c := range r.sides {
			if c.program != ourServer {
				continue
			}
			s, err := b.profile(ctx, r, c)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if _, err := io.WriteString(stdout, s.String()+"\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// profile runs the rounds of one contender and returns what its time went to.
func (b *bench) profile(ctx context.Context, r row, c contender) (*split, error) {
	base := filepath.Join(b.dir, "profile")
	if err := os.Setenv(profiled, base); err != nil {
		return nil, err
	}
	server, err := b.start(ctx, c)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	s := &side{serverProcess: server, flow: c.flow, mix: r.mixOf(c), fill: r.fillOf(slices.IndexFunc(r.sides,
		func(other contender) bool { return other.name == c.name && other.program == c.program }))}
	var files []string
	m := &measurement{
		row: r, where: b.where, length: b.length,
		begin: func() error { return server.kill(syscall.SIGUSR1) },
		end: func() error {
			name := base + "." + strconv.Itoa(len(files))
			files = append(files, name)
			if err := server.kill(syscall.SIGUSR2); err != nil {
				return err
			}
			return appears(ctx, name)
		},
	}
	if err := m.prepare(ctx, s); err != nil {
		return nil, err
	}
	for range b.rounds {
		taken, err := m.turn(ctx, s, []*side{s})
		if err != nil {
			return nil, err
		}
		s.rounds = append(s.rounds, taken)
	}
	tool := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-traces"}, files...)...)
	out, err := tool.Output()
	for _, name := range files {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	traces, err := parseTraces(string(out))
	if err != nil {
		return nil, err
	}
	of := summarize(s.rounds)
	return &split{
		title: fmt.Sprintf("%s, %s: %s; pipeline %d, %d connections, %d keys", r.name, server.name, r.about,
			r.pipeline, r.connections, r.keys),
		micros: of.CPUPerMega, disturbed: of.Disturbed, traces: traces,
	}, nil
}

// appears waits for a file.
func appears(ctx context.Context, name string) error {
	deadline := time.After(ioTimeout)
	for {
		if _, err := os.Stat(name); err == nil || !errors.Is(err, os.ErrNotExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("%w: no profile; was the program built with -tags %s?", errNoAnswer, profileTag)
		case <-time.After(time.Millisecond):
		}
	}
}

// A split is what a server's processor time went to.
type split struct {
	title     string
	micros    float64 // a call
	disturbed float64
	traces    []trace
}

// String returns a table of the parts, each with its largest functions.
func (s *split) String() string {
	var total, held time.Duration
	sums := make(map[part]time.Duration)
	functions := make(map[part]map[string]time.Duration)
	for _, t := range s.traces {
		p, function := attribute(t.frames)
		total += t.value
		if slices.ContainsFunc(t.frames, underLock) {
			held += t.value
		}
		sums[p] += t.value
		if functions[p] == nil {
			functions[p] = make(map[string]time.Duration)
		}
		functions[p][function] += t.value
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(max(total, 1)) }
	table := [][]string{{"part", "share", "us a call", "most of it"}}
	for _, p := range parts {
		if sums[p] == 0 {
			continue
		}
		names := make([]string, 0, len(functions[p]))
		for name := range functions[p] {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(functions[p][b], functions[p][a]), cmp.Compare(a, b))
		})
		const most = 4
		var largest []string
		for _, name := range names[:min(most, len(names))] {
			largest = append(largest, fmt.Sprintf("%s %.0f%%", short(name), 100*share(functions[p][name])))
		}
		table = append(table, []string{
			string(p), fmt.Sprintf("%.0f%%", 100*share(sums[p])),
			fmt.Sprintf("%.3f", s.micros*share(sums[p])), strings.Join(largest, ", "),
		})
	}
	above := fmt.Sprintf("%s\n%.2f us of processor time a call, %.2f of them under the shards' locks; a "+
		"profile of %s", s.title, s.micros, s.micros*share(held), total)
	if s.disturbed > tolerated {
		above += fmt.Sprintf("; others took %.0f%% of a core", 100*s.disturbed)
	}
	return above + "\n\n" + aligned(table)
}

// short returns a function's name without the path of its package.
func short(function string) string { return function[strings.LastIndexByte(function, '/')+1:] }
