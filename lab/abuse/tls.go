package abuse

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/zlimit/zlimit/testca"
)

// CertificateDirectives writes a server's certificate to dir and returns the directives
// that name it.
func CertificateDirectives(dir string) ([]string, error) {
	ca, err := testca.New("abuse")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Issue(testca.Leaf{Name: "localhost"})
	if err != nil {
		return nil, err
	}
	caFile, err := ca.Write(dir, "ca.crt")
	if err != nil {
		return nil, err
	}
	cert, key, err := pair.Write(dir, "server")
	return []string{
		"--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", caFile, "--tls-auth-clients", "no",
	}, err
}

// clientHello returns the first bytes of a TLS client.
func clientHello() ([]byte, error) {
	client, server := net.Pipe()
	defer server.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tls.Client(client, &tls.Config{ServerName: "localhost"}).Handshake() // nobody answers
	}()
	header := make([]byte, 5)
	if _, err := io.ReadFull(server, header); err != nil {
		return nil, err
	}
	rest := make([]byte, int(header[3])<<8|int(header[4]))
	if _, err := io.ReadFull(server, rest); err != nil {
		return nil, err
	}
	client.Close()
	<-ended
	return append(header, rest...), nil
}

// handshakes begins TLS handshakes that never end, after nothing, after half of the
// first message, or after all of it. Some are held, others given up.
func handshakes(ctx context.Context, t *Target) error {
	hello, err := clientHello()
	if err != nil {
		return err
	}
	if t.TLSAddr == "" {
		return errors.New("no port for TLS")
	}
	begin := func(n int) ([]*Client, error) {
		all, err := t.open(n, func() (*Client, error) { return Dial(t.TLSAddr, "") })
		for i, c := range all {
			if err := c.Send(hello[:len(hello)/2*(i%3)]); err != nil {
				return all, err
			}
		}
		return all, err
	}
	held, err := begin(t.Size / 10)
	defer func() { closeAll(held) }()
	if err != nil {
		return err
	}
	return t.rounds(ctx, func(int) error {
		some, err := begin(t.Size / 100)
		closeAll(some)
		if err != nil {
			return err
		}
		return pause(ctx, t, 100*time.Millisecond)
	})
}
