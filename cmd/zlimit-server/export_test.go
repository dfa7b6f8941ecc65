//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/testca"
)

// serveHere runs a server in this process.
func serveHere(t *testing.T, args ...string) *server.Server {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(append([]string{"--bind", "127.0.0.1", "--save", ""}, args...), nil))
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-served)
	})
	return srv
}

// runExportOf runs zlimit-server --export and returns what it has written.
func runExportOf(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"--export"}, args...)...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	return b.String(), err
}

func callHere(t *testing.T, srv *server.Server, words ...any) any {
	t.Helper()
	reply, err := srv.Do(context.Background(), words...)
	require.NoError(t, err)
	return reply
}

// TestExportSaysWhatFailedOnce checks that the client library writes nothing between the lines of --export.
func TestExportSaysWhatFailedOnce(t *testing.T) {
	t.Parallel()
	out, err := runExportOf(t, "redis+single://127.0.0.1:1", "--from", "redis+single://127.0.0.1:1")
	require.Error(t, err)
	require.Regexp(t, `^zlimit-server: the destination: .*\n$`, out)
}

// TestExportSecured: keys are moved to a server, and back, that admits only TLS with a certificate,
// and a user.
func TestExportSecured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	caFile, err := ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	pair, err := ca.Issue(testca.Leaf{Name: "one"})
	require.NoError(t, err)
	cert, key, err := pair.Write(dir, "one")
	require.NoError(t, err)
	secured := serveHere(t, "--tls-port", "1", "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file",
		caFile, "--user", "mover", "on", ">secret", "~*", "&*", "+@all", "--user", "default", "off")
	plain := serveHere(t)
	callHere(t, plain, "SET", "k", "v")
	to, from := "rediss+single://"+secured.TLSAddr().String(), "redis+single://@"+plain.Addr().String()
	login := []string{
		"--upstream-user", "mover", "--upstream-password", "secret", "--upstream-tls-ca-cert-file", caFile,
		"--upstream-tls-cert-file", cert, "--upstream-tls-key-file", key,
	}
	asked := func(words ...string) string {
		conf := &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
		conf.Certificates = make([]tls.Certificate, 1)
		conf.Certificates[0], err = pair.TLS()
		require.NoError(t, err)
		nc, err := tls.Dial("tcp", secured.TLSAddr().String(), conf)
		require.NoError(t, err)
		defer nc.Close()
		line := "AUTH mover secret\r\n"
		for _, w := range words {
			line += w + " "
		}
		_, err = nc.Write([]byte(line + "\r\nQUIT\r\n"))
		require.NoError(t, err)
		var b bytes.Buffer
		_, err = b.ReadFrom(nc)
		require.NoError(t, err)
		return b.String()
	}

	out, err := runExportOf(t, append([]string{to, "--from", from}, login...)...)
	require.NoError(t, err, out)
	require.Contains(t, out, "1 keys were copied")
	require.Contains(t, asked("GET k"), "$1\r\nv\r\n")

	// A file has the password, and may be that of a gateway.
	file := filepath.Join(dir, "gateway.conf")
	require.NoError(t, os.WriteFile(file, []byte("port 7000\nupstream-user mover\nupstream-password secret\n"+
		"upstream-tls-ca-cert-file "+caFile+"\nupstream-tls-cert-file "+cert+
		"\nupstream-tls-key-file "+key+"\n"),
		0o600))
	back := serveHere(t)
	out, err = runExportOf(t, "redis+single://@"+back.Addr().String(), "--from", to, file)
	require.NoError(t, err, out)
	require.Equal(t, "v", callHere(t, back, "GET", "k"))

	// The keys of files go there, too.
	require.Contains(t, asked("FLUSHALL"), "NOREPLICAS")
	require.Contains(t, asked("CONFIG SET min-replicas-to-write 0"), "+OK")
	require.Contains(t, asked("FLUSHALL"), "+OK")
	out, err = runExportOf(t, append([]string{to, "--dir", dir}, login...)...)
	require.NoError(t, err, out)

	for want, args := range map[string][]string{
		"unknown authority": {to, "--from", from},
		"WRONGPASS": append(append([]string{to, "--from", from}, login...),
			"--upstream-password", "no"),
		"--appendonly: with --from": append([]string{to, "--from", from, "--appendonly", "yes"}, login...),
		"needs a password":          {to, "--from", from, "--upstream-user", "mover"},
	} {
		out, err := runExportOf(t, args...)
		require.Error(t, err)
		require.Contains(t, out, want)
	}
}
