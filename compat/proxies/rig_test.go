package proxies

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/lab/abuse"
)

// deadline is how long a program may take to answer, on a machine that does other things too.
const deadline = time.Minute

var program string // zlimit-server

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	for _, tool := range []string{"nginx", "haproxy", "caddy"} {
		if _, err := exec.LookPath(tool); err != nil {
			return 1, fmt.Errorf("%w (Debian: nginx-light, haproxy, caddy)", err)
		}
	}
	dir, err := os.MkdirTemp("", "proxies")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if program, err = abuse.BuildServer(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// A rig is a proxy in front of a server, with zlimit beside.
type rig struct {
	t       *testing.T
	zlimit  *abuse.Process
	door    string       // rl-http-addr
	app     string       // the server's address
	served  atomic.Int64 // requests that the server has answered
	address string       // the proxy's
}

// newRig starts zlimit and the server.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, door: freeAddress(t)}
	dir := t.TempDir()
	file := filepath.Join(dir, "policies.yaml")
	policies := replace(t, block(t, "yaml"), "unit: minute", "unit: year",
		"requests_per_unit: 5", "requests_per_unit: 2")
	require.NoError(t, os.WriteFile(file, []byte(policies), 0o600))
	var err error
	r.zlimit, err = abuse.Start(context.Background(), program, dir, &abuse.Row{Directives: []string{
		"--rl-policies", file, "--rl-http-addr", r.door,
	}})
	require.NoError(t, err)
	t.Cleanup(r.zlimit.Stop)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.served.Add(1)
		_, _ = io.Copy(w, req.Body)
	}))
	t.Cleanup(app.Close)
	r.app = strings.TrimPrefix(app.URL, "http://")
	return r
}

// freeAddress returns an address of 127.0.0.1 where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// A proxy writes its files to dir, for a rig, and returns its command line.
type proxy func(r *rig, dir string, change func(string) string) []string

// start starts a proxy and waits for it. change changes its configuration.
func (r *rig) start(p proxy, change func(string) string) {
	r.t.Helper()
	r.address = freeAddress(r.t)
	dir := r.t.TempDir()
	args := p(r, dir, change)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(r.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	stop := func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	r.t.Cleanup(stop)
	for until := time.Now().Add(deadline); ; {
		c, err := net.Dial("tcp", r.address)
		if err == nil {
			c.Close()
			return
		}
		select {
		case <-ended:
			r.t.Fatalf("%s has ended: %s", args[0], output.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(until) {
			stop()
			r.t.Fatalf("%s does not answer: %s", args[0], output.String())
		}
	}
}

// unchanged leaves a configuration as the page has it.
func unchanged(text string) string { return text }

// write writes a file of a proxy and returns its path.
func (r *rig) write(dir, name, text string) string {
	r.t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(r.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// port returns the port of the proxy, with the colon.
func (r *rig) port() string { return r.address[strings.LastIndexByte(r.address, ':'):] }

func nginx(r *rig, dir string, change func(string) string) []string {
	text := change(replace(r.t, block(r.t, "nginx"), "127.0.0.1:8082", r.door, "127.0.0.1:8000", r.address,
		"127.0.0.1:9000", r.app))
	file := r.write(dir, "nginx.conf", "daemon off; master_process off; pid "+dir+"/pid; error_log stderr;\n"+
		"events {}\nhttp {\naccess_log off;\nclient_body_temp_path "+dir+"/body;\n"+
		"proxy_temp_path "+dir+"/proxy;\n"+
		"fastcgi_temp_path "+dir+"/f; uwsgi_temp_path "+dir+"/u; scgi_temp_path "+dir+"/s;\n"+text+"}\n")
	return []string{"nginx", "-e", "stderr", "-p", dir, "-c", file}
}

func haproxy(r *rig, dir string, change func(string) string) []string {
	script := r.write(dir, "zlimit.lua", change(replace(r.t, block(r.t, "lua"), "127.0.0.1:8082", r.door)))
	text := replace(r.t, block(r.t, "haproxy"), "/etc/haproxy/zlimit.lua", script,
		"127.0.0.1:8000", r.address, "127.0.0.1:9000", r.app)
	return []string{"haproxy", "-db", "-f", r.write(dir, "haproxy.cfg", text)}
}

func caddy(r *rig, dir string, change func(string) string) []string {
	text := change(replace(r.t, block(r.t, "caddyfile"), "127.0.0.1:8082", r.door, ":8000", r.port(),
		"127.0.0.1:9000", r.app))
	file := r.write(dir, "Caddyfile", "{\n\tadmin off\n}\n"+text)
	return []string{"caddy", "run", "--adapter", "caddyfile", "--config", file}
}

// An answer is that of the proxy.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request from an address, with more headers, as it is.
func (r *rig) send(from, method, target string, headers ...string) answer {
	r.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: deadline}
	c, err := d.Dial("tcp", r.address)
	require.NoError(r.t, err)
	defer c.Close()
	require.NoError(r.t, c.SetDeadline(time.Now().Add(deadline)))
	text := method + " " + target + " HTTP/1.1\r\nHost: " + r.address + "\r\n"
	for _, h := range headers {
		text += h + "\r\n"
	}
	if method == http.MethodPost {
		text += "Content-Length: 5\r\n\r\nhello"
	} else {
		text += "\r\n"
	}
	_, err = io.WriteString(c, text)
	require.NoError(r.t, err)
	reply, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(r.t, err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	require.NoError(r.t, err)
	return answer{reply.StatusCode, reply.Header, string(body)}
}
