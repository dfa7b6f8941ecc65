package server_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/testca"
)

// TestCases runs testdata/cases, in the format of package scenario, over sockets of a server. The name of a
// connection says what it is: up... goes to the upstream of a gateway, tls... to tls-port with a certificate,
// bare... there without one, plain... there without TLS, slow... has a small buffer, and reset... is reset
// when it is closed. Directives of the test's own:
//
//	@gateway --name value   the server is the upstream of a gateway with the directives; connections go to
//	                        the gateway
//	@starts --name value    a server with the directives starts, OK, or says why it does not
//	@try NAME [ADDRESS]     a connection of its own sends PING, to an address or where NAME goes: the reply,
//	                        or why there is none
//	@open NAME              the connection opens. Its handshake waits until something is sent
//	@ends NAME              the connection ends, gracefully or not: the number of bytes that were left
//	@garbage NAME "BYTES"   the connection sends bytes, unless it has ended meanwhile, and then no more
//	@until /RE/ NAME: CMD   the command is sent until its reply matches
//	@logs /RE/              the log has it, now or later
//	@log                    the log
//
// Variables, also in the directives of servers:
//
//	$TLS                            the directives of a server that listens for TLS
//	$CERT $KEY $CA                  its files
//	$RSACERT $RSAKEY                another pair of files, with a key of RSA
//	$OLDCERT $OLDKEY                one that has expired
//	$ADDRNAME                       the address of the connection name
//	$DIR                            an empty directory
//	$HOST $HOSTB $HOSTC             loopback addresses that no other test uses
//	$FREE $FREEB $FREEC             ports that are free at $HOST
//	$TAKEN                          a port that is in use there
func TestCases(t *testing.T) {
	files, err := scenario.Glob("testdata/cases/*.cases",
		"gateway", "starts", "try", "open", "ends", "garbage", "until", "logs", "log")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				t.Parallel()
				for _, fault := range newCasePlayer(t, s).Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// A casePlayer is the servers of a section, whose clocks stand still.
type casePlayer struct {
	scenario.Runner
	t         *testing.T
	certs     *certificates
	front, up *server.Server // the same, or a gateway and its upstream
	log       lockedBuffer   // of both
	wires     map[string]*wire
	early     map[string]*wire // those that a directive has opened before the runner
}

func newCasePlayer(t *testing.T, s scenario.Section) *casePlayer {
	p := &casePlayer{t: t, wires: map[string]*wire{}, early: map[string]*wire{}}
	p.Protocol, p.Dial, p.Own = s.Protocol, p.dial, p.words()
	p.makeVars(s)
	p.up = p.serve(append([]string{"--bind", "127.0.0.1"}, p.fill(s.Directives)...))
	p.front = p.up
	isGateway := func(step scenario.Step) bool { return strings.HasPrefix(step.Line, "@gateway") }
	if i := slices.IndexFunc(s.Steps, isGateway); i >= 0 {
		p.front = p.serve(gatewayArgs(upstreamURL(p.up), p.fill(split(t, s.Steps[i].Text))...))
	}
	p.SetClock = func(nowMs int64) error {
		return errors.Join(p.up.Engine().Clock().Set(nowMs), p.front.Engine().Clock().Set(nowMs))
	}
	require.NoError(t, p.SetClock(scenario.StartMs))
	return p
}

func (p *casePlayer) serve(args []string) *server.Server {
	srv, _ := serve(p.t, server.Options{Log: slog.New(logging.Text(&p.log, 1))}, args...)
	srv.Engine().Clock().Freeze()
	return srv
}

var caseVariable = regexp.MustCompile(`\$[A-Z]+`)

// makeVars makes the variables that a section has.
func (p *casePlayer) makeVars(s scenario.Section) {
	p.Vars = map[string]string{}
	text := strings.Join(s.Directives, " ")
	for i := range s.Steps {
		want, _ := s.Steps[i].Want()
		text += " " + s.Steps[i].Line + " " + want
	}
	if strings.Contains(text, "$") {
		p.certs = newCertificates(p.t)
		p.Vars = map[string]string{
			"CERT": p.certs.cert, "KEY": p.certs.key, "CA": p.certs.caFile,
			"TLS": strings.Join(p.certs.directives()[2:], " "), "DIR": p.t.TempDir(),
		}
		if strings.Contains(text, "$RSA") {
			p.Vars["RSACERT"], p.Vars["RSAKEY"] = p.certs.rsa(p.t)
		}
		old := testca.Leaf{Name: "old", NotAfter: time.Now().Add(-time.Hour)}
		p.Vars["OLDCERT"], p.Vars["OLDKEY"] = p.certs.issue(p.t, "old", old)
	}
	for _, name := range append([]string{"$HOST"}, caseVariable.FindAllString(text, -1)...) {
		switch name = name[1:]; {
		case p.Vars[name] != "" || !strings.Contains(text, "$HOST"):
		case strings.HasPrefix(name, "HOST"):
			p.Vars[name] = ownHost(p.t)
		case strings.HasPrefix(name, "FREE"):
			p.Vars[name] = freePort(p.t, p.Vars["HOST"])
		case name == "TAKEN":
			l, err := net.Listen("tcp", p.Vars["HOST"]+":0")
			require.NoError(p.t, err)
			p.t.Cleanup(func() { l.Close() })
			_, p.Vars[name], _ = net.SplitHostPort(l.Addr().String())
		}
	}
}

// fill replaces the variables in words. $TLS is several.
func (p *casePlayer) fill(words []string) (filled []string) {
	for _, word := range words {
		if word == "$TLS" {
			filled = append(filled, strings.Fields(p.Vars["TLS"])...)
			continue
		}
		filled = append(filled, caseVariable.ReplaceAllStringFunc(word, func(name string) string {
			return p.Vars[name[1:]]
		}))
	}
	return filled
}

// split returns the words of a text, which may have none.
func split(t *testing.T, text string) (out []string) {
	for _, word := range wordsOf(t, "directives "+text)[1:] {
		out = append(out, string(word))
	}
	return out
}

func (p *casePlayer) dial(name string) (scenario.Client, error) {
	w, err := p.early[name], error(nil)
	if delete(p.early, name); w == nil {
		w, err = p.open(name, "")
	}
	p.wires[name] = w
	return wireClient{w}, err
}

// wire returns the connection with a name.
func (p *casePlayer) wire(name string) *wire {
	if p.wires[name] == nil {
		w, err := p.open(name, "")
		require.NoError(p.t, err)
		p.t.Cleanup(func() { w.conn.Close() })
		p.wires[name], p.early[name] = w, w
	}
	return p.wires[name]
}

// open opens a connection, to where its name says if there is no address.
func (p *casePlayer) open(name, address string) (w *wire, err error) {
	to, network := p.front, "tcp"
	if name == "" || strings.HasPrefix(name, "up") { // what is blocked is so upstream
		to = p.up
	}
	client, isTLS := p.certs.clientOf(name)
	toTLS := isTLS || strings.HasPrefix(name, "plain")
	switch {
	case address == "" && toTLS && to.TLSAddr() == nil:
		return nil, errors.New("tls-port is closed")
	case address == "" && toTLS:
		address = to.TLSAddr().String()
	case address == "":
		network, address = to.Addr().Network(), to.Addr().String()
	case address[0] == '/':
		network = "unix"
	}
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	p.Vars["ADDR"+strings.ToUpper(name)] = c.LocalAddr().String()
	switch {
	case strings.HasPrefix(name, "slow"):
		require.NoError(p.t, c.(*net.TCPConn).SetReadBuffer(64<<10))
	case strings.HasPrefix(name, "reset"):
		require.NoError(p.t, c.(*net.TCPConn).SetLinger(0))
	}
	if isTLS {
		c = tls.Client(c, p.certs.config(client))
	}
	return newWire(c), nil
}

// clientOf returns the certificate of a client by its name, and whether it speaks TLS.
func (c *certificates) clientOf(name string) (client *tls.Certificate, isTLS bool) {
	switch {
	case strings.HasPrefix(name, "tls"):
		return c.client, true
	case strings.HasPrefix(name, "bare"):
		return nil, true
	}
	return nil, false
}

// words are the directives of the test's own.
func (p *casePlayer) words() map[string]func(text string) ([]byte, error) {
	return map[string]func(text string) ([]byte, error){
		"gateway": func(string) ([]byte, error) { return nil, nil },
		"starts": func(text string) ([]byte, error) {
			cfg := config.New()
			err := cfg.ParseArgs(split(p.t, text), nil)
			if err == nil {
				var srv *server.Server
				o := server.Options{Config: cfg, Log: slog.New(logging.Text(&p.log, 1))}
				if srv, err = server.Listen(o); err == nil {
					return []byte("+OK\r\n"), srv.Close()
				}
			}
			return fmt.Appendf(nil, "-%v\r\n", err), nil
		},
		"try": func(text string) ([]byte, error) {
			name, address, _ := strings.Cut(text, " ")
			w, err := p.open(name, address)
			if err != nil {
				return fmt.Appendf(nil, "-%v\r\n", err), nil
			}
			defer w.conn.Close()
			err = w.sendRaw([]byte("PING\r\n"))
			reply, failed := w.readReply()
			if err = errors.Join(failed, err); failed != nil {
				reply = fmt.Appendf(nil, "-%v\r\n", strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			return reply, nil
		},
		"open": func(name string) ([]byte, error) { p.wire(name); return nil, nil },
		"ends": func(name string) ([]byte, error) {
			return fmt.Appendf(nil, ":%d\r\n", p.wire(name).awaitClose(p.t)), nil
		},
		"garbage": func(text string) ([]byte, error) {
			words := split(p.t, text)
			w := p.wire(words[0])
			_ = w.sendRaw([]byte(words[1]))
			_ = w.conn.(*net.TCPConn).CloseWrite()
			return nil, nil
		},
		"until": func(text string) ([]byte, error) {
			m := untilText.FindStringSubmatch(text)
			require.NotNil(p.t, m, "%.100s: want /RE/ NAME: CMD", text)
			re, w := regexp.MustCompile("(?m)"+m[1]), p.wire(m[2])
			eventually(p.t, func() bool { return re.MatchString(doLine(p.t, w, m[3])) }, runtime.Gosched,
				"%.100s", text)
			return nil, nil
		},
		"log": func(string) ([]byte, error) {
			text := p.log.String()
			return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text), nil
		},
		"logs": func(text string) ([]byte, error) {
			re := regexp.MustCompile(strings.Trim(text, "/"))
			eventually(p.t, func() bool { return re.MatchString(p.log.String()) }, runtime.Gosched, text)
			return nil, nil
		},
	}
}
