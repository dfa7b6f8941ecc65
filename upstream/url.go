package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Kind is what is upstream.
type Kind int32

// The kinds. A URL without a kind in its scheme is of a cluster or of a single server, whatever the
// first node that can be reached turns out to be.
const (
	Unknown Kind = iota
	Cluster
	Sentinel
	Single
)

var kindNames = [...]string{"unknown", "cluster", "sentinel", "single"}

// String returns the kind as INFO shows it.
func (k Kind) String() string { return kindNames[k] }

// An Address is where the upstream is.
type Address struct {
	Kind     Kind
	TLS      bool
	Seeds    []string // host:port: of nodes or, of kind Sentinel, of sentinels
	Master   string   // its name, of kind Sentinel
	Login    bool     // the URL says who logs in: it has an @, possibly with nothing before it
	Username string
	Password string
	// SentinelUsername and SentinelPassword are those of the sentinels, which a URL does not have.
	SentinelUsername string
	SentinelPassword string

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // in tests; nil: over the network
}

var schemes = map[string]struct {
	kind Kind
	tls  bool
	port string
}{
	"redis":           {Unknown, false, "6379"},
	"rediss":          {Unknown, true, "6379"},
	"redis+cluster":   {Cluster, false, "6379"},
	"rediss+cluster":  {Cluster, true, "6379"},
	"redis+single":    {Single, false, "6379"},
	"rediss+single":   {Single, true, "6379"},
	"redis+sentinel":  {Sentinel, false, "26379"},
	"rediss+sentinel": {Sentinel, true, "26379"},
}

var (
	errNoSeed   = errors.New("it names no host")
	errNoMaster = errors.New("redis+sentinel:// needs the name of the master as its path: " +
		"redis+sentinel://host:26379/mymaster")
	errPath = errors.New("it has a path; databases are chosen by SELECT")
)

// ParseURL parses [scheme]://[user[:password]@]host[:port][,host[:port] ...][/master].
func ParseURL(text string) (Address, error) {
	a, err := parseURL(text)
	if err != nil {
		return a, fmt.Errorf("upstream: %w", err)
	}
	return a, nil
}

func parseURL(text string) (a Address, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	s, known := schemes[scheme]
	if !ok || !known {
		return a, errors.New("it must begin with redis://, rediss://, redis+cluster://, redis+single:// or " +
			"redis+sentinel://, or the same with rediss for TLS")
	}
	a.Kind, a.TLS = s.kind, s.tls
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		a.Login = true
		user, password, _ := strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
		if a.Username, err = url.PathUnescape(user); err == nil {
			a.Password, err = url.PathUnescape(password)
		}
		if err != nil {
			return a, errors.New("the user or the password has a % that is not followed by two hex digits")
		}
	}
	hosts, path, _ := strings.Cut(rest, "/")
	switch {
	case a.Kind == Sentinel && path == "":
		return a, errNoMaster
	case a.Kind == Sentinel:
		a.Master = path
	case path != "" && path != "0":
		return a, errPath
	}
	for _, host := range strings.Split(hosts, ",") {
		addr, err := parseHost(host, s.port)
		if err != nil {
			return a, err
		}
		a.Seeds = append(a.Seeds, addr)
	}
	return a, nil
}

// parseHost returns host:port.
func parseHost(text, defaultPort string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), defaultPort
		if strings.Contains(host, ":") && !strings.HasPrefix(text, "[") {
			return "", fmt.Errorf("%q is not a host and a port", text)
		}
	}
	if host == "" {
		return "", errNoSeed
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q is not a port", port)
	}
	return net.JoinHostPort(host, port), nil
}
