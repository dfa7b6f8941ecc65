package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/bench/recorded"
)

// A limiterLibrary is a library whose scripts are recorded as compat/libraries runs it, and then replayed.
type limiterLibrary struct {
	name    string
	command []string // paths are under the module's root
	flows   []string
	// plain says that its scripts need what other commands have stored; these are replayed, too.
	plain bool
}

func limiterLibraries() []limiterLibrary {
	python := []string{"compat/libraries/python/.venv/bin/python", "compat/libraries/python/client.py"}
	node := []string{"node", "compat/libraries/node/client.js"}
	golang := []string{"compat/.bin/libraries-go"}
	java := []string{
		"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-jar", "compat/libraries/java/target/libraries.jar",
	}
	return []limiterLibrary{
		{"limits", python, []string{"fixed-window", "moving-window", "sliding-window-counter"}, false},
		{"flask-limiter", python, []string{"moving-window"}, false},
		{"slowapi", python, []string{"fixed-window"}, false},
		{"rate-limiter-flexible", node, []string{"fixed-window"}, false},
		{"rate-limit-redis", node, []string{"fixed-window"}, false},
		{"fastify-rate-limit", node, []string{"fixed-window", "exponential-backoff"}, false},
		{"redis_rate", golang, []string{"gcra", "gcra-at-most"}, false},
		{"ulule", golang, []string{"fixed-window"}, false},
		{"throttled", golang, []string{"gcra"}, true},
		{"redisson", java, []string{"sliding-window"}, false},
		{"bucket4j-lettuce", java, []string{"greedy"}, false},
		{"bucket4j-jedis", java, []string{"greedy"}, false},
		{"spring-cloud-gateway", java, []string{"token-bucket"}, false},
	}
}

// libraryRows returns a row for each library. Django REST framework sends no script.
func libraryRows() []row {
	var rows []row
	for _, lib := range limiterLibraries() {
		name := "script-" + lib.name
		if lib.name == "redis_rate" {
			name = "script-redis-rate"
		}
		rows = append(rows, row{
			name: name, about: "scripts of " + lib.name + " by EVALSHA", floor: 2,
			measure: func(ctx context.Context, b *bench, r row, say say) ([]result, error) {
				return lib.measure(ctx, b, r, say)
			},
		})
	}
	return rows
}

// measure records each algorithm's scripts on a redis-server and replays them on both servers: pipelined by
// 16, and one by one.
func (lib *limiterLibrary) measure(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const keys, connections, unpipelined = 4000, 50, 1
	var results []result
	for _, flow := range lib.flows {
		rec, err := lib.record(ctx, b, flow)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flow, err)
		}
		bytes, keyArgs, args := rec.ScriptBytes()
		say("%s: %d calls on a key, of scripts of %d bytes", flow, len(rec.Calls), bytes)
		var servers [2]*serverProcess
		for i, p := range []program{ourServer, redisServer} {
			if servers[i], err = b.start(ctx, contender{program: p}); err != nil {
				return nil, err
			}
			defer servers[i].stop()
			if err := rec.Load(servers[i].ask); err != nil {
				return nil, err
			}
		}
		for _, pipeline := range []int{16, unpipelined} {
			replay := &recorded.Replay{
				Recording: rec, Keys: keys, Connections: connections, Pipeline: pipeline,
			}
			if pipeline == unpipelined {
				replay.Keys /= 4
			}
			var micros [2][]float64
			for n := range 1 + b.rounds {
				for _, i := range b.shuffle.Perm(2) {
					us, err := servers[i].replayed(ctx, replay)
					if err != nil {
						return nil, fmt.Errorf("%s: %s: %w", flow, servers[i].name, err)
					}
					if n > 0 { // the first is a warm-up
						micros[i] = append(micros[i], us)
					}
				}
			}
			ours := figure{Name: "ours", Value: median(micros[0])}
			theirs := figure{Name: "redis", Value: median(micros[1])}
			say("%s, pipelined by %d: ours %.2f us a call, redis %.2f us",
				flow, pipeline, ours.Value, theirs.Value)
			floor := r.target(b.quick)
			if pipeline == unpipelined {
				floor /= 2
			}
			name := fmt.Sprintf("%s-%s-%d", r.name, flow, pipeline)
			about := fmt.Sprintf("processor time a call of %d bytes of scripts, at most %d keys and "+
				"%d arguments, pipelined by %d", bytes, keyArgs, args, pipeline)
			res := lower(name, about, "us", floor, ours, theirs)
			res.Ratio = compare(micros[1], micros[0])
			res.Missed = missed(res.Ratio.OfMedians, res.Floor)
			results = append(results, res)
		}
		servers[0].stop()
		servers[1].stop()
	}
	return results, nil
}

// replayed empties the server, replays, and returns the server's processor time a call in microseconds.
func (s *serverProcess) replayed(ctx context.Context, replay *recorded.Replay) (float64, error) {
	if _, err := s.ask("FLUSHALL"); err != nil {
		return 0, err
	}
	before, err := readProcess(s.pid)
	if err != nil {
		return 0, err
	}
	if err := replay.Run(ctx, s.address); err != nil {
		return 0, err
	}
	after, err := readProcess(s.pid)
	return float64(after.cpu-before.cpu) / 1e3 / float64(replay.Calls()), err
}

// record runs the library against a redis-server until it has made the calls of the scenario's first part:
// eight where five are allowed.
func (lib *limiterLibrary) record(ctx context.Context, b *bench, flow string) (*recorded.Recording, error) {
	s, err := b.start(ctx, contender{program: redisServer})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	clock := httptest.NewServer(goingClock())
	defer clock.Close()
	command := make([]string, len(lib.command))
	for i, word := range lib.command {
		if command[i] = word; filepath.Dir(word) != "." {
			if command[i], err = filepath.Abs(word); err != nil {
				return nil, err
			}
			if _, err := os.Stat(word); err != nil {
				return nil, fmt.Errorf("the library is not installed (go run -C compat/run . --libraries "+
					"installs it; run the bench in the module's root): %w", err)
			}
		}
	}
	const key = "recorded"
	command = append(command, "--host", "127.0.0.1", "--port", s.address[len("127.0.0.1:"):],
		"--clock", clock.URL, "--library", lib.name, "--flow", flow, "--key", key)
	rec, err := recorded.Record(ctx, s.address, recorded.Program{
		Command: command, Names: []string{key + "-over", key + "-" + flow + "-over"}, Until: "-edge",
		Plain: lib.plain,
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("is %s installed? %w", command[0], err)
	}
	return rec, err
}

// goingClock is what compat/libraries asks for the time: here it goes on, and can be advanced.
func goingClock() http.Handler {
	var ahead atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.ParseInt(r.FormValue("ms"), 10, 64) // none for /now
		fmt.Fprint(w, time.Now().UnixMilli()+ahead.Add(ms))
	})
}
