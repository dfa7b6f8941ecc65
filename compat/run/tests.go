package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A suite is a folder of tests in some language's own framework. They start
// zlimit-server or run it in their process. Most show that limiters can be tested so, and
// compare nothing with Redis; terminal and exporter run Redis' tools and redis_exporter
// against both servers, sentinel runs redis-sentinel over both, cluster puts the server
// before a cluster of redis-servers, migration moves the limiter libraries from one
// to the other, envoy holds the rate limit service against Envoy's, programs records queues and limiters and
// replays them on both, and proxies runs nginx, HAProxy and Caddy in front of zlimit-server.
type suite struct {
	name         string // as in --only
	dir          string
	preparations []preparation
	command      []string
	named        bool // runs only if --only names it: it takes more than it may in CI
	alone        bool // runs when the others are done: what it tests needs the cores for itself
}

func testSuites(root string) []suite {
	at := func(path string) string { return filepath.Join(root, path) }
	return []suite{
		{name: "go", dir: at("compat/embed"), command: []string{"go", "test", "./..."}},
		{
			name: "ruby", dir: at("compat/tests/ruby"),
			command: []string{
				"ruby", "-e", `ARGV.each { |name| require "./#{name}" }`, "window_test.rb", "readme_test.rb",
			},
		},
		{
			name: "rust", dir: at("compat/tests/rust"), named: true, // it compiles a client
			command: []string{"cargo", "run", "-q", "--locked"},
		},
		{name: "exporter", dir: at("compat/exporter"), command: []string{"go", "test", "-count=1", "./..."}},
		{
			name: "sentinel", dir: at("compat/sentinel"), preparations: sentinelPreparations(root),
			// Tests wait for Sentinel more than they compute.
			command: []string{"go", "test", "-count=1", "-parallel=3", "./..."},
		},
		{
			name: "cluster", dir: at("compat/cluster"), alone: true,
			preparations: []preparation{pythonPreparation(root, "python", "compat/python")},
			// Tests wait for nodes more than they compute.
			command: []string{"go", "test", "-count=1", "-parallel=3", "-p=1", "./..."},
		},
		{
			name: "programs", dir: at("compat/programs"),
			preparations: []preparation{
				pythonPreparation(root, "programs-python", "compat/programs/python"),
				nodePreparation("programs-node", at("compat/programs/node"), "bull"),
			},
			command: []string{"go", "test", "-count=1", "./..."},
		},
		{name: "envoy", dir: at("compat/envoy"), command: []string{"go", "test", "-count=1", "./..."}},
		{name: "terminal", dir: at("compat/terminal"), command: []string{"go", "test", "-count=1", "./..."}},
		{name: "proxies", dir: at("compat/proxies"), command: []string{"go", "test", "-count=1", "./..."}},
		{
			name: "migration", dir: at("compat/migration"),
			preparations: slices.DeleteFunc(libraryPreparations(root), func(p preparation) bool {
				return p.name == "libraries-java"
			}),
			command: []string{"go", "test", "-count=1", "./..."},
		},
	}
}

// runTests runs the suites concurrently, then those that run alone, and prints a line for each. ok
// reports that all passed.
func runTests(ctx context.Context, root string, o options, stdout io.Writer) (ok bool, err error) {
	suites := testSuites(root)
	if o.only != "" {
		names := strings.Split(o.only, ",")
		suites = slices.DeleteFunc(suites, func(s suite) bool { return !slices.Contains(names, s.name) })
		if len(suites) != len(names) {
			return false, fmt.Errorf("--only: not all of %q are suites", o.only)
		}
	} else {
		suites = slices.DeleteFunc(suites, func(s suite) bool { return s.named })
	}
	stamps := filepath.Join(root, "compat", ".bin")
	if err := os.MkdirAll(stamps, 0o755); err != nil {
		return false, err
	}
	server := underRoot(root, o.server)
	if server == "" {
		server = filepath.Join(stamps, "zlimit-server")
		if _, err := serverPreparation(root, server).run(ctx, stamps); err != nil {
			return false, err
		}
	}
	errs := make([]error, len(suites))
	var (
		wait sync.WaitGroup
		mu   sync.Mutex // protects stdout
	)
	one := func(i int) {
		begin := time.Now()
		errs[i] = suites[i].run(ctx, stamps, server)
		verdict := "ok"
		if errs[i] != nil {
			verdict = "FAILED: " + errs[i].Error()
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(stdout, "tests in %-9s %6.1f s  %s\n", suites[i].name, time.Since(begin).Seconds(),
			verdict)
	}
	for i, s := range suites {
		if !s.alone {
			wait.Go(func() { one(i) })
		}
	}
	wait.Wait()
	for i, s := range suites {
		if s.alone {
			one(i)
		}
	}
	return errors.Join(errs...) == nil, nil
}

// run prepares and runs a suite. The error is the suite's output.
func (s suite) run(ctx context.Context, stamps, server string) error {
	for _, p := range s.preparations {
		if _, err := p.run(ctx, stamps); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "ZLIMIT_SERVER="+server)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(output, 60))
	}
	return nil
}
