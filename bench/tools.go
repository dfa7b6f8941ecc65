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

	"github.com/zlimit/zlimit/testca"
)

// otherRows returns the rows that are neither closed loops nor scenes.
func otherRows() []row {
	return []row{
		{name: "inside", about: "what a Go program that embeds zlimit gets", measure: inside, floor: 1},
		{name: "cores", about: "two cores against one, on keys of both", measure: cores, floor: 1.8},
		{name: "memory", about: "resident memory of limiters' keys", measure: memory, floor: 1},
		{name: "start", about: "from the start to the first answer", measure: start, floor: 1},
		{
			name: "start-log", about: "the same, with a log that RL.ALLOW has written", measure: startFromLog,
			floor: 1, byName: true,
		},
		{name: "benchmark", about: "for those who do not trust this client", measure: redisBenchmark},
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
		seconds, err := b.starts(ctx, p, nil, nil)
		if err != nil {
			return nil, err
		}
		for i := range seconds {
			seconds[i] *= 1000
		}
		floor := r.floor
		if p != ourServer {
			floor = 0
		}
		results = append(results, weigh(r.name+"-"+string(p), r.about, "ms", floor,
			series{string(p), seconds}, bound(allowedMs, b.rounds)))
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

// starts starts a program once for each round, and returns the seconds until its first answer. check, if not
// nil, looks at the server.
func (b *bench) starts(
	ctx context.Context, p program, flags []string, check func(*serverProcess) error,
) (seconds []float64, err error) {
	for range b.rounds {
		began := time.Now()
		s, err := b.start(ctx, contender{program: p, flags: flags})
		if err != nil {
			return nil, err
		}
		if check != nil {
			err = check(s)
		}
		s.stop()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		seconds = append(seconds, s.answered.Sub(began).Seconds())
	}
	return seconds, nil
}

// logBytes is the size of the log that start-log starts from.
const logBytes = 1e9

// startFromLog has our server write a log of RL.ALLOW on a million keys, and compares how long either server
// takes to start from it. Nothing else goes on, so that they need not take turns.
func startFromLog(ctx context.Context, b *bench, r row, _ say) ([]result, error) {
	flags := logFlags(r.name, "no")
	s, err := b.start(ctx, contender{program: ourServer, flags: flags})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	size := int64(0)
	for pick := uniform(1_000_000, 0); size < logBytes; {
		l := &load{
			address: s.address, flow: rlAllow, pipeline: 100, connections: 10, keys: pick, flows: 200_000,
			quota: quota{limit: 1_000_000, windowMs: 3_600_000},
		}
		if _, err := l.run(ctx); err != nil {
			return nil, err
		}
		if size, err = folderSize(filepath.Join(b.dir, r.name)); err != nil {
			return nil, err
		}
	}
	filled, err := s.ask("DBSIZE")
	if err != nil {
		return nil, err
	}
	s.stop()
	var sides [2]series
	for i, p := range []program{ourServer, redisServer} {
		seconds, err := b.starts(ctx, p, flags,
			func(s *serverProcess) error { return s.command(filled, "DBSIZE") })
		if err != nil {
			return nil, err
		}
		sides[i] = series{string(p), seconds}
	}
	about := fmt.Sprintf("%s: %d MB, %s keys", r.about, size/1e6, filled)
	return []result{weigh(r.name, about, "s", r.target(b.quick), sides[0], sides[1])}, nil
}

// folderSize returns the size of the files in a folder.
func folderSize(folder string) (size int64, err error) {
	files, err := os.ReadDir(folder)
	for _, f := range files {
		info, infoErr := f.Info()
		if err = errors.Join(err, infoErr); infoErr == nil {
			size += info.Size()
		}
	}
	return size, err
}

// A toolRun is what redis-benchmark sends to both servers.
type toolRun struct {
	name        string
	ours, redis []string
	pipeline    int
	tls         []string // flags of the tool, if the servers listen for TLS
	flags       []string // of the servers
}

const toolKey = "rl:__rand_int__"

// redisBenchmark runs the tool that comes with Redis.
func redisBenchmark(ctx context.Context, b *bench, r row, say say) (results []result, err error) {
	nowMs := strconv.FormatInt(time.Now().UnixMilli(), 10)
	evalsha := []string{"EVALSHA", shaOf(script), "1", toolKey, nowMs, "60000", "100"}
	for _, run := range []toolRun{
		{name: "ping", ours: []string{"PING"}},
		{name: "set", ours: []string{"SET", toolKey, "sixteen_bytes_ok"}},
		{name: "incr", ours: []string{"INCR", toolKey}},
		{name: "evalsha", ours: evalsha},
		{name: "allow", ours: []string{"RL.ALLOW", toolKey, "100", "60000"}, redis: evalsha},
	} {
		run.pipeline = 16
		res, err := b.tool(ctx, r, run, say)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", run.name, err)
		}
		results = append(results, res)
	}
	return results, nil
}

// overTLS runs it over TLS. The closed loop of the other rows makes its system calls itself and has no TLS.
// Server and client have the same certificate.
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
	for _, pipeline := range []int{1, 16} {
		res, err := b.tool(ctx, r, toolRun{
			name: fmt.Sprint("set-", pipeline), pipeline: pipeline,
			ours:  []string{"SET", toolKey, "sixteen_bytes_ok"},
			tls:   []string{"--tls", "--cacert", ca, "--cert", cert, "--key", key},
			flags: []string{"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca},
		}, say)
		if err != nil {
			return nil, fmt.Errorf("pipeline %d: %w", pipeline, err)
		}
		results = append(results, res)
	}
	return results, nil
}

// tool compares what redis-benchmark says of our server and of Redis, in turns.
func (b *bench) tool(ctx context.Context, r row, run toolRun, say say) (res result, err error) {
	tool, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return res, fmt.Errorf("redis-benchmark is needed and was not found (Debian: apt-get install "+
			"redis-tools): %w", err)
	}
	commands := [2][]string{run.ours, run.redis}
	if run.redis == nil {
		commands[1] = run.ours
	}
	var ports [2]string
	sides := [2]series{{name: string(ourServer)}, {name: string(redisServer)}}
	for i := range sides {
		flags := run.flags
		if run.tls != nil {
			if ports[i], err = freePort(); err != nil {
				return res, err
			}
			flags = append(slices.Clip(flags), "--tls-port", ports[i])
		}
		s, err := b.start(ctx, contender{program: program(sides[i].name), flags: flags})
		if err != nil {
			return res, err
		}
		defer s.stop()
		if ports[i] == "" {
			_, ports[i], _ = strings.Cut(s.address, ":")
		}
		if _, err := s.ask("SCRIPT", "LOAD", script); err != nil {
			return res, err
		}
	}
	// redis-benchmark retries a dead server forever.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.rounds)*time.Minute)
	defer cancel()
	for range b.rounds {
		for _, i := range b.shuffle.Perm(len(sides)) {
			call := slices.Concat([]string{
				"-p", ports[i], "-c", "50", "-P", strconv.Itoa(run.pipeline), "-r", "10000", "-n",
				strconv.Itoa(min(200_000, run.pipeline*50_000)), "--csv",
			}, run.tls, commands[i])
			out, err := exec.CommandContext(ctx, tool, call...).Output()
			if err != nil {
				return res, err
			}
			n, err := parseBenchmark(string(out))
			if err != nil {
				return res, err
			}
			sides[i].values = append(sides[i].values, n)
		}
	}
	about := fmt.Sprintf("redis-benchmark -P %d -c 50 -r 10000, %s", run.pipeline, r.about)
	res = weigh(r.name+"-"+run.name, about, "/s", r.target(b.quick), sides[0], sides[1])
	say("%s: ours %s, redis %s", run.name, quantity(res.Ours.Value, "/s"),
		quantity(res.Reference.Value, "/s"))
	return res, nil
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
