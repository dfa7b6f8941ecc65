package export

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/zlimit/zlimit/upstream"
)

// replyTimeout is far more than a command here takes.
const replyTimeout = time.Minute

// plain returns the options of a client of one server.
func plain(addr string, a upstream.Address, c *tls.Config) *redis.Options {
	o := &redis.Options{
		Addr: addr, Username: a.Username, Password: a.Password, Protocol: 2,
		ReadTimeout: replyTimeout, WriteTimeout: replyTimeout, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
		},
	}
	if a.TLS {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if c != nil {
			o.TLSConfig = c.Clone()
		}
	}
	return o
}

// isCluster reports whether an address is that of a cluster, as its first node that answers says.
func isCluster(ctx context.Context, a upstream.Address, c *tls.Config) (bool, error) {
	if a.Kind != upstream.Unknown {
		return a.Kind == upstream.Cluster, nil
	}
	var failed error
	for _, seed := range a.Seeds {
		client := redis.NewClient(plain(seed, a, c))
		text, err := client.Info(ctx, "cluster").Result()
		_ = client.Close()
		if err == nil {
			return strings.Contains(text, "cluster_enabled:1"), nil
		}
		failed = errors.Join(failed, err)
	}
	return false, failed
}

// connect returns a client of a destination.
func connect(ctx context.Context, a upstream.Address, c *tls.Config) (redis.UniversalClient, error) {
	o := plain(a.Seeds[0], a, c)
	if a.Kind == upstream.Sentinel {
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.Master, SentinelAddrs: a.Seeds, Username: a.Username, Password: a.Password,
			SentinelUsername: a.SentinelUsername, SentinelPassword: a.SentinelPassword,
			TLSConfig: o.TLSConfig, ReadTimeout: replyTimeout, WriteTimeout: replyTimeout, Protocol: 2,
			DisableIdentity: true,
		}), nil
	}
	clustered, err := isCluster(ctx, a, c)
	if err != nil || !clustered {
		return redis.NewClient(o), err
	}
	return redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(ctx context.Context) ([]redis.ClusterSlot, error) { return slots(ctx, a, c) },
		Addrs:        a.Seeds, Username: a.Username, Password: a.Password, TLSConfig: o.TLSConfig,
		ReadTimeout: replyTimeout, WriteTimeout: replyTimeout, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: o.MaintNotificationsConfig,
	}), nil
}

// checkDestination returns an error if the destination has keys that it should not have.
func (m *move) checkDestination(ctx context.Context) error {
	n, err := m.to.DBSize(ctx).Result()
	switch {
	case err != nil:
		return fmt.Errorf("the destination: %w", err)
	case n > 0 && !m.Replace:
		return fmt.Errorf("%w: it has %d", errNotEmpty, n)
	}
	return nil
}

// slots returns which nodes have which slots, as the first seed that answers says; the master of each range
// comes first.
func slots(ctx context.Context, a upstream.Address, c *tls.Config) (ranges []redis.ClusterSlot, err error) {
	var failed error
	for _, seed := range a.Seeds {
		client := redis.NewClient(plain(seed, a, c))
		ranges, err = upstream.ClusterSlots(ctx, client, seed)
		_ = client.Close()
		if err == nil {
			return ranges, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// masters returns the addresses of a source's masters.
func masters(
	ctx context.Context, a upstream.Address, c *tls.Config,
) (addrs []string, clustered bool, err error) {
	if a.Kind == upstream.Sentinel {
		return sentinelMaster(ctx, a, c)
	}
	clustered, err = isCluster(ctx, a, c)
	if err != nil || !clustered {
		return a.Seeds[:1], false, err
	}
	ranges, err := slots(ctx, a, c)
	if err != nil {
		return nil, true, err
	}
	covered := 0
	for _, r := range ranges {
		covered += r.End - r.Start + 1
		if addr := r.Nodes[0].Addr; !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	if covered != 16384 {
		return nil, true, fmt.Errorf("only %d of 16384 slots are served", covered)
	}
	return addrs, true, nil
}

func sentinelMaster(
	ctx context.Context, a upstream.Address, c *tls.Config,
) (addrs []string, clustered bool, err error) {
	var failed error
	for _, seed := range a.Seeds {
		o := plain(seed, a, c)
		o.Username, o.Password = a.SentinelUsername, a.SentinelPassword
		client := redis.NewSentinelClient(o)
		at, err := client.GetMasterAddrByName(ctx, a.Master).Result()
		_ = client.Close()
		if err == nil {
			return []string{net.JoinHostPort(at[0], at[1])}, false, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, false, failed
}
