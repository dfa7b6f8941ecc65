package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit"
)

// insideWord starts the command line of a process that embeds zlimit: this program
// again, with the work's name, the number of goroutines, and the length.
const insideWord = "inside"

// insideWork is what a goroutine does repeatedly, on its own keys.
var insideWork = map[string]func(l *zlimit.Limiter, worker int) (func(i int) error, error){
	"allow": func(l *zlimit.Limiter, worker int) (func(i int) error, error) {
		keys := ownKeys(worker)
		quota := zlimit.Quota{Limit: 100, Window: time.Second}
		return func(i int) error {
			_, err := l.Allow(context.Background(), keys[i%len(keys)], quota, 1)
			return err
		}, nil
	},
	"shared-allow": sharedAllow, "shared-evalsha": sharedEvalsha, "shared-incr": sharedIncr, // see cores.go
	"evalsha": func(l *zlimit.Limiter, worker int) (func(i int) error, error) {
		keys, sha := ownKeys(worker), sha1.Sum([]byte(script))
		name, ctx := hex.EncodeToString(sha[:]), context.Background()
		if _, err := l.Do(ctx, "SCRIPT", "LOAD", script); err != nil {
			return nil, err
		}
		s := l.Session()
		return func(i int) error {
			_, err := s.Do(ctx, "EVALSHA", name, "1", keys[i%len(keys)], "1700000000000", "60000", "100")
			return err
		}, nil
	},
}

// ownKeys returns a thousand keys that no other worker uses.
func ownKeys(worker int) []string {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("rl:%03d:%09d", worker, i)
	}
	return keys
}

// beInside runs the embedding process. It writes how often a second all its goroutines
// did the work, and the processor time of the process for each in nanoseconds.
func beInside(args []string, stdout io.Writer) (err error) {
	if len(args) != 3 || insideWork[args[0]] == nil {
		return fmt.Errorf("%s needs a work's name, goroutines and a length", insideWord)
	}
	workers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	length, err := time.ParseDuration(args[2])
	if err != nil {
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
	began, err := readProcess(os.Getpid())
	if err != nil {
		return err
	}
	for worker := range workers {
		work, err := insideWork[args[0]](l, worker)
		if err != nil {
			return err
		}
		wg.Go(func() {
			const between = 1000 // calls between two readings of the clock
			n := int64(0)
			for time.Since(start) < length {
				for range between {
					if err := work(int(n)); err != nil {
						failed.Store(&err)
						return
					}
					n++
				}
			}
			done.Add(n)
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	took := time.Since(start)
	use, err := readProcess(os.Getpid())
	if err != nil {
		return err
	}
	n := float64(done.Load())
	_, err = fmt.Fprintln(stdout, n/took.Seconds(), float64(use.cpu-began.cpu)/n)
	return err
}

// inside measures the embedded engine on one core, and on two against one.
func inside(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const allowedNs = 300
	var results []result
	for _, w := range []struct {
		work, about string
		floor       float64 // of two cores against one
	}{
		{"allow", "Allow in the process of its caller", 1.8},
		{"evalsha", "the documents' script by EVALSHA in the process of its caller", 1.7},
	} {
		var perSecond [2][]float64
		for range b.rounds {
			for i := range perSecond {
				n, _, err := b.insideOnce(ctx, w.work, i+1)
				if err != nil {
					return nil, err
				}
				perSecond[i] = append(perSecond[i], n)
			}
		}
		one, two := median(perSecond[0]), median(perSecond[1])
		say("%s: one core %s/s, two %s/s", w.work, thousands(one), thousands(two))
		if w.work == "allow" {
			results = append(results,
				lower(r.name+"-"+w.work, w.about+", one core", "ns", r.target(b.quick),
					figure{Name: "ours", Value: 1e9 / one}, bound(allowedNs)))
		}
		floor := w.floor
		if b.quick {
			floor /= 2
		}
		res := higher(r.name+"-"+w.work+"-cores", w.about+", keys of their own, two cores against one", "/s",
			floor,
			figure{Name: "two cores", Value: two}, figure{Name: "one core", Value: one})
		res.Ratio = compare(perSecond[1], perSecond[0])
		results = append(results, res)
	}
	return results, nil
}

// insideOnce starts the process with as many cores as goroutines, and reads its result.
func (b *bench) insideOnce(
	ctx context.Context, work string, cores int,
) (perSecond, nanos float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	args := []string{self, insideWord, work, strconv.Itoa(cores), b.length.String()}
	if b.where.pinned() {
		on := strconv.Itoa(b.where.server)
		if cores > 1 {
			on += "," + strconv.Itoa(b.where.client)
		}
		args = append([]string{b.where.taskset, "-c", on}, args...)
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", work, err)
	}
	_, err = fmt.Sscan(string(out), &perSecond, &nanos)
	return perSecond, nanos, err
}
