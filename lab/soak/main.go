// Command soak runs a mixed load against zlimit-server for as long as -time says, and
// fails if at the end the server has more memory, goroutines or descriptors than after
// a warm-up: within a tenth, once the load has stopped and what it left has expired.
//
// The load is what clients do: they connect and hang up, send limiters' commands,
// scripts and functions, publish and subscribe, let keys expire, change directives,
// and leave transactions and blocked commands behind. Every reply that can be known is
// checked.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/lab/abuse"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	length := flag.Duration("time", 10*time.Minute, "how long the load runs, warm-up included")
	ours := flag.String("ours", "", "the program (default: one that it builds)")
	flag.Parse()
	if err := soak(ctx, *ours, *length); err != nil {
		log.Fatal("soak: ", err)
	}
}

// soak runs the load: a fifth of the time for warming up, and the rest.
func soak(ctx context.Context, program string, length time.Duration) error {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if program == "" {
		if program, err = abuse.BuildServer(dir); err != nil {
			return err
		}
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	p, err := abuse.Start(ctx, program, dir, &abuse.Row{Directives: []string{
		"--dir", dir, "--metrics-addr", metrics, "--notify-keyspace-events", "Kx",
		"--client-output-buffer-limit", "pubsub 4mb 1mb 5",
	}})
	if err != nil {
		return err
	}
	defer p.Stop()
	m := meter{process: p, metrics: metrics}

	warm, err := load(ctx, p.Addr, length/5)
	if err != nil {
		return err
	}
	before, err := m.settled(ctx, usage{})
	if err != nil {
		return err
	}
	calls, err := load(ctx, p.Addr, length-length/5)
	if err != nil {
		return err
	}
	after, err := m.settled(ctx, before)
	if err != nil {
		return err
	}
	fmt.Printf("%d calls to warm up, then %d\nbefore  %v\nafter   %v\n", warm, calls, before, after)
	if !after.within(before) {
		return fmt.Errorf("after the load the server has more than a tenth more than before")
	}
	return nil
}

// load runs every kind of client for some time, and returns how many commands they
// have sent.
func load(ctx context.Context, addr string, length time.Duration) (calls int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var failed sync.Once
	var total atomic.Int64
	var all sync.WaitGroup
	for i, k := range kinds {
		for j := range k.clients {
			all.Go(func() {
				w := &worker{addr: addr, id: i*100 + j, calls: &total}
				for ctx.Err() == nil {
					if e := w.session(ctx, k.round); e != nil {
						failed.Do(func() { err = fmt.Errorf("%s: %w", k.name, e) })
						cancel()
					}
				}
			})
		}
	}
	all.Wait()
	return total.Load(), err
}
