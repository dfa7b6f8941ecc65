package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// otherRows returns the rows that are not closed loops.
func otherRows() []row {
	return []row{
		{name: "inside", about: "what a Go program that embeds zlimit gets", measure: inside, floor: 1},
		{
			name: "cores", about: "two cores against one, on keys that both draw from", measure: cores,
			floor: 1.8,
		},
		{
			name: "same-rate",
			about: "RL.ALLOW against the documents' script, both asked 30,000 times a second over 50 " +
				"connections",
			measure: sameRate, floor: 1,
		},
		{
			name:    "window",
			about:   "a key with a million hits against one with ten",
			measure: largeWindow, floor: 0.5,
		},
		{name: "memory", about: "resident memory of limiters' keys", measure: memory, floor: 1},
		{
			name: "collector",
			about: "RL.ALLOW 20,000 times a second on a million keys with ten million hits, while a " +
				"collection is under way, against an empty server",
			measure: collector, floor: 1 / 1.2,
		},
		{
			name: "storm",
			about: "RL.ALLOW 20,000 times a second while a million other keys expire in one second, " +
				"against quiet",
			measure: storm, floor: 0.5,
		},
		{
			name: "sync",
			about: "RL.ALLOW 10,000 times a second while a replica copies a million other keys, against " +
				"quiet",
			measure: copying, floor: 0.5,
		},
		{
			name:    "waits",
			about:   "what limiters wait for: timeouts of blocked calls, expiry, messages from scripts",
			measure: waiting,
		},
		{
			name: "start", about: "from the start of the process to its first answer, and the program's size",
			measure: start, floor: 1,
		},
		{
			name: "benchmark", about: "redis-benchmark, for those who do not trust this client",
			measure: redisBenchmark,
		},
		{
			name: "tls", about: "redis-benchmark over TLS, with client certificates",
			measure: overTLS, floor: 0.75,
		},
		{
			name: "gateway",
			about: "a decision by a gateway before three redis-servers, all on one core, against other " +
				"ways; us of gateway and nodes together",
			measure: overCluster, floor: 2, quick: true, // at most half a round trip a decision; see routes
		},
	}
}

// bound returns the figure that an absolute target is compared with.
func bound(value float64) figure { return figure{Name: "bound", Value: value} }

// start measures the time from a process' start to its first answer, and the size of
// the program built by go build -ldflags='-s -w'.
func start(ctx context.Context, b *bench, r row, _ say) ([]result, error) {
	const allowedMs, allowedMB = 50, 20
	var results []result
	for _, p := range []program{ourServer, redisServer} {
		var ms []float64
		for range b.rounds {
			began := time.Now()
			s, err := b.start(ctx, contender{program: p})
			if err != nil {
				return nil, err
			}
			ms = append(ms, s.answered.Sub(began).Seconds()*1000)
			s.stop()
		}
		name := r.name + "-" + string(p)
		floor := r.floor
		if p != ourServer {
			floor = 0
		}
		results = append(results,
			lower(name, "from the start of the process to its first answer", "ms", floor,
				figure{Name: string(p), Value: median(ms)}, bound(allowedMs)))
	}
	small := filepath.Join(b.dir, "zlimit-server-small")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", small, ourPackage)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	info, err := os.Stat(small)
	if err != nil {
		return nil, err
	}
	size := figure{Name: "ours", Value: float64(info.Size()) / 1e6}
	return append(results,
		lower(r.name+"-size", "size of the program, without debug information", "MB", r.floor, size,
			bound(allowedMB))), nil
}

// redisBenchmark runs the tool that comes with Redis.
func redisBenchmark(ctx context.Context, b *bench, _ row, say say) ([]result, error) {
	nowMs := strconv.FormatInt(time.Now().UnixMilli(), 10)
	const key = "rl:__rand_int__"
	script := []string{"EVALSHA", scriptSHA(), "1", key, nowMs, "60000", "100"}
	allow := []string{"RL.ALLOW", key, "100", "60000"}
	var results []result
	for _, test := range []struct {
		name        string
		ours, redis []string
	}{
		{"ping", []string{"PING"}, []string{"PING"}},
		{"set", []string{"SET", key, "sixteen_bytes_ok"}, []string{"SET", key, "sixteen_bytes_ok"}},
		{"incr", []string{"INCR", key}, []string{"INCR", key}},
		{"evalsha", script, script},
		{"allow", allow, script},
	} {
		perSecond, err := b.tool(ctx, toolRun{ours: test.ours, redis: test.redis, pipeline: 16})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", test.name, err)
		}
		ours := figure{Name: "ours", Value: median(perSecond[0])}
		theirs := figure{Name: "redis", Value: median(perSecond[1])}
		say("%s: ours %s/s, redis %s/s", test.name, thousands(ours.Value), thousands(theirs.Value))
		res := higher("benchmark-"+test.name, "redis-benchmark -P 16 -c 50 -r 10000", "/s", 0, ours, theirs)
		res.Ratio = compare(perSecond[0], perSecond[1])
		results = append(results, res)
	}
	return results, nil
}

// A toolRun is what redis-benchmark sends to both servers.
type toolRun struct {
	ours, redis []string // the commands
	pipeline    int
	// secure, if not nil, are the flags of servers that listen for TLS too, and of the
	// tool, which then connects there.
	secure *tlsFlags
}

// tool returns redis-benchmark's result for a command, round by round, for our server
// and Redis.
func (b *bench) tool(ctx context.Context, run toolRun) (perSecond [2][]float64, err error) {
	tool, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return perSecond, fmt.Errorf("redis-benchmark is needed and was not found (Debian: apt-get install "+
			"redis-tools): %w", err)
	}
	commands := [2][]string{run.ours, run.redis}
	var servers [2]*serverProcess
	for i, p := range []program{ourServer, redisServer} {
		if servers[i], err = b.start(ctx, contender{program: p, flags: run.secure.server()}); err != nil {
			return perSecond, err
		}
		defer servers[i].stop()
		if _, err := servers[i].ask("SCRIPT", "LOAD", script); err != nil {
			return perSecond, err
		}
	}
	// redis-benchmark retries a dead server forever.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.rounds)*time.Minute)
	defer cancel()
	for range b.rounds {
		for i, s := range servers {
			port, more, err := run.secure.client(s)
			if err != nil {
				return perSecond, err
			}
			call := slices.Concat([]string{
				"-h", "127.0.0.1", "-p", port, "-c", "50", "-P", strconv.Itoa(run.pipeline), "-r", "10000",
				"-n", strconv.Itoa(min(200_000, run.pipeline*50_000)), "--csv",
			}, more, commands[i])
			out, err := exec.CommandContext(ctx, tool, call...).Output()
			if err != nil {
				return perSecond, err
			}
			n, err := parseBenchmark(string(out))
			if err != nil {
				return perSecond, err
			}
			perSecond[i] = append(perSecond[i], n)
		}
	}
	return perSecond, nil
}

var errBenchmarkOutput = errors.New("not what redis-benchmark --csv writes")

// parseBenchmark parses the requests a second from redis-benchmark's CSV: a line of
// titles and a line of one test.
func parseBenchmark(out string) (perSecond float64, err error) {
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errBenchmarkOutput, err)
	}
	if len(records) != 2 || len(records[0]) < 2 || records[0][1] != "rps" {
		return 0, fmt.Errorf("%w: %q", errBenchmarkOutput, out)
	}
	return strconv.ParseFloat(records[1][1], 64)
}
