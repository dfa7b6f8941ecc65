package envoy

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/rls"
)

// A decider decides by a function.
type decider func(*doors.Request, *doors.Response) error

func (d decider) Decide(request *doors.Request, response *doors.Response) error {
	return d(request, response)
}

// Allow is not asked for over gRPC.
func (decider) Allow(*doors.KeyRequest, *doors.KeyDecision) error { panic("asked about a key") }

func (decider) Close() {}

// A door is a listener of doors/rls.
type door struct {
	server *rls.Server
	addr   string
	mu     sync.Mutex
	logins []doors.Credentials
	errors []error
}

// startDoor serves opts, with TLS if it has a configuration, until the test ends.
func startDoor(t testing.TB, opts rls.Options, decide decider, secure *tls.Config) *door {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &door{addr: listener.Addr().String()}
	if opts.Login == nil {
		opts.Login = func(c doors.Credentials) (doors.Client, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.logins = append(d.logins, c)
			return decide, nil
		}
	}
	opts.Log = t.Logf
	d.server = rls.New(&opts)
	var serving sync.WaitGroup
	serving.Add(1)
	go func() {
		defer serving.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { d.serve(conn, secure) })
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.server.Shutdown(ctx) // may have been called before
		serving.Wait()
	})
	return d
}

func (d *door) serve(conn net.Conn, secure *tls.Config) {
	name := ""
	if secure != nil {
		over := tls.Server(conn, secure)
		if err := over.Handshake(); err != nil {
			conn.Close()
			return
		}
		if certs := over.ConnectionState().PeerCertificates; len(certs) > 0 {
			name = certs[0].Subject.CommonName
		}
		conn = over
	}
	err := d.server.Serve(conn, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.errors = append(d.errors, err)
	}
}

// dial returns a connection of grpc-go to a door.
func (d *door) dial(t testing.TB, secure *tls.Config, more ...grpc.DialOption) *grpc.ClientConn {
	creds := insecure.NewCredentials()
	if secure != nil {
		creds = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient(d.addr, append(more, grpc.WithTransportCredentials(creds))...)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// client returns Envoy's generated client of a door.
func (d *door) client(t testing.TB) pb.RateLimitServiceClient {
	return pb.NewRateLimitServiceClient(d.dial(t, nil))
}

// allowed answers OK for each descriptor, and says in what remains how many entries it has.
func allowed(request *doors.Request, response *doors.Response) error {
	response.Code, response.Binding, response.Statuses = doors.OK, -1, response.Statuses[:0]
	for _, d := range request.Descriptors {
		response.Statuses = append(response.Statuses,
			doors.Status{Code: doors.OK, Remaining: uint32(len(d.Entries))})
	}
	return nil
}
