// Command run shows that clients cannot tell zlimit-server from Redis by their
// limiters. It starts both, runs every client program of this folder against both at
// the same instants, and compares the output line by line. With --libraries the
// programs are those of compat/libraries, each a limiter library, the servers' clocks are
// held, and RL.DOCTOR must find in each what it should. With --gateway our server is a
// gateway before a cluster of three redis-servers. With --cluster both servers are clusters
// of one node, and the programs use their libraries' cluster clients. With --tls each client
// runs one flow over TLS, and must be refused without a certificate and as a user whose keys
// are others. With --tests it runs the examples of testing a limiter, in Go and other
// languages, Redis' tools, redis-sentinel, redis_exporter, clusters of redis-server behind a
// gateway, and a migration of limiters from redis-server to zlimit-server.
//
// It does not test commands or error texts, as difftest and the server's transcripts
// do, and it does not measure. It needs redis-server and the languages' own tools, and
// listens only on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

type options struct {
	server    string // path of our server; built from the root when empty
	redis     string
	only      string
	write     string
	libraries bool
	tests     bool
	tls       bool
	gateway   bool
	cluster   bool
	prepare   string // preparations to run instead
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "",
		"server to examine, a path or a name on PATH; default: built from ./cmd/zlimit-server")
	flag.StringVar(&o.redis, "redis", "redis-server", "redis-server to compare with")
	flag.StringVar(&o.only, "only", "",
		"clients to run, separated by commas: python, go, node, spring, jedis, java, "+
			"or libraries by name or language; default all")
	flag.BoolVar(&o.libraries, "libraries", false,
		"run the limiter libraries instead of the documents' flows")
	flag.BoolVar(&o.tests, "tests", false,
		"run the tests of compat/embed, tests, terminal, exporter, sentinel, cluster and migration instead; "+
			"--only takes go, python, node, java, terminal, exporter, sentinel, cluster, migration")
	flag.BoolVar(&o.tls, "tls", false,
		"connect over TLS instead: with a certificate, without one, and as a user whose keys are others")
	flag.BoolVar(&o.gateway, "gateway", false,
		"put our server, as a gateway, before a cluster of three redis-servers; also with --libraries")
	flag.BoolVar(&o.cluster, "cluster", false,
		"run our server and redis-server each as a cluster of one node, with the clients' cluster clients; "+
			"also with --libraries")
	flag.StringVar(&o.prepare, "prepare", "",
		"install these and do nothing else, separated by commas: python, node, java, libraries-python, "+
			"libraries-node, libraries-java; tests of dist/packages use them")
	flag.StringVar(&o.write, "write", "",
		"file to write the table to as Markdown; a relative path is under the root")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ok, err := run(ctx, o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run prints the table on stdout and its progress on progress. ok reports that every
// row is the same.
func run(ctx context.Context, o options, stdout, progress io.Writer) (ok bool, err error) {
	root, err := findRoot()
	if err != nil {
		return false, err
	}
	if o.prepare != "" {
		err := prepareNamed(ctx, preparations(root), filepath.Join(root, "compat", ".bin"), o.prepare)
		return err == nil, err
	}
	if o.tests {
		return runTests(ctx, root, o, stdout)
	}
	all, table := allClients(), flowLayout
	if o.libraries {
		all, table = allLibraries(), libraryLayout
	}
	switch {
	case o.tls:
		all = tlsClients()
	case o.cluster && o.libraries:
		all = clusterLibraries()
	case o.cluster:
		all = clusterClients()
	}
	clients, err := selectClients(all, o.only)
	if err != nil {
		return false, err
	}
	rig, err := prepareAll(ctx, root, o, clients, progress)
	if err != nil {
		return false, err
	}
	var rows []row
	switch {
	case o.libraries:
		rows, err = rig.runLibraries(ctx, root, clients, progress)
	case o.tls:
		rows, err = rig.runTLS(ctx, root, clients, progress)
	default:
		rows = rig.runAll(ctx, root, clients, progress)
	}
	err = errors.Join(err, rig.stop())
	if !o.libraries && !o.tls {
		sortRows(rows)
	}
	table.writeText(stdout, rows)
	if o.write != "" {
		var page strings.Builder
		table.writeMarkdown(&page, rows)
		path := o.write
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		err = errors.Join(err, os.WriteFile(path, []byte(page.String()), 0o644))
	}
	return failures(rows) == 0, err
}

// findRoot walks up to the repository's go.mod, so that the starting folder does not
// matter.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/zlimit/zlimit\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the zlimit repository")
		}
		dir = parent
	}
}
