package envoy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// callTimeout bounds a call to the server. It is far longer than a busy machine needs.
const callTimeout = time.Minute

// zlimitHeaders are the header names that rl-door-headers adds.
var zlimitHeaders = [3]string{"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}

// zlimitServer is a zlimit-server process as a Decider.
type zlimitServer struct {
	dir   string // of its policies
	redis *redis.Client
	grpc  pb.RateLimitServiceClient
	nowMs int64
}

var readyLine = regexp.MustCompile(`^ready port=(\d+) .* grpc=(.*)$`)

// buildZlimit returns the path of zlimit-server: that of the environment variable ZLIMIT_SERVER, which
// compat/run sets, or one that it builds.
func buildZlimit(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("ZLIMIT_SERVER"); program != "" {
		return program
	}
	program := filepath.Join(t.TempDir(), "zlimit-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", program, "./cmd/zlimit-server")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// startZlimit starts zlimit-server with the clock at nowMs.
func startZlimit(t *testing.T, program string, nowMs int64) *zlimitServer {
	t.Helper()
	dir := t.TempDir()
	s := &zlimitServer{dir: filepath.Join(dir, "policies"), nowMs: nowMs}
	require.NoError(t, os.Mkdir(s.dir, 0o700))
	require.NoError(t, s.write(map[string]string{"first.yaml": "domain: first\n"}))
	addr, door := runZlimit(t, program, "--dir", dir, "--rl-policies", s.dir, "--rl-grpc-addr", "127.0.0.1:0",
		"--rl-door-headers", "yes", "--rl-door-metadata", "yes", "--enable-debug-command", "yes")

	s.redis = redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: callTimeout, MaxRetries: -1})
	t.Cleanup(func() { s.redis.Close() })
	conn, err := grpc.NewClient(door, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	s.grpc = pb.NewRateLimitServiceClient(conn)
	require.NoError(t, s.do("DEBUG", "CLOCK", "FREEZE"))
	require.NoError(t, s.do("DEBUG", "CLOCK", "SET", nowMs))
	return s
}

// runZlimit runs program until the test ends and returns its addresses, once it is ready.
func runZlimit(t *testing.T, program string, args ...string) (redisAddr, grpcAddr string) {
	t.Helper()
	args = append([]string{"--bind", "127.0.0.1", "--port", "0", "--ready-line", "yes"}, args...)
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				for lines.Scan() { // its log must not fill the pipe
					continue
				}
			}()
			t.Cleanup(func() {
				_ = cmd.Process.Kill() // it may have ended
				<-drained
				_ = cmd.Wait() // killed
			})
			return "127.0.0.1:" + m[1], m[2]
		}
	}
	err = cmd.Wait()
	require.Fail(t, "zlimit-server ended", "%v: %s", err, &stderr)
	return "", ""
}

func (s *zlimitServer) do(args ...any) error {
	if err := s.redis.Do(context.Background(), args...).Err(); err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return nil
}

// write makes files the only files of the directory.
func (s *zlimitServer) write(files map[string]string) error {
	former, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range former {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, f.Name())))
	}
	for name, content := range files {
		file := filepath.Join(s.dir, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700))
		err = errors.Join(err, os.WriteFile(file, []byte(content), 0o600))
	}
	return err
}

// Load writes files and makes the server read them.
func (s *zlimitServer) Load(files map[string]string) error {
	if err := s.write(files); err != nil {
		return err
	}
	return s.do("RL.POLICY", "RELOAD")
}

// Decide asks the server over gRPC.
func (s *zlimitServer) Decide(r *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return s.grpc.ShouldRateLimit(ctx, r)
}

// Advance sets the server's clock.
func (s *zlimitServer) Advance(d time.Duration) error {
	s.nowMs += d.Milliseconds()
	return s.do("DEBUG", "CLOCK", "SET", s.nowMs)
}
