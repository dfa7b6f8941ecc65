package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/upstream"
	"github.com/zlimit/zlimit/upstream/local"
)

// upstreamOptions returns the options that the directives give an upstream. ok is false if there is none.
func upstreamOptions(c *config.Config) (o upstream.Options, ok bool, err error) {
	url := c.String("upstream")
	if url == "" {
		return o, false, nil
	}
	if o.Address, o.TLS, err = UpstreamAddress(c, url); err != nil {
		return o, false, err
	}
	o.Timeout = time.Duration(c.Int("upstream-timeout")) * time.Millisecond
	o.Queue = int(c.Int("upstream-queue"))
	o.Split = c.Bool("upstream-split")
	o.Announce = c.Strings("upstream-announce")
	var errs [4]error
	o.Failure, errs[0] = upstream.ParseFailures(c.Strings("upstream-failure"))
	o.WaitReplicas, o.WaitTimeout, errs[1] = parseWait(c.Strings("upstream-wait"))
	o.Denials, errs[2] = local.ParseDenials(c.Strings("rl-deny-cache"))
	o.Leases, errs[3] = local.ParseLeases(c.Strings("rl-lease"))
	return o, true, errors.Join(errs[:]...)
}

// UpstreamAddress returns the address of a URL, with the user and the password of the directives where it
// has none, and the configuration of TLS that the directives give; nil if the URL is not of TLS.
func UpstreamAddress(c *config.Config, url string) (a upstream.Address, conf *tls.Config, err error) {
	if a, err = upstream.ParseURL(url); err != nil {
		return a, nil, err
	}
	if anybody := a.Login && a.Username == "" && a.Password == ""; !anybody {
		if a.Username == "" {
			a.Username = c.String("upstream-user")
		}
		if a.Password == "" {
			a.Password = c.String("upstream-password")
		}
	}
	a.SentinelUsername = c.String("upstream-sentinel-user")
	a.SentinelPassword = c.String("upstream-sentinel-password")
	for _, login := range [][2]string{{a.Username, a.Password}, {a.SentinelUsername, a.SentinelPassword}} {
		if login[0] != "" && login[1] == "" {
			return a, nil, fmt.Errorf("upstream: the user %q needs a password", login[0])
		}
	}
	if a.TLS {
		conf, err = upstreamTLS(c)
	}
	return a, conf, err
}

var errUpstreamWait = errors.New("upstream-wait must be a number of replicas and milliseconds: 1 100")

// parseWait parses the words of upstream-wait.
func parseWait(words []string) (replicas int, timeout time.Duration, err error) {
	if len(words) == 0 {
		return 0, 0, nil
	}
	if len(words) != 2 {
		return 0, 0, errUpstreamWait
	}
	n, err := strconv.Atoi(words[0])
	ms, msErr := strconv.Atoi(words[1])
	if err != nil || msErr != nil || n < 1 || ms < 1 {
		return 0, 0, errUpstreamWait
	}
	return n, time.Duration(ms) * time.Millisecond, nil
}

// upstreamTLS returns the configuration of connections to an upstream over TLS.
func upstreamTLS(c *config.Config) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := c.String("upstream-tls-ca-cert-file"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("upstream-tls-ca-cert-file: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("upstream-tls-ca-cert-file has no certificate")
		}
	}
	if name := c.String("upstream-tls-cert-file"); name != "" {
		pair, err := tls.LoadX509KeyPair(name, c.String("upstream-tls-key-file"))
		if err != nil {
			return nil, fmt.Errorf("upstream-tls-cert-file: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// openUpstream returns the upstream of the directives, or nil.
func (s *Server) openUpstream() engine.Upstream {
	o, ok, err := upstreamOptions(s.cfg)
	if err != nil {
		panic("server: " + err.Error())
	}
	if !ok {
		return nil
	}
	o.Log = s.log
	o.Deliver = func(m upstream.Message) { s.engine.Deliver(m.Kind, m.Topic, m.Channel, m.Payload) }
	s.upstream = upstream.Open(o)
	return s.upstream
}
