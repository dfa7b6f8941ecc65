package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// compare runs all rounds and returns the number of distinct differences.
func (s *settings) compare(out io.Writer) (int, error) {
	seeds, err := s.parseSeeds()
	if err != nil {
		return 0, err
	}
	p, err := s.plan()
	if err != nil {
		return 0, err
	}
	d, loose, end, err := s.open(firstNowMs)
	defer end()
	if err != nil {
		return 0, err
	}
	defer d.closeLinks()
	endOnSignal(end)
	p.runningClock = loose
	c := &campaign{settings: s, runner: d, plan: p, out: out, stats: newStats(), seen: map[string]int{}}
	fmt.Fprintf(out, "%s %s against %s %s, seeds %v, clock %s\n", d.ours.title, d.ours.addr, d.ref.title,
		d.ref.addr, seeds,
		map[bool]string{false: "held", true: "running: deadlines are far in the future"}[loose])
	if s.replicas {
		var endReplicas func()
		c.replicas, endReplicas, err = s.attach(d)
		defer endReplicas()
		if err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	for _, seed := range seeds {
		if err := c.seed(seed, s.commands/len(seeds)); err != nil {
			return len(c.seen), err
		}
		if c.full() {
			break
		}
	}
	took := time.Since(begin)
	if !s.quiet {
		c.stats.write(out)
	}
	if c.replicas != nil {
		c.replicas.summary(out)
	}
	fmt.Fprintf(out, "%d rounds in %.1f s, %.0f commands/s, audits included; ", c.rounds, took.Seconds(),
		float64(c.stats.total)/took.Seconds())
	c.summary()
	return len(c.seen), nil
}

// endOnSignal makes an interrupt stop the servers that were started before this program exits.
func endOnSignal(end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		end()
		os.Exit(2)
	}()
}

// A campaign is one run of the program over all its rounds.
type campaign struct {
	*settings
	runner   *runner
	plan     plan
	out      io.Writer
	stats    *stats
	rounds   int
	replicas *replicas      // nil without -replicas
	seen     map[string]int // occurrences of each distinct difference

	reported int
}

func (c *campaign) full() bool { return len(c.seen) >= c.keepGoing }

func (c *campaign) seed(seed uint64, commands int) error {
	rounds := max((commands+c.perRound-1)/c.perRound, 1)
	for number := range rounds {
		if c.only >= 0 && number != c.only {
			if c.only >= rounds && number == 0 {
				number = c.only
			} else {
				continue
			}
		}
		if err := c.round(seed, number); err != nil {
			return fmt.Errorf("seed %d, round %d: %w", seed, number, err)
		}
		if c.full() {
			return nil
		}
	}
	return nil
}

// round runs one round to its end, or to a difference after which the servers' states may differ.
func (c *campaign) round(seed uint64, number int) error {
	steps := generate(seed, number, c.perRound, c.plan)
	startMs := roundStartMs(number)
	err := c.runner.reset(startMs)
	if errors.Is(err, errOursFailed) && c.rounds > 0 {
		const signature = "(fresh start): our server died or hangs"
		if c.seen[signature]++; c.seen[signature] == 1 {
			c.reported++
			fmt.Fprintf(c.out,
				"\nDIFFERENCE %d: %v\n  seen at the start of seed %d, round %d: caused by the round before\n",
				c.reported, err, seed, number)
		}
		err = c.runner.restartOurs(startMs)
	}
	if err != nil {
		return err
	}
	c.rounds++
	j := checker{runningClock: c.plan.runningClock}
	var found []finding
	if c.replicas != nil {
		c.replicas.plan(rand.New(rand.NewPCG(seed, uint64(number))), number, len(steps))
	}
	var failed error
	err = c.runner.run(steps, func(i int, st step, ref, ours reply) bool {
		c.stats.add(st, ref)
		if c.replicas != nil && failed == nil {
			failed = c.replicas.happen(i)
		}
		what := j.check(st, ref, ours)
		if what == "" {
			return true
		}
		f := finding{step: st, at: i, ref: ref, ours: ours, what: what}
		if c.seen[f.signature()]++; c.seen[f.signature()] == 1 {
			found = append(found, f)
		}
		return c.keepGoing > 1 && f.harmless() && !c.full()
	})
	c.stats.queue = [connections][]step{}
	if err != nil {
		return err
	}
	if c.replicas != nil {
		if err := cmp.Or(failed, c.replicas.finish()); err != nil {
			return err
		}
		err := c.replicas.compare(number, func(signature, what string) {
			signature = "(replica) " + signature
			if c.seen[signature]++; c.seen[signature] == 1 {
				c.reported++
				fmt.Fprintf(c.out, "\nDIFFERENCE %d: %s: seed %d, round %d: %s\n", c.reported, signature,
					seed, number, what)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, f := range found {
		if err := c.report(seed, number, startMs, steps, f); err != nil {
			return err
		}
	}
	return nil
}

// report prints a difference and the smallest part of its round that still shows it.
func (c *campaign) report(seed uint64, number int, startMs int64, steps []step, f finding) error {
	c.reported++
	fmt.Fprintf(c.out, "\nDIFFERENCE %d: %s: %s\n  reproduce: -seed %d -only %d -round %d", c.reported,
		f.step.name(), f.what, seed, number, c.perRound)
	if c.families != "" {
		fmt.Fprintf(c.out, " -family %s", c.families)
	}
	if c.plan.replicated {
		fmt.Fprint(c.out, " -replicas")
	}
	if len(c.plan.omit) > 0 {
		fmt.Fprintf(c.out, " -without %q", strings.Join(slices.Sorted(maps.Keys(c.plan.omit)), ","))
	}
	fmt.Fprintf(c.out, "\n  step %d, connection %d: %v\n", f.at, f.step.conn, f.step)
	c.showReplies(f)

	timeout := c.runner.timeout
	c.runner.timeout = min(timeout, 3*time.Second)
	small, again, err := c.runner.shrink(startMs, steps[:f.at+1], c.plan.runningClock)
	c.runner.timeout = timeout
	if errors.Is(err, errOursFailed) {
		fmt.Fprintf(c.out, "  after it, %v\n", err)
		return c.runner.restartOurs(startMs)
	}
	if err != nil {
		return err
	}
	if again == nil {
		fmt.Fprintf(c.out, "  not reproduced when the round was repeated\n")
		return nil
	}
	fmt.Fprintf(c.out, "  %d of %d steps are enough:\n", len(small), f.at+1)
	if slices.ContainsFunc(small, func(s step) bool { return s.clockMs > 0 }) ||
		strings.Contains(again.step.String(), strconv.FormatInt(startMs/1e8, 10)) {
		fmt.Fprintf(c.out, "    %-4s DEBUG CLOCK SET %d\n", "", startMs)
	}
	for _, s := range small {
		fmt.Fprintf(c.out, "    [%d]  %v\n", s.conn, s)
	}
	c.showReplies(*again)
	return nil
}

func (c *campaign) showReplies(f finding) {
	at := firstDifference(f.ref, f.ours)
	fmt.Fprintf(c.out, "  redis: %s\n  ours:  %s\n", f.ref.from(at), f.ours.from(at))
}

func (c *campaign) summary() {
	if len(c.seen) == 0 {
		fmt.Fprintln(c.out, "no difference")
		return
	}
	fmt.Fprintf(c.out, "%d distinct differences:\n", len(c.seen))
	for _, signature := range slices.Sorted(maps.Keys(c.seen)) {
		fmt.Fprintf(c.out, "  %5d times  %s\n", c.seen[signature], signature)
	}
}
