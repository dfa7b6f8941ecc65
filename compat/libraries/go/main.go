// Command libraries runs one limiter library's algorithms through the scenario that its siblings in Python and Node go
// through, too; compat/libraries/README.md has the contract.
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

// A library is one of those examined: its module, the module of the client it runs on, and its algorithms.
type library struct {
	module, client string
	flows          []flow
}

type flow struct {
	name    string
	limiter func(address string) limiter
}

// A limiter is a library's own, made for a limit in a number of seconds.
type limiter func(limit, seconds int) (hit, error)

// A hit is one call for a key; it may be called concurrently.
type hit func(ctx context.Context, key string) (answer, error)

type answer struct {
	allowed bool
	fields  string // what was reported besides, as name=value with spaces between
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
	key := flag.String("key", "", "what every key has in its name")
	flag.Parse()
	if err := run(context.Background(), net.JoinHostPort(*host, strconv.Itoa(*port)), heldClock(*clock), *name, *only, *key); err != nil {
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

// newClient waits for as long as a busy machine needs: a call that was given up and made again would count twice.
func newClient(address string) *redis.Client {
	const patience = time.Minute
	return redis.NewClient(&redis.Options{Addr: address, DialTimeout: patience, ReadTimeout: patience, PoolTimeout: patience})
}

// versioned is a module's path without its host, and the version that was built in.
func versioned(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return module[len("github.com/"):] + " " + dep.Version
		}
	}
	return module
}
