//go:build unix

package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

const hardenedFile = "../../docs/hardened.conf"

// A hardened server runs with docs/hardened.conf. Its users have their names as passwords.
type hardened struct {
	*process
	ca     *testca.Authority
	client tls.Certificate
}

// startHardened starts a server with the file. What must differ are paths, passwords and
// ports.
func startHardened(t *testing.T, passwords bool) *hardened {
	t.Helper()
	text, err := os.ReadFile(hardenedFile)
	require.NoError(t, err)
	dir := t.TempDir()
	config := strings.ReplaceAll(string(text), "/var/lib/zlimit/", dir+"/")
	for _, user := range []string{"limiter", "operator", "metrics"} {
		plain := "\nuser " + user + " on "
		require.Contains(t, config, plain)
		if passwords {
			config = strings.Replace(config, plain,
				fmt.Sprintf("%s#%x ", plain, sha256.Sum256([]byte(user))), 1)
		}
	}
	file := filepath.Join(dir, "hardened.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))

	h := &hardened{}
	h.ca, err = testca.New("ca")
	require.NoError(t, err)
	_, err = h.ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	server, err := h.ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	_, _, err = server.Write(dir, "server")
	require.NoError(t, err)
	h.client = issue(t, h.ca, testca.Leaf{Name: "client"})
	h.process = startAsync(t, file, "--tls-port", freePort(t), "--metrics-addr", "127.0.0.1:0")
	line, err := h.stdout.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "The user 'default' is disabled")
	h.readGreeting(t, h.stdout)
	return h
}

func issue(t *testing.T, ca *testca.Authority, leaf testca.Leaf) tls.Certificate {
	t.Helper()
	pair, err := ca.Issue(leaf)
	require.NoError(t, err)
	c, err := pair.TLS()
	require.NoError(t, err)
	return c
}

// config returns the configuration of a client with certificates.
func (h *hardened) config(own ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: h.ca.Pool(), ServerName: "localhost", Certificates: own}
}

// dial connects as a user, or as none if the name is empty.
func (h *hardened) dial(t *testing.T, user string) *client {
	t.Helper()
	nc, err := tls.Dial("tcp", h.addr, h.config(h.client))
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	c := &client{nc, bufio.NewReader(nc)}
	if user != "" {
		require.Equal(t, "+OK", c.ask(t, "AUTH "+user+" "+user))
	}
	return c
}

// TestHardenedRefusesStrangers checks that a client without a certificate of the authority gets no reply.
func TestHardenedRefusesStrangers(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	other, err := testca.New("other")
	require.NoError(t, err)
	expired := issue(t, h.ca, testca.Leaf{Name: "client", NotAfter: time.Now().Add(-time.Hour)})
	old := h.config(h.client)
	old.MaxVersion = tls.VersionTLS12
	for name, config := range map[string]*tls.Config{
		"no certificate":    h.config(),
		"another authority": h.config(issue(t, other, testca.Leaf{Name: "client"})),
		"an expired one":    h.config(expired),
		"TLSv1.2":           old,
		"no TLS":            nil,
	} {
		nc, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
		if config != nil {
			nc = tls.Client(nc, config)
		}
		_, _ = nc.Write([]byte("PING\r\n")) // it may fail already
		reply, _ := bufio.NewReader(nc).ReadString('\n')
		require.NotContains(t, reply, "PONG", name)
		require.NotContains(t, reply, "NOAUTH", name)
		nc.Close()
	}
}

// TestHardenedSlowsGuessers: of many attempts at once some are refused without a look at
// the password, even if it is right.
func TestHardenedSlowsGuessers(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	replies := make(chan string)
	for range 30 {
		c := h.dial(t, "")
		go func() {
			_, _ = c.Write([]byte("AUTH operator guess\r\n"))
			reply, _ := c.r.ReadString('\n')
			select {
			case replies <- reply:
			case <-t.Context().Done():
			}
		}()
	}
	for !strings.Contains(<-replies, "-ERR too many logins from this address have failed") {
	}
	require.Regexp(t, "^-ERR too many logins", h.dial(t, "").ask(t, "AUTH operator operator"))
}

// TestHardenedComment runs the commands of the file's head comment as a new user would, and logs in with the
// certificate and the password that they have made.
func TestHardenedComment(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("openssl", "version").Output(); err != nil || string(out) < "OpenSSL 3" {
		t.Skip("the commands need OpenSSL 3, and the tests need Go and nothing else")
	}
	text, err := os.ReadFile(hardenedFile)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "zlimit")
	head, _, _ := strings.Cut(string(text), "\n\n")
	var script, start, ask string // what comes before the start; the last two lines
	for line := range strings.Lines(strings.ReplaceAll(head, "/var/lib/zlimit", dir)) {
		if command, ok := strings.CutPrefix(line, "#        "); ok {
			script, start, ask = script+start, ask, command
		}
	}
	require.Contains(t, start, "zlimit-server --check "+dir)
	require.Contains(t, ask, "redis-cli --tls ")
	shell := exec.Command("sh", "-e")
	shell.Stdin, shell.Dir = strings.NewReader(script), "../.."
	printed, err := shell.Output()
	require.NoError(t, err)
	password, hash, ok := strings.Cut(strings.TrimSpace(string(printed)), "\n")
	require.True(t, ok, "%s", printed)

	file := filepath.Join(dir, "hardened.conf")
	config, err := os.ReadFile(file)
	require.NoError(t, err)
	config = []byte(strings.ReplaceAll(string(config), "/var/lib/zlimit", dir))
	config = []byte(strings.Replace(string(config), "\nuser limiter on ", "\nuser limiter on "+hash+" ", 1))
	require.NoError(t, os.WriteFile(file, config, 0o600))
	require.Zero(t, run([]string{"--check", file}, nil, io.Discard, t.Output()))
	p := startAsync(t, file, "--tls-port", freePort(t), "--metrics-addr", "127.0.0.1:0")
	_, err = p.stdout.ReadString('\n') // the note that the default user is disabled
	require.NoError(t, err)
	p.readGreeting(t, p.stdout)

	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authority))
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"))
	require.NoError(t, err)
	nc, err := tls.Dial("tcp", p.addr, &tls.Config{
		RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{own},
	})
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	c := &client{nc, bufio.NewReader(nc)}
	require.Equal(t, "+OK", c.ask(t, "AUTH limiter "+password))
	require.Equal(t, "*5", c.ask(t, "RL.ALLOW rl:42 3 10s"))
}
