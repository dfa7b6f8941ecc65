//go:build unix

package lua_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/scripting/lua"
)

// BenchmarkSources measures functions about one feature each. It reports how many times as fast as lua5.1 and
// redis-server they run, all three by processor time.
func BenchmarkSources(b *testing.B) {
	redis := startRedis(b)
	all := sources(b, "benchmarks")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		source := all[name]
		b.Run(name, func(b *testing.B) {
			s := lua.NewState()
			s.OpenLibraries()
			s.UseArena(64<<10, 16)
			fn, err := s.Load(source, "@bench")
			require.NoError(b, err)
			L := s.Main()
			b.ReportAllocs()
			start := processorTime(b)
			for b.Loop() {
				s.Reset()
				L.Push(lua.FunctionValue(fn))
				if err := L.PCall(0, lua.Nil); err != nil {
					b.Fatal(err)
				}
			}
			perRun := (processorTime(b) - start) / float64(b.N)
			b.ReportMetric(perRun*1e9, "cpu-ns/op")
			if c := clock(b, source); c > 0 {
				b.ReportMetric(c/perRun, "of-lua5.1")
			}
			if c := evalTime(b, redis, source); c > 0 {
				b.ReportMetric(c/perRun, "of-redis")
			}
		})
	}
}

// processorTime returns the seconds of processor time that this process has taken, collections included.
func processorTime(b *testing.B) float64 {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	nanoseconds := syscall.TimevalToNsec(usage.Utime) + syscall.TimevalToNsec(usage.Stime)
	return float64(nanoseconds) / 1e9
}

// clock returns the seconds of processor time that one run of a source takes lua5.1, or 0 without one.
func clock(b *testing.B, source string) float64 {
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		return 0
	}
	program := fmt.Sprintf(`local f, n, start = function() %s end, 0, os.clock()
repeat f() n = n + 1 until os.clock() - start > 0.3
print((os.clock() - start) / n)`, source)
	out, err := exec.Command(path, "-e", program).Output()
	require.NoError(b, err)
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	require.NoError(b, err)
	return seconds
}

// A redisServer is a connection to a redis-server, or nil where there is none.
type redisServer struct {
	net.Conn
	r *bufio.Reader
}

func startRedis(b *testing.B) *redisServer {
	if oracle.FindRealTime() != nil {
		return nil
	}
	redis, err := oracle.Start(oracle.Options{RealTime: true})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, redis.Close()) })
	conn, err := redis.Dial()
	require.NoError(b, err)
	return &redisServer{conn, bufio.NewReader(conn)}
}

// send sends a command and returns its reply, which is one line or a bulk string.
func (c *redisServer) send(b *testing.B, args ...string) string {
	_, err := fmt.Fprintf(c, "*%d\r\n", len(args))
	require.NoError(b, err)
	for _, a := range args {
		_, err := fmt.Fprintf(c, "$%d\r\n%s\r\n", len(a), a)
		require.NoError(b, err)
	}
	line, err := c.r.ReadString('\n')
	require.NoError(b, err)
	require.NotEqual(b, "-", line[:1], line)
	if line[0] != '$' {
		return line
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	require.NoError(b, err)
	body := make([]byte, n+2)
	_, err = io.ReadFull(c.r, body)
	require.NoError(b, err)
	return string(body)
}

var cpu = regexp.MustCompile(`used_cpu_user_main_thread:([0-9.]+)`)

func (c *redisServer) processorTime(b *testing.B) float64 {
	seconds, err := strconv.ParseFloat(cpu.FindStringSubmatch(c.send(b, "INFO", "cpu"))[1], 64)
	require.NoError(b, err)
	return seconds
}

// evalTime returns the seconds of processor time that one run of a source takes in a script of redis-server,
// or 0 without one.
func evalTime(b *testing.B, c *redisServer, source string) float64 {
	if c == nil {
		return 0
	}
	for n := 10; ; n *= 4 {
		script := fmt.Sprintf("local f = function() %s end for i = 1, %d do f() end return 1", source, n)
		start := c.processorTime(b)
		c.send(b, "EVAL", script, "0")
		if spent := c.processorTime(b) - start; spent > 0.25 {
			return spent / float64(n)
		}
	}
}
