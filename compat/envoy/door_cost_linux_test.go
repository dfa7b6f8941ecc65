package envoy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/zlimit/zlimit/oracle"
)

var doorCost = flag.Int("door-cost", 0, "calls of a round of TestDoorCost; 0: it does not run")

// TestDoorCost compares the processor time of a decision about two descriptors: of zlimit-server over gRPC and over
// HTTP, and of Envoy's rate limit service together with its redis-server, in alternating rounds, and logs how long
// calls take that come 10,000 times a second. Pin the servers apart from it: taskset -c 1 go test -run TestDoorCost -door-cost 50000 -v; they run on
// processor 0.
func TestDoorCost(t *testing.T) {
	if *doorCost == 0 {
		t.Skip("a benchmark: give it -door-cost 50000")
	}
	policies := t.TempDir()
	file := filepath.Join(policies, "ratelimit", "config", "edge.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("domain: edge\ndescriptors:\n- key: ip\n"+
		"  rate_limit: {unit: minute, requests_per_unit: 1000000}\n- key: path\n  value: /login\n"+
		"  rate_limit: {unit: hour, requests_per_unit: 1000000}\n"), 0o600))

	redisServer := oracle.StartFor(t, oracle.Options{RealTime: true})
	asker := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
	defer asker.Close()
	info, err := asker.Info(t.Context(), "server").Result()
	require.NoError(t, err)
	found := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)
	redisPID, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "ratelimit")
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/envoyproxy/ratelimit").Output()
	require.NoError(t, err)
	buildReference := exec.Command("go", "build", "-o", program, "./src/service_cmd")
	buildReference.Dir = strings.TrimSpace(string(dir)) // with the versions of its own go.mod
	out, err := buildReference.CombinedOutput()
	require.NoError(t, err, "%s", out)
	port := freePort(t)
	reference := pinned(program)
	reference.Env = append(os.Environ(), "DISABLE_STATS=true", "LOG_LEVEL=WARN", "REDIS_SOCKET_TYPE=tcp",
		"REDIS_URL="+redisServer.Addr(), "RUNTIME_ROOT="+policies, "RUNTIME_SUBDIRECTORY=ratelimit",
		"RUNTIME_WATCH_ROOT=false", "GRPC_HOST=127.0.0.1", "GRPC_PORT="+port, "HOST=127.0.0.1",
		"PORT="+freePort(t), "DEBUG_HOST=127.0.0.1", "DEBUG_PORT="+freePort(t), "GOMAXPROCS=1")
	require.NoError(t, reference.Start())
	t.Cleanup(func() { _ = reference.Process.Kill(); _ = reference.Wait() })
	require.NoError(t, exec.Command("taskset", "-p", "-c", "0", found[1]).Run())

	zlimit := filepath.Join(t.TempDir(), "zlimit-server")
	build := exec.Command("go", "build", "-o", zlimit, "./cmd/zlimit-server")
	build.Dir = filepath.Join("..", "..")
	out, err = build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	httpPort := freePort(t)
	pid, door := startPinned(t, zlimit, "--rl-policies", filepath.Dir(file),
		"--rl-http-addr", "127.0.0.1:"+httpPort)

	servers := []struct {
		name string
		call func(t *testing.T) doorCaller
		grpc string // its address, if it speaks that
		pids []int
	}{
		{"zlimit", doorOverGRPC(door), door, []int{pid}},
		{"over HTTP", doorOverHTTP("127.0.0.1:" + httpPort), "", []int{pid}},
		{"reference", doorOverGRPC("127.0.0.1:" + port), "127.0.0.1:" + port, []int{reference.Process.Pid, redisPID}},
	}
	const rounds = 5
	perCall := make([][]time.Duration, len(servers))
	for range rounds {
		for i, s := range servers {
			before := cpuOf(t, s.pids)
			driveDoor(t, s.call, *doorCost)
			perCall[i] = append(perCall[i], (cpuOf(t, s.pids)-before)/time.Duration(*doorCost))
		}
	}
	for i, s := range servers {
		slices.Sort(perCall[i])
		t.Logf("%-9s %v of processor time a call (of %v)", s.name, perCall[i][rounds/2], perCall[i])
	}
	for i, s := range servers[:2] {
		t.Logf("reference / %s: %.1f", s.name, float64(perCall[2][rounds/2])/float64(perCall[i][rounds/2]))
	}
	for _, s := range servers {
		if s.grpc == "" {
			continue
		}
		const rate = 10_000
		times := paceDoor(t, s.grpc, *doorCost, rate)
		calls := len(times)
		t.Logf("%-9s at %d calls a second: half within %v, 99 %% within %v, the slowest %v of %d", s.name, rate,
			times[calls/2], times[calls*99/100], times[calls-1], calls)
	}
}

// pinned returns a command on processor 0.
func pinned(program string, args ...string) *exec.Cmd {
	return exec.Command("taskset", append([]string{"-c", "0", program}, args...)...)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// startPinned starts zlimit-server on processor 0, and returns its process and the address of its door.
func startPinned(t *testing.T, program string, args ...string) (pid int, door string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	script := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho $$ >"+file+"\nexec taskset -c 0 "+program+
		" \"$@\"\n"), 0o700))
	_, door = runZlimit(t, script, append([]string{"--rl-grpc-addr", "127.0.0.1:0"}, args...)...)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid, door
}

// cpuOf returns the processor time of processes.
func cpuOf(t *testing.T, pids []int) (sum time.Duration) {
	t.Helper()
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err)
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.Atoi(f)
			require.NoError(t, err)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// A doorCaller asks about an address.
type doorCaller func(ip string) error

// doorOverGRPC returns what connects to a rate limit service.
func doorOverGRPC(addr string) func(t *testing.T) doorCaller {
	return func(t *testing.T) doorCaller {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		c := pb.NewRateLimitServiceClient(conn)
		return func(ip string) error {
			r, err := c.ShouldRateLimit(context.Background(), request("edge", []string{"ip", ip},
				[]string{"path", "/login"}), grpc.WaitForReady(true))
			if err == nil && len(r.Statuses) != 2 {
				err = fmt.Errorf("%v", r)
			}
			return err
		}
	}
}

// doorOverHTTP returns what connects to rl-http-addr.
func doorOverHTTP(addr string) func(t *testing.T) doorCaller {
	const body = `{"domain":"edge","descriptors":[{"entries":[{"key":"ip","value":%q}]},` +
		`{"entries":[{"key":"path","value":"/login"}]}]}`
	return func(t *testing.T) doorCaller {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		t.Cleanup(c.CloseIdleConnections)
		return func(ip string) error {
			r, err := c.Post("http://"+addr+"/v1/check", "application/json",
				strings.NewReader(fmt.Sprintf(body, ip)))
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, r.Body)
			if err == nil && r.StatusCode != http.StatusOK && r.StatusCode != http.StatusTooManyRequests {
				err = errors.New(r.Status)
			}
			return errors.Join(err, r.Body.Close())
		}
	}
}

// driveDoor makes calls from 16 callers of 4 connections, as fast as they are answered.
func driveDoor(t *testing.T, connect func(*testing.T) doorCaller, calls int) {
	t.Helper()
	const connections, callers = 4, 16
	var all [connections]doorCaller
	for i := range all {
		all[i] = connect(t)
		require.NoError(t, all[i]("first"))
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for i := range callers {
		decide := all[i%connections]
		wait.Go(func() {
			for n := next.Add(1) - 1; n < int64(calls); n = next.Add(1) - 1 {
				if err := decide(strconv.Itoa(int(n % 1000))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}
