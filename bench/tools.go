package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zlimit/zlimit/testca"
)

// otherRows returns the rows that are neither closed loops nor scenes.
func otherRows() []row {
	return []row{
		{name: "inside", about: "what a Go program that embeds zlimit gets", measure: inside, floor: 1},
		{name: "cores", about: "the same, on 10,000 keys that all cores draw from", measure: inside},
		{name: "memory", about: "resident memory of limiters' keys", measure: memory, floor: 1},
		{name: "start", about: "from the start to the first answer", measure: start, floor: 1},
		{name: "tls", about: "with client certificates", measure: overTLS, floor: 0.75},
		{
			name: "gateway", about: "a decision by a gateway before three redis-servers, all on one core, " +
				"against other ways; us of gateway and nodes together",
			measure: overCluster, floor: 2, quick: true, // at most half a round trip a decision; see routes
		},
	}
}

// start measures the time from a process' start to its first answer, and the size of
// the program built by go build -ldflags='-s -w'.
func start(ctx context.Context, b *bench, r row, _ say) (results []result, err error) {
	const allowedMs, allowedMB = 50, 20
	for _, p := range []program{ourServer, redisServer} {
		took := series{name: string(p)}
		for range b.rounds {
			began := time.Now()
			s, err := b.start(ctx, contender{program: p})
			if err != nil {
				return nil, err
			}
			s.stop()
			took.values = append(took.values, ms(s.answered.Sub(began)))
		}
		floor := r.floor
		if p != ourServer {
			floor = 0
		}
		results = append(results,
			weigh(r.name+"-"+took.name, r.about, "ms", floor, took, bound(allowedMs, b.rounds)))
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
	return append(results, weigh(r.name+"-size", "the program, without debug information", "MB", r.floor,
		series{"ours", []float64{float64(info.Size()) / 1e6}}, bound(allowedMB, 1))), nil
}

// overTLS runs the tool that comes with Redis. The closed loop of the other rows makes its system calls
// itself and has no TLS. Server and client have the same certificate.
func overTLS(ctx context.Context, b *bench, r row, say say) (results []result, err error) {
	authority, err := testca.New("bench authority")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Issue(testca.Leaf{Name: "bench"})
	if err != nil {
		return nil, err
	}
	ca, err := authority.Write(b.dir, "ca.crt")
	if err != nil {
		return nil, err
	}
	cert, key, err := pair.Write(b.dir, "bench")
	if err != nil {
		return nil, err
	}
	tool, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return nil, fmt.Errorf("redis-benchmark was not found (Debian: apt-get install redis-tools): %w", err)
	}
	var ports [2]string
	for i, c := range both(nil, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca) {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
		c.flags = append(slices.Clip(c.flags), "--tls-port", ports[i])
		s, err := b.start(ctx, c)
		if err != nil {
			return nil, err
		}
		defer s.stop()
	}
	// redis-benchmark retries a dead server forever.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Duration(b.rounds)*time.Minute)
	defer cancel()
	for _, pipeline := range []int{1, 16} {
		sides := [2]series{{name: string(ourServer)}, {name: string(redisServer)}}
		for range b.rounds {
			for _, i := range b.shuffle.Perm(len(sides)) {
				out, err := exec.CommandContext(ctx, tool, "--tls", "--cacert", ca, "--cert", cert, "--key",
					key, "-p", ports[i], "-P", strconv.Itoa(pipeline), "-c", "50", "-r", "10000", "-n",
					strconv.Itoa(min(200_000, pipeline*50_000)), "--csv", "SET", "rl:__rand_int__",
					"sixteen_bytes_ok").Output()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", tool, err)
				}
				n, err := parseBenchmark(string(out))
				if err != nil {
					return nil, err
				}
				sides[i].values = append(sides[i].values, n)
			}
		}
		about := fmt.Sprintf("redis-benchmark -P %d -c 50 -r 10000, %s", pipeline, r.about)
		name := fmt.Sprintf("%s-set-%d", r.name, pipeline)
		res := weigh(name, about, "/s", b.floor(r.floor), sides[0], sides[1])
		say("%s: ours %.0f/s, redis %.0f/s", res.Name, res.Ours.Value, res.Reference.Value)
		results = append(results, res)
	}
	return results, nil
}

// parseBenchmark parses the requests a second from redis-benchmark's CSV: a line of
// titles and a line of one test.
func parseBenchmark(out string) (perSecond float64, err error) {
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(records) != 2 || len(records[0]) < 2 || records[0][1] != "rps" {
		return 0, fmt.Errorf("not what redis-benchmark --csv writes: %q", out)
	}
	return strconv.ParseFloat(records[1][1], 64)
}
