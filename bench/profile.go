package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// profiled is the environment's name for where our server, built with profileTag, writes
// its profiles; see cmd/zlimit-server/profile.go.
const (
	profiled   = "ZLIMIT_CPU_PROFILE"
	profileTag = "benchprofile"
)

// profileRow writes what our server does in a row. It is built with a profiler, unlike a release.
func (b *bench) profileRow(ctx context.Context, r row) error {
	if len(r.sides) == 0 || r.measure != nil {
		return errors.New("only a closed loop has a profile")
	}
	for i, c := range r.sides {
		if c.program != ourServer {
			continue
		}
		text, err := b.profile(ctx, r, i)
		if err == nil {
			_, err = io.WriteString(b.profiles, text+"\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// profile runs the rounds of one contender and returns what its time went to, by file and by function.
func (b *bench) profile(ctx context.Context, r row, i int) (out string, err error) {
	c := r.sides[i]
	base := filepath.Join(b.dir, "profile")
	if err := os.Setenv(profiled, base); err != nil {
		return "", err
	}
	server, err := b.start(ctx, c)
	if err != nil {
		return "", err
	}
	defer server.stop()
	s := &side{serverProcess: server, flow: c.flow, decides: r.decidesOn(c), fill: r.fillOf(i)}
	m := &measurement{row: r, where: b.where, length: b.length}
	if _, err := m.prepare(ctx, s, false); err != nil {
		return "", err
	}
	if err := server.kill(syscall.SIGUSR1); err != nil {
		return "", err
	}
	for range b.rounds { // warming and filling are also in the profile
		taken, err := m.turn(ctx, s, []*side{s})
		if err != nil {
			return "", err
		}
		s.rounds = append(s.rounds, taken)
	}
	file := base + ".0"
	if err := errors.Join(server.kill(syscall.SIGUSR2), appears(ctx, file)); err != nil {
		return "", err
	}
	of := summarize(s.rounds)
	out = fmt.Sprintf("%s, %s: %s; %.2f us of processor time a call\n", r.name, server.name, r.about,
		of.CPUPerMega)
	if of.Disturbed > tolerated {
		out += fmt.Sprintf("others took %.0f%% of a core\n", 100*of.Disturbed)
	}
	for _, by := range []string{"-files", "-functions"} {
		table, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount", "30", by,
			b.programs[ourServer], file).Output()
		if err != nil {
			return "", fmt.Errorf("go tool pprof: %w", err)
		}
		out += "\n" + string(table)
	}
	return out, os.Remove(file)
}

// appears waits for a file.
func appears(ctx context.Context, name string) error {
	for begin := time.Now(); time.Since(begin) < ioTimeout; {
		if _, err := os.Stat(name); err == nil || !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: no profile; was the program built with -tags %s?", errNoAnswer, profileTag)
}
