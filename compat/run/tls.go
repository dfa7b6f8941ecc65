package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/zlimit/zlimit/testca"
)

// tlsClients are the clients that run over TLS, each with one flow: what a
// connection carries is the same as without.
func tlsClients() []client {
	var out []client
	for _, c := range allClients() {
		if len(out) > 0 && out[len(out)-1].name == c.name { // in the other protocol
			continue
		}
		flow := "pipeline-multi"
		if c.name == "spring" {
			flow = "template-unique"
		}
		c.setting, c.expected = "TLS", []string{flow}
		out = append(out, c)
	}
	return out
}

// The folders that clients get by --tls.
const (
	withCertificate    = "with"
	withoutCertificate = "without"
)

// The users that clients log in as. They may run the same commands, each on keys of its
// own.
const (
	limiterUser = "limiter"
	otherUser   = "other"
	password    = "correct-horse"
)

// users returns the directives that define the users.
func users() (flags []string) {
	for user, keys := range map[string]string{limiterUser: "~compat:*", otherUser: "~other:*"} {
		flags = append(flags, "--user", user, "on", ">"+password, "resetchannels", keys,
			"+@read", "+@write", "+@transaction", "+@scripting", "+@connection")
	}
	return flags
}

// runTLS runs the clients, and redis-cli, against both servers over TLS, as users with
// few rights.
func (r *rig) runTLS(ctx context.Context, root string, clients []client, progress io.Writer) (
	rows []row, err error,
) {
	flags, err := writeCertificates(r.folder)
	if err != nil {
		return nil, err
	}
	flags = append(flags, users()...)
	ours, err := startTLS(ctx, r.oursPath, r.folder, isRedis(r.oursPath), flags)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	theirs, err := startTLS(ctx, r.theirsPath, r.folder, true, flags)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, theirs.stop()) }()
	rows = append(rows, r.cliRow(ctx, ours, theirs, withCertificate, "served"),
		r.cliRow(ctx, ours, theirs, withoutCertificate, "refused"))
	for _, c := range clients {
		on := func(s *tlsServer, folder, user string) invocation {
			return invocationOn(s.tlsPort, s.lost, c, c.expected[0],
				"--tls", filepath.Join(r.folder, folder), "--user", user, "--password", password)
		}
		var outs []outcome
		rows = append(rows, r.runBoth(c, progress, func() (outcome, outcome) {
			outs = runClient(ctx, root, c, []invocation{
				on(ours, withCertificate, limiterUser), on(theirs, withCertificate, limiterUser),
				on(ours, withoutCertificate, limiterUser), on(theirs, withoutCertificate, limiterUser),
				on(ours, withCertificate, otherUser), on(theirs, withCertificate, otherUser),
			})
			return outs[0], outs[1]
		})...)
		if outs != nil {
			rows = append(rows, refusedRow(c, "without a certificate", outs[2], outs[3]),
				refusedRow(c, "that is another tenant", outs[4], outs[5]))
		}
	}
	return rows, nil
}

// refusedRow compares the outcomes of a client that must reach nothing.
func refusedRow(c client, which string, ours, theirs outcome) row {
	label := c.label(ours.transcript.client, theirs.transcript.client)
	return compareAccess("a client "+which, label, access(ours), access(theirs), "refused")
}

// access says whether a client that a program ran was served.
func access(o outcome) string {
	for _, s := range o.transcript.sections {
		if len(s.hits) > 0 {
			return "served"
		}
	}
	if o.err == nil || errors.Is(o.err, errBrokenOff) {
		return "neither served nor refused"
	}
	return "refused"
}

func compareAccess(who, client, ours, theirs, want string) row {
	out := row{flow: "- " + who + " is " + want, client: client, ours: ours, theirs: theirs, verdict: same}
	if ours != want || theirs != want {
		out.verdict = different
		out.detail = []string{"both should be " + want}
	}
	return out
}

// cliRow sends PING by redis-cli.
func (r *rig) cliRow(ctx context.Context, ours, theirs *tlsServer, folder, want string) row {
	dir := filepath.Join(r.folder, folder)
	try := func(s *tlsServer) string {
		args := []string{"-p", strconv.Itoa(s.tlsPort), "--tls", "--cacert", filepath.Join(dir, "ca.crt")}
		if folder == withCertificate {
			args = append(args, "--cert", filepath.Join(dir, "client.crt"), "--key", filepath.Join(dir, "client.key"))
		}
		out, err := exec.CommandContext(ctx, "redis-cli", append(args, "PING")...).Output()
		switch {
		case errors.Is(err, exec.ErrNotFound):
			return err.Error()
		case err == nil && string(out) == "PONG\n":
			return "served"
		}
		return "refused"
	}
	return compareAccess("a client "+folder+" a certificate", "redis-cli TLS", try(ours), try(theirs), want)
}

// A tlsServer is a server that also listens for TLS.
type tlsServer struct {
	*held
	tlsPort int
}

// startTLS starts a server on a free port for TLS. Another process may take it before
// the server does.
func startTLS(ctx context.Context, path, folder string, redis bool, flags []string) (*tlsServer, error) {
	var last error
	for range 3 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		h, err := startHeld(ctx, path, folder, redis, append(flags, "--tls-port", strconv.Itoa(port))...)
		if err == nil {
			return &tlsServer{h, port}, nil
		}
		last = err
	}
	return nil, last
}

// writeCertificates makes the folders of clients, and returns the directives of a
// server whose clients need a certificate.
func writeCertificates(folder string) (flags []string, err error) {
	ca, err := testca.New("compat")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{withCertificate, withoutCertificate} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			return nil, err
		}
		if _, err := ca.Write(filepath.Join(folder, name), "ca.crt"); err != nil {
			return nil, err
		}
	}
	client, err := ca.Issue(testca.Leaf{Name: "client"})
	if err == nil {
		_, _, err = client.Write(filepath.Join(folder, withCertificate), "client")
	}
	if err != nil {
		return nil, err
	}
	server, err := ca.Issue(testca.Leaf{Name: "server"})
	if err != nil {
		return nil, err
	}
	cert, key, err := server.Write(folder, "server")
	if err != nil {
		return nil, fmt.Errorf("write certificates: %w", err)
	}
	return []string{
		"--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", filepath.Join(folder, withCertificate, "ca.crt"),
	}, nil
}
