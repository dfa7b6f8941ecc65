package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// allLibraries returns the programs of compat/libraries, one for each limiter library.
// Unlike other clients, a library keeps the time itself, so its hits are numbered
// instead of dated.
func allLibraries() []client {
	python := client{
		group: "python", preparation: "libraries-python",
		command: fixed("compat/libraries/python/.venv/bin/python", "compat/libraries/python/client.py"),
	}
	node := client{
		group: "node", preparation: "libraries-node",
		command: func(root string) ([]string, error) {
			return []string{"node", filepath.Join(root, "compat/libraries/node/client.js")}, nil
		},
	}
	golang := client{
		group: "go", preparation: "libraries-go",
		command: fixed("compat/.bin/libraries-go"),
	}
	java := client{
		group: "java", preparation: "libraries-java", command: jar("compat/libraries/java/target"),
	}
	return []client{
		python.library("limits", "fixed-window", "moving-window", "sliding-window-counter"),
		python.library("flask-limiter", "fixed-window", "moving-window", "sliding-window-counter"),
		python.library("slowapi", "fixed-window", "moving-window"),
		python.library("djangorestframework", "moving-window"),
		node.library("rate-limiter-flexible", "fixed-window", "fixed-window-block"),
		node.library("rate-limit-redis", "fixed-window"),
		node.library("fastify-rate-limit", "fixed-window", "continue-exceeding", "exponential-backoff"),
		golang.library("redis_rate", "gcra", "gcra-at-most"),
		golang.library("ulule", "fixed-window"),
		golang.library("throttled", "gcra").diagnosed(textEachTime),
		// When it connects it asks by a script with the keys test1 and test2 whether the server is a cluster.
		java.library("redisson", "sliding-window").diagnosed(crossSlot),
		java.library("bucket4j-lettuce", "greedy", "interval").diagnosed(textEachTime),
		java.library("bucket4j-jedis", "greedy", "interval").diagnosed(textEachTime),
		java.library("spring-cloud-gateway", "token-bucket"),
	}
}

// What RL.DOCTOR says of some.
const (
	textEachTime = "eval-each-time by eval" // the script's text is sent with each call, instead of its digest
	crossSlot    = "cross-slot by eval"
)

// library returns one library of a program that has several.
func (c client) library(name string, algorithms ...string) client {
	c.name, c.args, c.expected = name, []string{"--library", name}, algorithms
	return c
}

func libraryPreparations(root string) []preparation {
	at := func(path string) string { return filepath.Join(root, path) }
	return []preparation{
		pythonPreparation(root, "libraries-python", "compat/libraries/python"),
		nodePreparation("libraries-node", at("compat/libraries/node"), "rate-limiter-flexible"),
		{
			name: "libraries-go", dir: at("compat/libraries/go"),
			steps: [][]string{{"go", "build", "-o", at("compat/.bin/libraries-go"), "."}},
		},
		{
			name: "libraries-java", dir: at("compat/libraries/java"),
			inputs: []string{at("compat/libraries/java")},
			outputs: []string{
				at("compat/libraries/java/target/libraries.jar"),
				at("compat/libraries/java/target/lib"),
			},
			steps: [][]string{maven("clean", "package")},
		},
	}
}

// clusterLibraries are the libraries that run on a cluster client.
func clusterLibraries() []client {
	out := slices.DeleteFunc(allLibraries(), func(c client) bool {
		return !slices.Contains(clustered, c.name)
	})
	for i := range out {
		out[i].setting = "cluster"
		out[i].args = append(out[i].args, "--cluster", "yes")
		out[i].findings = slices.DeleteFunc(slices.Clone(out[i].findings), func(f string) bool {
			return f == crossSlot // a cluster refuses it
		})
	}
	return out
}

var clustered = []string{
	"limits", "rate-limiter-flexible", "redis_rate", "redisson", "bucket4j-lettuce", "spring-cloud-gateway",
}

// runLibraries runs the languages concurrently, each against two servers of its own: a
// scenario flushes, closes other connections and moves the clock.
func (r *rig) runLibraries(
	ctx context.Context, root string, clients []client, progress io.Writer,
) ([]row, error) {
	rows := make([][]row, len(clients)) // by client
	byGroup := map[string][]int{}
	for i, c := range clients {
		byGroup[c.group] = append(byGroup[c.group], i)
	}
	var wait sync.WaitGroup
	errs := make(chan error, len(byGroup))
	said := &shared{w: progress}
	for _, members := range byGroup {
		wait.Go(func() {
			errs <- r.withHeld(ctx, func(ours, theirs *held) {
				for _, i := range members {
					c := clients[i]
					rows[i] = r.runBoth(c, said, func() (outcome, outcome) {
						return runHeld(ctx, root, c, ours, theirs)
					})
					rows[i] = append(rows[i], r.diagnose(ours, c, rows[i][0].client)...)
				}
			})
		})
	}
	wait.Wait()
	close(errs)
	var err error
	for each := range errs {
		err = errors.Join(err, each)
	}
	return slices.Concat(rows...), err
}

// startOurs starts our server with a held clock.
func (r *rig) startOurs(ctx context.Context) (*held, error) {
	if r.gateway {
		return startGateway(ctx, r.oursPath, r.folder)
	}
	return r.startEither(ctx, r.oursPath, isRedis(r.oursPath))
}

// startEither starts a server with a held clock, as a node of a cluster under --cluster.
func (r *rig) startEither(ctx context.Context, path string, redis bool) (*held, error) {
	switch {
	case r.cluster && redis:
		return startCluster(ctx)
	case redis:
		return startHeld(ctx, path, r.folder, true)
	}
	flags := []string{"--rl-doctor", "yes"}
	if r.cluster {
		flags = append(flags, "--cluster-enabled", "yes", "--cluster-config-file", "")
	}
	return startHeld(ctx, path, r.folder, false, flags...)
}

// withHeld runs both servers while f runs.
func (r *rig) withHeld(ctx context.Context, f func(ours, theirs *held)) error {
	ours, err := r.startOurs(ctx)
	if err != nil {
		return err
	}
	theirs, err := r.startEither(ctx, r.theirsPath, true)
	if err != nil {
		return errors.Join(err, ours.stop())
	}
	if r.cluster {
		err = errors.Join(announce(ours.port, true), announce(theirs.port, true))
	}
	if err == nil {
		f(ours, theirs)
	}
	return errors.Join(err, ours.stop(), theirs.stop())
}

// runHeld runs a library on both servers concurrently, each from the next whole hour of its clock.
func runHeld(ctx context.Context, root string, c client, ours, theirs *held) (a, b outcome) {
	if err := errors.Join(ours.align(), theirs.align()); err != nil {
		return outcome{err: err}, outcome{err: err}
	}
	outs := runClient(ctx, root, c, []invocation{
		ours.invocation(c, "all", "--clock", ours.clock),
		theirs.invocation(c, "all", "--clock", theirs.clock),
	})
	return outs[0], outs[1]
}

// shared is a writer of whole lines for concurrent use.
type shared struct {
	mu sync.Mutex
	w  io.Writer // protected by mu
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// libraryLayout splits the label `<library> <version> on <client> <version>`; a client
// may be on another in turn.
var libraryLayout = layout{
	brief: true,
	intro: `# Limiter libraries

Each library drives its limiter through its public API, on zlimit and on redis-server 7.0.15, with held
clocks: to the limit and over it, across a window's edge, after SCRIPT FLUSH, after its connections were
closed, after FLUSHALL, with a key of a wrong type, and with 1,000 calls on one key. An algorithm is the
same if every decision and every number that the library reports is; seconds that remain may differ by one.
Below the table is what differs, if anything, and how many rows, one for each algorithm, were compared.
[compat/libraries](../compat/libraries/README.md) has the calls.
"go run -C compat/run . --libraries --write docs/compatibility.md" writes this page.

`,
	header: []string{"library", "version", "algorithm", "client", "zlimit", "Redis", "same or not"},
	cells: func(r row) []string {
		name, client, _ := strings.Cut(r.client, " on ")
		version := ""
		if i := strings.LastIndexByte(name, ' '); i >= 0 {
			name, version = name[:i], name[i+1:]
		}
		algorithm := strings.TrimPrefix(r.flow, "- ")
		return []string{name, version, algorithm, client, r.ours, r.theirs, string(r.verdict)}
	},
}
