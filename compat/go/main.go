// Command go runs the documents' limiters through go-redis and prints one line per decision, as
// compat/README.md describes. It is an ordinary client: it knows nothing about the server.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compat/go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("compat/go", flag.ContinueOnError)
	host := flags.String("host", "127.0.0.1", "server's host")
	port := flags.Int("port", 0, "server's port")
	name := flags.String("flow", "", "flow to run, or all")
	key := flags.String("key", "", "key of the limiter; deleted first")
	list := flags.String("instants", "", "unix milliseconds, separated by commas")
	protocol := flags.Int("protocol", 3, "RESP version, 2 or 3")
	folder := flags.String("tls", "", "folder with ca.crt and, if the client has them, client.crt and .key")
	user := flags.String("user", "", "logs in as this user")
	password := flags.String("password", "", "its password")
	cluster := flags.String("cluster", "no", "yes: the server is a node of a cluster")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *port == 0 || *name == "" || *key == "" {
		return errors.New("--port, --flow and --key are needed")
	}
	given, err := parseInstants(*list)
	if err != nil {
		return err
	}

	secure, err := tlsConfig(*folder)
	if err != nil {
		return err
	}
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{net.JoinHostPort(*host, strconv.Itoa(*port))}, IsClusterMode: *cluster == "yes",
		Protocol: *protocol, TLSConfig: secure, Username: *user, Password: *password,
		// Long enough for a busy machine: a call that was given up and repeated would count twice.
		DialTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		PoolTimeout: time.Minute,
	})
	defer client.Close()

	out := bufio.NewWriter(stdout)
	fmt.Fprintln(out, "client go-redis", redis.Version())
	known := slices.Concat(flows, clusterFlows)
	chosen := flows
	if *cluster == "yes" {
		chosen = known
	}
	if *name != "all" {
		at := slices.IndexFunc(known, func(f flow) bool { return f.name == *name })
		if at < 0 {
			return fmt.Errorf("no flow %q", *name)
		}
		chosen = known[at : at+1]
	}
	for _, f := range chosen {
		if *name == "all" && f.oursOnly {
			continue
		}
		call := call{ctx: ctx, client: client, key: *key, out: out, instants: f.instants}
		if len(given) > 0 {
			call.instants = given
		}
		if *name == "all" {
			call.key += ":" + f.name
			fmt.Fprintln(out, "flow", f.name)
		}
		if err := f.run(call); err != nil {
			// The decisions before the failure help to find it.
			return fmt.Errorf("%s: %w", f.name, errors.Join(err, out.Flush()))
		}
		fmt.Fprintln(out, "end")
	}
	return out.Flush()
}

// tlsConfig returns the configuration of a connection over TLS, or nil without --tls.
func tlsConfig(folder string) (*tls.Config, error) {
	if folder == "" {
		return nil, nil
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "client.crt"), filepath.Join(folder, "client.key"))
	if errors.Is(err, fs.ErrNotExist) {
		return config, nil
	}
	config.Certificates = []tls.Certificate{pair}
	return config, err
}

func parseInstants(list string) ([]int64, error) {
	if list == "" {
		return nil, nil
	}
	var instants []int64
	for field := range strings.SplitSeq(list, ",") {
		instant, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--instants: %w", err)
		}
		instants = append(instants, instant)
	}
	return instants, nil
}
