// Command libraries runs one limiter library's algorithms through the same scenario as the programs in Python
// and Node; see compat/libraries/README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A library is a limiter library under test: its module, the module of its client, and its algorithms.
type library struct {
	module, client string
	flows          []flow
}

type flow struct {
	name    string
	limiter func(address string) limiter
}

// A limiter makes a library's limiter for a limit in a number of seconds.
type limiter func(limit, seconds int) (hit, error)

// A hit is one call for a key. It may be called concurrently.
type hit func(ctx context.Context, key string) (answer, error)

type answer struct {
	allowed bool
	fields  string // other reported fields, as name=value separated by spaces
}

var libraries = map[string]library{
	"redis_rate": redisRate,
	"ulule":      ulule,
	"throttled":  throttledGCRA,
}

func main() {
	host := flag.String("host", "127.0.0.1", "server's host")
	port := flag.Int("port", 0, "server's port")
	clock := flag.String("clock", "", "address of the server's clock")
	name := flag.String("library", "", "redis_rate, ulule or throttled")
	only := flag.String("flow", "all", "an algorithm of the library, or all")
	key := flag.String("key", "", "part of every key's name")
	flag.StringVar(&inCluster, "cluster", "no", "yes: the server is a node of a cluster")
	calls := flag.Bool("calls", false, "make the calls that the standard input asks for")
	flag.Parse()
	if *calls {
		if err := makeCalls(context.Background(), *name, *only, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	address := net.JoinHostPort(*host, strconv.Itoa(*port))
	if err := run(context.Background(), address, heldClock(*clock), *name, *only, *key); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, clock heldClock, name, only, key string) error {
	lib, ok := libraries[name]
	if !ok || key == "" || clock == "" {
		return fmt.Errorf("need --key and --clock, and --library must be redis_rate, ulule or throttled")
	}
	server := newClient(address)
	defer server.Close()
	fmt.Println("client", versioned(lib.module), "on", versioned(lib.client))
	ran := false
	for _, f := range lib.flows {
		if only != "all" && only != f.name {
			continue
		}
		ran = true
		if only == "all" {
			fmt.Println("flow", f.name)
		}
		flowKey := key + "-" + f.name
		if err := server.FlushAll(ctx).Err(); err != nil {
			return err
		}
		s := scenario{server: server, clock: clock, key: flowKey, limiter: f.limiter(address)}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Println("end")
	}
	if !ran {
		return fmt.Errorf("%s has no flow %s", name, only)
	}
	return nil
}

// inCluster is "yes" if libraries use cluster clients.
var inCluster string

// newUniversal returns a cluster client, or newClient's.
func newUniversal(address string) redis.UniversalClient {
	plain := newClient(address)
	if inCluster != "yes" {
		return plain
	}
	o := plain.Options()
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{address}, DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, PoolTimeout: o.PoolTimeout,
	})
}

// newClient uses timeouts long enough for a busy machine: a call that was given up and repeated would count
// twice.
func newClient(address string) *redis.Client {
	const timeout = time.Minute
	return redis.NewClient(&redis.Options{
		Addr: address, DialTimeout: timeout, ReadTimeout: timeout, PoolTimeout: timeout,
	})
}

// versioned returns a module's path without its host, and its version in this binary.
func versioned(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return module[len("github.com/"):] + " " + dep.Version
		}
	}
	return module
}
