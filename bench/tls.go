package main

import (
	"context"
	"fmt"
	"net"

	"github.com/zlimit/zlimit/testca"
)

// overTLS runs redis-benchmark over TLS. The closed loop of the other rows makes its
// system calls itself and has no TLS.
func overTLS(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	secure, err := newTLSFlags(b.dir)
	if err != nil {
		return nil, err
	}
	set := []string{"SET", "rl:__rand_int__", "sixteen_bytes_ok"}
	var results []result
	for _, pipeline := range []int{1, 16} {
		perSecond, err := b.tool(ctx, toolRun{ours: set, redis: set, pipeline: pipeline, secure: secure})
		if err != nil {
			return nil, fmt.Errorf("pipeline %d: %w", pipeline, err)
		}
		ours := figure{Name: "ours", Value: median(perSecond[0])}
		theirs := figure{Name: "redis", Value: median(perSecond[1])}
		say("SET, pipeline %d: ours %s/s, redis %s/s", pipeline, thousands(ours.Value),
			thousands(theirs.Value))
		res := higher(fmt.Sprintf("%s-set-%d", r.name, pipeline),
			fmt.Sprintf("redis-benchmark --tls -P %d -c 50 -r 10000", pipeline), "/s", r.floor, ours, theirs)
		res.Ratio = compare(perSecond[0], perSecond[1])
		results = append(results, res)
	}
	return results, nil
}

// tlsFlags are the flags of servers and clients with certificates of one authority.
// A nil one has none.
type tlsFlags struct{ ca, cert, key string }

// newTLSFlags writes certificates to files. Server and client have the same.
func newTLSFlags(dir string) (*tlsFlags, error) {
	ca, err := testca.New("bench authority")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Issue(testca.Leaf{Name: "bench"})
	if err != nil {
		return nil, err
	}
	var f tlsFlags
	if f.ca, err = ca.Write(dir, "ca.crt"); err != nil {
		return nil, err
	}
	f.cert, f.key, err = pair.Write(dir, "bench")
	return &f, err
}

// server returns the flags of a server. It gets its port for TLS later, because
// each attempt to start it has another port.
func (f *tlsFlags) server() []string {
	if f == nil {
		return nil
	}
	return []string{"--tls-cert-file", f.cert, "--tls-key-file", f.key, "--tls-ca-cert-file", f.ca}
}

// client returns the port to connect to and redis-benchmark's flags. It opens the
// server's port for TLS if it has none.
func (f *tlsFlags) client(s *serverProcess) (port string, flags []string, err error) {
	if f == nil {
		_, port, err = net.SplitHostPort(s.address)
		return port, nil, err
	}
	flags = []string{"--tls", "--cacert", f.ca, "--cert", f.cert, "--key", f.key}
	if s.tlsPort != "" {
		return s.tlsPort, flags, nil
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	if _, port, err = net.SplitHostPort(l.Addr().String()); err == nil {
		err = l.Close()
	}
	if err == nil {
		_, err = s.ask("CONFIG", "SET", "tls-port", port)
	}
	s.tlsPort = port
	return port, flags, err
}
