package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit"
)

// insideWord starts the command line of a process that embeds zlimit: this program
// again, with the work's name, the number of goroutines, and the length.
const insideWord = "inside"

// insideWork is what a goroutine does repeatedly, on the keys that next names.
var insideWork = map[string]func(l *zlimit.Limiter, next func() string) (func() error, error){
	"allow": func(l *zlimit.Limiter, next func() string) (func() error, error) {
		quota := zlimit.Quota{Limit: 100, Window: time.Second}
		return func() error {
			_, err := l.Allow(context.Background(), next(), quota, 1)
			return err
		}, nil
	},
	"evalsha": func(l *zlimit.Limiter, next func() string) (func() error, error) {
		_, err := l.Do(context.Background(), "SCRIPT", "LOAD", script)
		return asked(l, next, "EVALSHA", shaOf(script), "1", "", "1700000000000", "60000", "100"), err
	},
	"incr": func(l *zlimit.Limiter, next func() string) (func() error, error) {
		return asked(l, next, "INCR", ""), nil
	},
}

// asked returns what sends a command, with a key in the place of "".
func asked(l *zlimit.Limiter, next func() string, args ...any) func() error {
	s, at := l.Session(), slices.Index(args, "")
	return func() error {
		args[at] = next()
		_, err := s.Do(context.Background(), args...)
		return err
	}
}

// sharedKeys is how many keys the goroutines of the row cores draw from, all from the
// same.
const sharedKeys = 10_000

// namesOf returns the keys of a worker: shared ones at random, or a thousand in turn that no other uses.
func namesOf(worker int, shared bool) func() string {
	keys, generation := &picker{keys: 1000, inOrder: true}, worker
	if shared {
		keys, generation = uniform(sharedKeys, 0), 0
		keys.state ^= uint64(worker+1) * 0xbf58476d1ce4e5b9
	}
	names := make([]string, keys.keys)
	for i := range names {
		names[i] = fmt.Sprintf("%s%05d:%07d", keyPrefix, generation, i)
	}
	return func() string {
		_, n := keys.next()
		return names[n]
	}
}

// beInside runs the embedding process. It writes how often a second all its goroutines
// did the work.
func beInside(args []string, stdout io.Writer) (err error) {
	if len(args) != 4 || insideWork[args[0]] == nil {
		return errors.New(insideWord + " needs a work's name, goroutines, a length, and if keys are shared")
	}
	workers, err := strconv.Atoi(args[1])
	length, lengthErr := time.ParseDuration(args[2])
	shared, sharedErr := strconv.ParseBool(args[3])
	if err := errors.Join(err, lengthErr, sharedErr); err != nil {
		return err
	}
	runtime.GOMAXPROCS(workers)
	l := zlimit.New(zlimit.Options{})
	defer func() { err = errors.Join(err, l.Close()) }()
	var (
		wg     sync.WaitGroup
		done   atomic.Int64
		failed atomic.Pointer[error]
		start  = time.Now()
	)
	for worker := range workers {
		work, err := insideWork[args[0]](l, namesOf(worker, shared))
		if err != nil {
			return err
		}
		wg.Go(func() {
			const between = 1000 // calls between two readings of the clock
			n := int64(0)
			for time.Since(start) < length {
				for range between {
					if err := work(); err != nil {
						failed.Store(&err)
						return
					}
				}
				n += between
			}
			done.Add(n)
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	_, err = fmt.Fprintln(stdout, float64(done.Load())/time.Since(start).Seconds())
	return err
}

// embedded are the results of the rows inside and cores: two cores against one, on keys of their own or on
// keys of both.
var embedded = []struct {
	row, work, about string
	shared           bool
	suffix           string
	floor            float64
}{
	{"inside", "allow", "Allow", false, "-cores", 1.8},
	{"inside", "evalsha", scriptAbout, false, "-cores", 1.7},
	{"cores", "allow", "Allow", true, "", 1.8},
	{"cores", "evalsha", scriptAbout, true, "", 1.8},
	{"cores", "incr", "INCR", true, "", 1.8},
}

// inside measures what is embedded. Allow on keys of its own is also compared with an absolute target.
func inside(ctx context.Context, b *bench, r row, say say) (results []result, err error) {
	const allowedNs = 300
	for _, w := range embedded {
		if w.row != r.name {
			continue
		}
		one, two, err := b.insideBoth(ctx, w.work, w.shared, say)
		if err != nil {
			return nil, err
		}
		if len(results) == 0 && !w.shared {
			nanos := seriesOf("ours", one.values, func(perSecond float64) float64 { return 1e9 / perSecond })
			results = append(results, weigh(r.name+"-allow", r.about+", on one core: Allow", "ns",
				b.floor(r.floor), nanos, bound(allowedNs, b.rounds)))
		}
		results = append(results, weigh(r.name+"-"+w.work+w.suffix, r.about+", two cores against one: "+
			w.about, "/s", b.floor(w.floor), two, one))
	}
	return results, nil
}

// insideBoth starts the process on one core and on two in turn, with as many goroutines as cores.
func (b *bench) insideBoth(
	ctx context.Context, work string, shared bool, say say,
) (one, two series, err error) {
	both := [2]series{{name: "one core"}, {name: "two cores"}}
	for range b.rounds {
		for _, i := range b.shuffle.Perm(2) {
			perSecond, err := b.insideOnce(ctx, work, i+1, shared)
			if err != nil {
				return one, two, fmt.Errorf("%s: %w", work, err)
			}
			both[i].values = append(both[i].values, perSecond)
		}
	}
	say("%s: one core %s, two %s", work, quantity(median(both[0].values), "/s"),
		quantity(median(both[1].values), "/s"))
	return both[0], both[1], nil
}

// insideOnce starts the process and reads its result.
func (b *bench) insideOnce(
	ctx context.Context, work string, cores int, shared bool,
) (perSecond float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	where := b.where
	where.spread = cores > 1
	cmd := where.command(self, insideWord, work, strconv.Itoa(cores), b.length.String(),
		strconv.FormatBool(shared))
	out, err := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...).Output()
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(out), &perSecond)
	return perSecond, err
}
