package sentinel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// masterName is what the sentinels call the set.
const masterName = "limits"

// Sentinels wait for calm after the set-up and after a failover, so that a busy machine
// causes none that the test has not asked for; a fault comes with alert.
const (
	calm  = 20 * time.Second
	alert = 500 * time.Millisecond
)

// A layout is what a set consists of.
type layout struct {
	programs []string         // of each server; the first is the master
	extra    map[int][]string // directives of some servers
	acl      bool             // with users for Sentinel, replicas and clients, and nobody else
	tls      bool             // everybody speaks TLS, and nothing listens without
	proxied  bool             // others know the first server by the address of a proxy
}

// Users of a set with ACLs. Those of Sentinel and replicas may do what Redis' documentation
// says they must.
var aclLines = []string{
	"user default off",
	"user app on >app-secret ~* &* +@all",
	"user replica on >replica-secret +psync +replconf +ping",
	"user sentinel on >sentinel-secret &* +multi +slaveof +ping +exec +subscribe +config|rewrite +role " +
		"+publish +info +client|setname +client|kill +script|kill",
	"masteruser replica",
	"masterauth replica-secret",
}

// A set is a master, its replicas, and three sentinels.
type set struct {
	layout
	servers   []*server
	sentinels []*sentinel
	master    *server // as of the last failover
	secure    *secure // nil without TLS
	proxy     *proxy  // of the first server; nil: none
}

// A server is one of a set, with a connection of the test.
type server struct {
	*process
	client *redis.Client
	known  int // the port by which the others know it
}

// A sentinel is one of three, with a connection of the test.
type sentinel struct {
	*process
	client *redis.SentinelClient
}

func addr(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// startSet starts servers and sentinels, and returns when each sentinel knows all others
// and all replicas.
func startSet(t *testing.T, l layout) *set {
	t.Helper()
	s := &set{layout: l}
	if l.tls {
		s.secure = newSecure(t)
	}
	ports := freePorts(t, len(l.programs)+3)
	known := slices.Clone(ports)
	if l.proxied {
		s.proxy = startProxy(t, ports[0])
		known[0] = s.proxy.port
	}
	for i, program := range l.programs {
		directives := append(s.listening(ports[i]), `save ""`, "repl-diskless-sync-delay 0",
			"repl-ping-replica-period 1")
		if i > 0 {
			directives = append(directives, fmt.Sprintf("replicaof 127.0.0.1 %d", known[0]))
		}
		if known[i] != ports[i] {
			directives = append(directives, fmt.Sprintf("replica-announce-port %d", known[i]))
		}
		if l.acl {
			directives = append(directives, aclLines...)
		}
		directives = append(directives, l.extra[i]...)
		p := newProcess(t, fmt.Sprintf("%s %d", program, i), paths[program], ports[i], directives)
		p.start(t)
		client := redis.NewClient(s.options(p.port, time.Second))
		t.Cleanup(func() { _ = client.Close() })
		s.servers = append(s.servers, &server{p, client, known[i]})
	}
	s.master = s.servers[0]
	for _, replica := range s.servers[1:] {
		s.awaitReplica(t, replica)
	}
	for i, port := range ports[len(l.programs):] {
		s.startSentinel(t, i, port)
	}
	for _, one := range s.sentinels {
		await(t, one.name+" discovers the set", func() error { return s.discovered(t.Context(), one) })
	}
	return s
}

// listening returns the directives by which a server or a sentinel listens on a port.
func (s *set) listening(port int) []string {
	if s.secure == nil {
		return []string{fmt.Sprintf("port %d", port)}
	}
	return append([]string{"port 0", fmt.Sprintf("tls-port %d", port)}, s.secure.directives...)
}

// options returns those of a client of a server.
func (s *set) options(port int, timeout time.Duration) *redis.Options {
	o := &redis.Options{
		Addr: addr(port), MaxRetries: -1, PoolSize: 1000,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout,
	}
	if s.acl {
		o.Username, o.Password = "app", "app-secret"
	}
	if s.secure != nil {
		o.TLSConfig = s.secure.client
	}
	return o
}

// startSentinel starts a sentinel that knows nothing but the master.
func (s *set) startSentinel(t *testing.T, i, port int) {
	t.Helper()
	directives := append(s.listening(port),
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", masterName, s.master.known),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", masterName, calm.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s 3000", masterName),
	)
	if s.acl {
		directives = append(directives, "sentinel auth-user "+masterName+" sentinel",
			"sentinel auth-pass "+masterName+" sentinel-secret")
	}
	p := newProcess(t, fmt.Sprintf("sentinel %d", i), "redis-sentinel", port, directives)
	p.start(t)
	o := &redis.Options{Addr: addr(port)}
	if s.secure != nil {
		o.TLSConfig = s.secure.client
	}
	client := redis.NewSentinelClient(o)
	t.Cleanup(func() { _ = client.Close() })
	s.sentinels = append(s.sentinels, &sentinel{p, client})
}

// discovered returns an error unless a sentinel knows the replicas and the other sentinels.
func (s *set) discovered(ctx context.Context, one *sentinel) error {
	if err := one.ended(); err != nil {
		return err
	}
	replicas, err := one.client.Replicas(ctx, masterName).Result()
	if err != nil {
		return err
	}
	var known, want []string
	for _, r := range replicas {
		if r["flags"] == "slave" && r["master-link-status"] == "ok" {
			known = append(known, r["port"])
		}
	}
	for _, one := range s.servers {
		if one != s.master {
			want = append(want, strconv.Itoa(one.known))
		}
	}
	slices.Sort(known)
	slices.Sort(want)
	if !slices.Equal(known, want) {
		return fmt.Errorf("replicas on ports %v, not %v", known, want)
	}
	others, err := one.client.Sentinels(ctx, masterName).Result()
	if err != nil {
		return err
	}
	for _, other := range others {
		if other["flags"] != "sentinel" || other["runid"] == "" {
			return fmt.Errorf("a sentinel with flags %q", other["flags"])
		}
	}
	if len(others) != 2 {
		return fmt.Errorf("%d other sentinels", len(others))
	}
	return one.client.CkQuorum(ctx, masterName).Err()
}

// setDownAfter tells all sentinels how long a server may be silent.
func (s *set) setDownAfter(t *testing.T, d time.Duration) {
	t.Helper()
	for _, one := range s.sentinels {
		ms := strconv.FormatInt(d.Milliseconds(), 10)
		require.NoError(t, one.client.Set(t.Context(), masterName, "down-after-milliseconds", ms).Err())
	}
}

// awaitNewMaster waits until all sentinels name the same master, which is another than
// before and is one.
func (s *set) awaitNewMaster(t *testing.T) {
	t.Helper()
	await(t, "failover", func() error {
		var named []string
		for _, one := range s.sentinels {
			at, err := one.client.GetMasterAddrByName(t.Context(), masterName).Result()
			if err != nil {
				return err
			}
			named = append(named, strings.Join(at, ":"))
		}
		i := slices.IndexFunc(s.servers, func(x *server) bool { return addr(x.known) == named[0] })
		if len(slices.Compact(named)) != 1 || i < 0 || s.servers[i] == s.master {
			return fmt.Errorf("the sentinels name %v", named)
		}
		role, err := s.servers[i].role(t.Context())
		if err != nil {
			return err
		}
		if role != "master" {
			return errors.New("the promoted server is " + role)
		}
		s.master = s.servers[i]
		return nil
	})
}

// inStep returns an error unless all servers are at one offset. Pings move it now and then.
func (s *set) inStep(ctx context.Context) error {
	var offsets []string
	for _, x := range s.servers {
		text, err := x.client.Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		field := "slave_repl_offset:"
		if x == s.master {
			field = "master_repl_offset:"
		}
		_, rest, _ := strings.Cut(text, "\n"+field)
		offset, _, ok := strings.Cut(rest, "\r\n")
		if !ok {
			return errors.New("INFO has no " + field)
		}
		offsets = append(offsets, offset)
	}
	if len(slices.Compact(offsets)) != 1 {
		return fmt.Errorf("offsets %v", offsets)
	}
	return nil
}

// role returns master, or the state of the link and the address of the master.
func (x *server) role(ctx context.Context) (string, error) {
	reply, err := x.client.Do(ctx, "ROLE").Slice()
	if err != nil {
		return "", err
	}
	if reply[0] == "master" {
		return "master", nil
	}
	return fmt.Sprintf("%v %v:%v", reply[3], reply[1], reply[2]), nil
}

// awaitReplica waits until a server is an online replica of the master.
func (s *set) awaitReplica(t *testing.T, x *server) {
	t.Helper()
	want := "connected " + addr(s.master.known)
	await(t, x.name+" becomes a replica", func() error {
		if err := x.ended(); err != nil {
			return err
		}
		role, err := x.role(t.Context())
		if err == nil && role != want {
			err = fmt.Errorf("ROLE is %q, not %q", role, want)
		}
		return err
	})
}

// awaitRewritten waits until the files of all servers say what the servers are.
func (s *set) awaitRewritten(t *testing.T) {
	t.Helper()
	for _, x := range s.servers {
		want := []string(nil)
		if x != s.master {
			want = []string{fmt.Sprintf("replicaof 127.0.0.1 %d", s.master.known)}
		}
		await(t, "the file of "+x.name, func() error {
			got, err := x.lines("replicaof")
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("it has %q, not %q", got, want)
			}
			return err
		})
		comments, err := x.lines("#")
		require.NoError(t, err)
		require.Contains(t, comments, "# "+x.name, "the file has lost what was in it")
	}
}
