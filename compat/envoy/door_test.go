package envoy

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/zlimit/zlimit/testca"
)

// These tests call zlimit-server's door as Envoy does, with what surrounds a decision: users, certificates,
// pauses, reloads, an upstream.

const doorPolicies = `
domain: edge
descriptors:
  - key: ip
    rate_limit: {unit: day, requests_per_unit: %d}
---
domain: other
descriptors:
  - key: ip
    rate_limit: {unit: day, requests_per_unit: 1}
`

// A doorServer is zlimit-server with a door.
type doorServer struct {
	t     *testing.T
	file  string
	grpc  string
	redis *redis.Client
}

func startDoorServer(t *testing.T, args ...string) *doorServer {
	t.Helper()
	s := &doorServer{t: t, file: filepath.Join(t.TempDir(), "policies.yaml")}
	s.write(3)
	addr, grpcAddr := runZlimit(t, buildZlimit(t), append([]string{
		"--rl-policies", s.file, "--rl-grpc-addr", "127.0.0.1:0",
	}, args...)...)
	s.grpc = grpcAddr
	s.redis = redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: callTimeout, MaxRetries: -1, Password: "secret"})
	t.Cleanup(func() { s.redis.Close() })
	return s
}

// write writes the policies, with a limit for each address.
func (s *doorServer) write(limit int) {
	s.t.Helper()
	next := s.file + ".next" // replaced as a whole, for who reads it now
	require.NoError(s.t, os.WriteFile(next, fmt.Appendf(nil, doorPolicies, limit), 0o600))
	require.NoError(s.t, os.Rename(next, s.file))
}

func (s *doorServer) do(args ...any) {
	s.t.Helper()
	require.NoError(s.t, s.redis.Do(s.t.Context(), args...).Err(), "%v", args)
}

func (s *doorServer) client(creds credentials.TransportCredentials) pb.RateLimitServiceClient {
	s.t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(creds))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	return pb.NewRateLimitServiceClient(conn)
}

// doorAnswer returns the code of a decision, or of its error.
func doorAnswer(ctx context.Context, c pb.RateLimitServiceClient, domain, ip string) string {
	r, err := c.ShouldRateLimit(ctx, request(domain, []string{"ip", ip}))
	if err != nil {
		return status.Code(err).String()
	}
	return r.OverallCode.String()
}

func TestDoorUsers(t *testing.T) {
	s := startDoorServer(t, "--requirepass", "secret", "--rl-door-user", "envoy")
	c := s.client(insecure.NewCredentials())
	as := func(header string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
	}
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	require.Equal(t, codes.Unauthenticated.String(), doorAnswer(t.Context(), c, "edge", "a"), "no such user")
	s.do("ACL", "SETUSER", "envoy", "on", ">pass", "~edge_*", "+rl.check")
	require.Equal(t, "OK", doorAnswer(t.Context(), c, "edge", "a"))
	require.Equal(t, codes.PermissionDenied.String(), doorAnswer(t.Context(), c, "other", "a"))
	require.Equal(t, "OK", doorAnswer(as(basic("default:secret")), c, "other", "a"))
	require.Equal(t, "OK", doorAnswer(as("Bearer secret"), c, "other", "b"))
	require.Equal(t, codes.Unauthenticated.String(), doorAnswer(as(basic("default:wrong")), c, "other", "a"))
	s.do("ACL", "SETUSER", "envoy", "+@all", "~*")
	require.Equal(t, "OVER_LIMIT", doorAnswer(t.Context(), c, "other", "a"), "rights follow")
	s.do("ACL", "DELUSER", "envoy")
	require.Equal(t, codes.Unauthenticated.String(), doorAnswer(t.Context(), c, "edge", "a"))
}

func TestDoorTLS(t *testing.T) {
	ca, err := testca.New("ca")
	require.NoError(t, err)
	dir := t.TempDir()
	caFile, err := ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	issue := func(name string) (certFile, keyFile string) {
		pair, err := ca.Issue(testca.Leaf{Name: name})
		require.NoError(t, err)
		certFile, keyFile, err = pair.Write(dir, name)
		require.NoError(t, err)
		return certFile, keyFile
	}
	cert, key := issue("127.0.0.1")
	s := startDoorServer(t, "--rl-door-tls", "yes", "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", caFile, "--requirepass", "secret")
	s.do("ACL", "SETUSER", "envoy", "on", "nopass", "~edge_*", "+rl.check")
	over := func(name string) credentials.TransportCredentials {
		config := &tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
		if name != "" {
			cert, key := issue(name)
			pair, err := tls.LoadX509KeyPair(cert, key)
			require.NoError(t, err)
			config.Certificates = []tls.Certificate{pair}
		}
		return credentials.NewTLS(config)
	}
	require.Equal(t, "OK", doorAnswer(t.Context(), s.client(over("envoy")), "edge", "a"))
	require.Equal(t, codes.PermissionDenied.String(), doorAnswer(t.Context(), s.client(over("envoy")), "other", "a"))
	require.Equal(t, codes.Unauthenticated.String(), doorAnswer(t.Context(), s.client(over("somebody")), "edge", "a"))
	require.Equal(t, codes.Unavailable.String(), doorAnswer(t.Context(), s.client(over("")), "edge", "a"),
		"tls-auth-clients wants a certificate")
	require.Equal(t, codes.Unavailable.String(),
		doorAnswer(t.Context(), s.client(insecure.NewCredentials()), "edge", "a"))
}

// doorBlocked is a client of the door that waits, in CLIENT LIST.
var doorBlocked = regexp.MustCompile(`(?m)name=door .* flags=b`)

// TestDoorPause has a decision wait while CLIENT PAUSE postpones writes.
func TestDoorPause(t *testing.T) {
	s := startDoorServer(t)
	c := s.client(insecure.NewCredentials())
	require.Equal(t, "OK", doorAnswer(t.Context(), c, "edge", "a"))
	s.do("CLIENT", "PAUSE", "1000000", "WRITE")
	answered := make(chan string, 1)
	go func() { answered <- doorAnswer(t.Context(), c, "edge", "a") }()
	for blocked := false; !blocked; {
		require.Empty(t, answered)
		list, err := s.redis.ClientList(t.Context()).Result()
		require.NoError(t, err)
		blocked = doorBlocked.MatchString(list)
	}
	s.do("CLIENT", "UNPAUSE")
	require.Equal(t, "OK", <-answered)
}

// TestDoorReload has 64 connections decide while the policies are read again and again: no call fails, and the
// counter goes on.
func TestDoorReload(t *testing.T) {
	s := startDoorServer(t)
	const connections, calls, lower, upper = 64, 40, 100, 200
	s.write(lower)
	s.do("RL.POLICY", "RELOAD")
	var group sync.WaitGroup
	var allowed atomic.Int64
	failures := make([]error, connections)
	for i := range connections {
		c := s.client(insecure.NewCredentials())
		group.Go(func() {
			for range calls {
				r, err := c.ShouldRateLimit(t.Context(), request("edge", []string{"ip", "a"}))
				if failures[i] = errors.Join(failures[i], err); err != nil {
					return
				}
				if r.OverallCode == pb.RateLimitResponse_OK {
					allowed.Add(1)
				}
			}
		})
	}
	for i := range 50 {
		s.write([]int{lower, upper}[i%2])
		s.do("RL.POLICY", "RELOAD")
	}
	group.Wait()
	require.NoError(t, errors.Join(failures...))
	require.GreaterOrEqual(t, allowed.Load(), int64(lower))
	require.LessOrEqual(t, allowed.Load(), int64(upper))
	count, err := s.redis.Get(t.Context(), "edge_ip_a_day").Int()
	require.NoError(t, err)
	require.Equal(t, connections*calls, count, "denied hits count, too")
}

// TestDoorDescriptors has more connections to both doors than the limit of open files: clients of Redis' protocol
// are accepted all the same.
func TestDoorDescriptors(t *testing.T) {
	policies, script := filepath.Join(t.TempDir(), "p.yaml"), filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.WriteFile(policies, fmt.Appendf(nil, doorPolicies, 1), 0o600))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nulimit -n 256 && exec "+buildZlimit(t)+
		" \"$@\"\n"), 0o700))
	addr, door := runZlimit(t, script, "--rl-policies", policies, "--rl-grpc-addr", "127.0.0.1:0")
	for range 300 {
		conn, err := net.Dial("tcp", door)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		_ = err // one that is too many may be closed already
	}
	client := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: callTimeout, MaxRetries: -1})
	defer client.Close()
	require.NoError(t, client.Ping(t.Context()).Err())
	most, err := client.ConfigGet(t.Context(), "maxclients").Result()
	require.NoError(t, err)
	if most["maxclients"] == "10000" {
		t.Skip("the limit of open files could be raised, so that there are enough")
	}
}

// TestDoorOverUpstream has a gateway before a redis-server decide.
func TestDoorOverUpstream(t *testing.T) {
	upstream := redisServer(t)
	s := startDoorServer(t, "--upstream", "redis+single://"+upstream)
	c := s.client(insecure.NewCredentials())
	for _, want := range []string{"OK", "OK", "OK", "OVER_LIMIT"} {
		require.Equal(t, want, doorAnswer(t.Context(), c, "edge", "upstream"))
	}
	behind := redis.NewClient(&redis.Options{Addr: upstream})
	defer behind.Close()
	count, err := behind.Get(t.Context(), "edge_ip_upstream_day").Result()
	require.NoError(t, err)
	require.Equal(t, "4", count)
	r, err := c.ShouldRateLimit(t.Context(), request("edge", []string{"ip", "upstream"}, []string{"ip", "fresh"}))
	require.NoError(t, err)
	require.Equal(t, []pb.RateLimitResponse_Code{pb.RateLimitResponse_OVER_LIMIT, pb.RateLimitResponse_OK},
		[]pb.RateLimitResponse_Code{r.Statuses[0].Code, r.Statuses[1].Code})
}

func TestDoorUnknownDomain(t *testing.T) {
	s := startDoorServer(t, "--rl-policy-unknown-domain", "refuse")
	c := s.client(insecure.NewCredentials())
	require.Equal(t, codes.NotFound.String(), doorAnswer(t.Context(), c, "nowhere", "a"))
	require.Equal(t, "OK", doorAnswer(t.Context(), c, "edge", "a"))
}
