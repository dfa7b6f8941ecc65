package envoy

import (
	"context"
	"flag"
	"fmt"
	"net"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"github.com/zlimit/zlimit/oracle"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var (
	seedFlag      = flag.Uint64("seed", 1, "the seed of the first history")
	historiesFlag = flag.Int("histories", 100, "histories that are compared")
	nowFlag       = flag.Int64("now", startMs, "the instant at which they begin, in Unix milliseconds")
)

const startMs = 1_700_000_000_123

// redisServer starts a redis-server for the test and returns its address.
func redisServer(t *testing.T) string {
	t.Helper()
	return oracle.StartFor(t, oracle.Options{RealTime: true}).Addr()
}

func newReference(t *testing.T, addr string, o Options) *Reference {
	t.Helper()
	r, err := NewReference(addr, *nowFlag, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// compareAll compares the histories of n seeds. Its error has the first difference and the
// flags that repeat it.
func compareAll(want, got Decider, first uint64, n int, m Mode) error {
	now := *nowFlag
	for i := range n {
		h := Generate(first+uint64(i), now, m)
		if err := Compare(want, got, h); err != nil {
			return fmt.Errorf("-seed %d -now %d -histories 1: %w", h.Seed, now, err)
		}
		now = h.EndMs
	}
	return nil
}

func TestReferenceIsItself(t *testing.T) {
	addr := redisServer(t)
	for name, m := range map[string]Mode{"apart": {Apart: true}, "underscores": historiesMode, "shared": {}} {
		t.Run(name, func(t *testing.T) {
			t.Logf("seeds from %d", *seedFlag)
			o := Options{Headers: true, Metadata: true}
			a, b := newReference(t, addr, o), newReference(t, addr, o)
			require.NoError(t, compareAll(a, b, *seedFlag, *historiesFlag, m))
		})
	}
}

// overGRPC is a Reference behind a connection.
type overGRPC struct {
	*Reference
	client pb.RateLimitServiceClient
}

func (o overGRPC) Decide(r *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	return o.client.ShouldRateLimit(context.Background(), r)
}

// TestReferenceOverGRPC requires that answers and errors are equal over a connection, as
// zlimit-server's are compared.
func TestReferenceOverGRPC(t *testing.T) {
	addr := redisServer(t)
	o := Options{Headers: true, Metadata: true}
	r := newReference(t, addr, o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	pb.RegisterRateLimitServiceServer(server, r.service)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	got := overGRPC{r, pb.NewRateLimitServiceClient(conn)}
	require.NoError(t, compareAll(newReference(t, addr, o), got, *seedFlag, 30, Mode{Apart: true}))
	require.NoError(t, conn.Close())
	server.Stop()
	require.NoError(t, <-served)
}
