package envoy

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/zlimit/zlimit/doors/rls"
)

var cost = flag.Int("rls-cost", 0,
	"calls by which TestRLSCost compares processor times; 0: few, to try the measure")

// costServer names the server that TestRLSCostServer is to be, in a process of its own.
const costServer = "ZLIMIT_RLS_COST_SERVER"

// TestRLSCost logs the processor time of a call to doors/rls, also with decisions that may wait, and to a
// server of grpc-go that decides the same, each a process, called by grpc-go. It asserts nothing about speed.
func TestRLSCost(t *testing.T) {
	calls := max(*cost, 1000)
	for _, connections := range []int{1, 4} {
		for _, server := range []string{"rls", "grpc-go", "rls-waits", "rls", "grpc-go", "rls-waits"} {
			cpu, latency := measureCost(t, server, connections, calls)
			t.Logf("%-9s %d connections: %6v of processor time a call; half within %v, 99 %% within %v",
				server, connections, cpu, latency[len(latency)/2], latency[len(latency)*99/100])
		}
	}
}

// measureCost calls a server, and returns its processor time for each call and the sorted times of the calls.
func measureCost(t *testing.T, server string, connections, calls int) (time.Duration, []time.Duration) {
	command := exec.Command(os.Args[0], "-test.run=^TestRLSCostServer$", "-test.v")
	command.Env = append(os.Environ(), costServer+"="+server)
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines, addr := bufio.NewScanner(stdout), ""
	for addr == "" && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "listening "); ok {
			addr = after
		}
	}
	require.NotEmpty(t, addr)

	const callers = 8 // of each connection
	var (
		mu   sync.Mutex
		all  []time.Duration
		wait sync.WaitGroup
	)
	message := request("domain", []string{"generic_key", "checkout"}, []string{"remote_address", "192.0.2.1"})
	for range connections {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		client := pb.NewRateLimitServiceClient(conn)
		for range callers {
			wait.Go(func() {
				var own []time.Duration
				for range calls / connections / callers {
					begin := time.Now()
					_, err := client.ShouldRateLimit(context.Background(), message)
					if err != nil {
						t.Error(err)
						return
					}
					own = append(own, time.Since(begin))
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, own...)
			})
		}
	}
	wait.Wait()
	require.NoError(t, stdin.Close())
	_, err = io.Copy(io.Discard, stdout)
	require.NoError(t, err)
	require.NoError(t, command.Wait())
	require.NotEmpty(t, all)
	slices.Sort(all)
	state := command.ProcessState
	return (state.UserTime() + state.SystemTime()) / time.Duration(len(all)), all
}

// A grpcServer decides by grpc-go.
type grpcServer struct {
	pb.UnimplementedRateLimitServiceServer
}

func (grpcServer) ShouldRateLimit(_ context.Context, r *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	response := &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_OK}
	for _, d := range r.Descriptors {
		response.Statuses = append(response.Statuses, &pb.RateLimitResponse_DescriptorStatus{
			Code: pb.RateLimitResponse_OK, LimitRemaining: uint32(len(d.Entries)),
		})
	}
	return response, nil
}

// TestRLSCostServer is a server of TestRLSCost, until its input ends.
func TestRLSCostServer(t *testing.T) {
	kind := os.Getenv(costServer)
	if kind == "" {
		t.Skip("for TestRLSCost")
	}
	if strings.HasPrefix(kind, "rls") {
		waits := kind == "rls-waits"
		d := startDoor(t, rls.Options{Waits: func() bool { return waits }}, allowed, nil)
		fmt.Println("listening " + d.addr)
		_, err := io.Copy(io.Discard, os.Stdin)
		require.NoError(t, err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	pb.RegisterRateLimitServiceServer(server, grpcServer{})
	go func() { _ = server.Serve(listener) }()
	fmt.Println("listening " + listener.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
	server.Stop()
}
