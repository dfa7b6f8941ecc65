package envoy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/provider"
	"github.com/envoyproxy/ratelimit/src/redis"
	service "github.com/envoyproxy/ratelimit/src/service"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/sirupsen/logrus"
)

const (
	// The reference gives a key the expiry of its window in real time, plus a jitter.
	// Its clock is held here, so a window may last longer than its unit; a large and
	// constant jitter keeps the keys of such a window.
	expiryJitter = 1 << 12 // seconds; a power of two, see allOnes
	redisTimeout = time.Minute
	nearRatio    = 0.8
)

// ErrCrash is the error of a request that ends the reference's process.
var ErrCrash = errors.New("the reference panics")

// Options are settings of the reference service. The zero value has its defaults, without
// headers and metadata.
type Options struct {
	Headers       bool // response_headers_to_add
	HeaderNames   [3]string
	Metadata      bool // dynamic_metadata
	ShadowMode    bool // for all limits
	QuotaMode     bool // for all limits
	MergeDomains  bool // several files may configure a domain
	StopIncrement bool // STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT
	// NearRatio is the share of a limit from which hits count as near; 0: the default.
	NearRatio float32
}

// environment returns the variables from which the reference reads o at each load.
func (o *Options) environment() map[string]string {
	env := map[string]string{
		"LIMIT_RESPONSE_HEADERS_ENABLED": strconv.FormatBool(o.Headers),
		"RESPONSE_DYNAMIC_METADATA":      strconv.FormatBool(o.Metadata),
		"SHADOW_MODE":                    strconv.FormatBool(o.ShadowMode),
		"QUOTA_MODE":                     strconv.FormatBool(o.QuotaMode),
	}
	for i, name := range []string{"LIMIT_LIMIT_HEADER", "LIMIT_REMAINING_HEADER", "LIMIT_RESET_HEADER"} {
		if o.HeaderNames[i] != "" {
			env[name] = o.HeaderNames[i]
		}
	}
	return env
}

// A Reference is the reference service with its redis cache, a clock that only Advance
// moves, and counters of its own. One goroutine uses it at a time.
type Reference struct {
	options Options
	nowMs   atomic.Int64
	client  redis.Client
	service service.RateLimitServiceServer
	stats   *stats.ManagerImpl
	sink    *sink
}

// references numbers the references of the process, which share a redis-server.
var references atomic.Int64

// NewReference returns a service over the redis-server at addr, with the clock at nowMs,
// in Unix milliseconds. The caller must Close it.
func NewReference(addr string, nowMs int64, o Options) (r *Reference, err error) {
	defer func() {
		if e, ok := recover().(redis.RedisError); ok {
			err = e
		}
	}()
	logrus.SetLevel(logrus.PanicLevel)
	r = &Reference{options: o, sink: newSink()}
	r.nowMs.Store(nowMs)
	store := r.sink.store()
	r.stats = stats.NewStatManager(store, settings.Settings{})
	r.client = redis.NewClientImpl(
		store, false, "", "tcp", "single", addr, 1, 0, 0, nil, false, nil, redisTimeout, "", "")
	ratio := o.NearRatio
	if ratio == 0 {
		ratio = nearRatio
	}
	cache := redis.NewFixedRateLimitCacheImpl(
		r.client, nil, r, rand.New(allOnes{}), expiryJitter, nil, ratio,
		fmt.Sprintf("reference%d:", references.Add(1)), r.stats, o.StopIncrement)
	// Without a health checker, which would catch SIGTERM of the whole process.
	r.service = service.NewService(cache, neverProvider{}, r.stats, nil, r, o.ShadowMode, true, false)
	return r, nil
}

// UnixNow returns the instant in seconds. The reference calls it.
func (r *Reference) UnixNow() int64 { return r.nowMs.Load() / 1000 }

// NowMs returns the instant in Unix milliseconds.
func (r *Reference) NowMs() int64 { return r.nowMs.Load() }

// Advance moves the clock forward by d, which is in whole milliseconds.
func (r *Reference) Advance(d time.Duration) error {
	r.nowMs.Add(d.Milliseconds())
	return nil
}

// ReadConfig returns the configuration that the reference makes of files, by name. It
// reads them in the order of their names; the reference's order is not defined.
func (r *Reference) ReadConfig(files map[string]string) (config.RateLimitConfig, error) {
	return readConfig(files, r.stats, r.options.MergeDomains)
}

func readConfig(files map[string]string, m stats.Manager, merge bool) (_ config.RateLimitConfig, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case config.RateLimitConfigError:
			err = e
		default:
			err = fmt.Errorf("%w: %v", ErrCrash, e)
		}
	}()
	var loads []config.RateLimitConfigToLoad
	for _, name := range slices.Sorted(maps.Keys(files)) {
		key := strings.ReplaceAll(name, "/", ".")
		loads = append(loads, config.RateLimitConfigToLoad{
			Name: key, ConfigYaml: config.ConfigFileContentToYaml(key, files[name]),
		})
	}
	return config.NewRateLimitConfigLoaderImpl().Load(loads, m, merge), nil
}

// environment serializes the use of the process' environment, from which the reference
// reads its settings whenever it takes a configuration.
var environment sync.Mutex

// Load replaces the configuration by files, by name. If the reference refuses them, the
// former configuration stays and the error is the reference's.
func (r *Reference) Load(files map[string]string) error {
	c, err := r.ReadConfig(files)
	if err != nil {
		return err
	}
	environment.Lock()
	defer environment.Unlock()
	for name, value := range r.options.environment() {
		former, set := os.LookupEnv(name)
		if err := os.Setenv(name, value); err != nil {
			return err
		}
		defer func() {
			if set {
				_ = os.Setenv(name, former) // it was valid
			} else {
				_ = os.Unsetenv(name)
			}
		}()
	}
	r.service.SetConfig(update{c}, false)
	return nil
}

// Dump returns what the reference shows of its configuration, in sorted lines.
func (r *Reference) Dump() string {
	c, _, _ := r.service.GetCurrentConfig()
	if c == nil {
		return ""
	}
	return sortedLines(c.Dump())
}

// Decide returns the reference's answer. Its errors are those of the service, or ErrCrash.
func (r *Reference) Decide(request *pb.RateLimitRequest) (_ *pb.RateLimitResponse, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("%w: %v", ErrCrash, e)
		}
	}()
	return r.service.ShouldRateLimit(context.Background(), request)
}

// Counters returns the statistics of limits and of the service since the start, by name.
// Counters at 0 are absent.
func (r *Reference) Counters() map[string]uint64 {
	r.stats.GetStatsStore().Flush()
	return r.sink.counters()
}

// Close disconnects from redis-server. The keys expire by themselves.
func (r *Reference) Close() error { return r.client.Close() }

func sortedLines(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// update is a configuration on its way into the service.
type update struct{ config config.RateLimitConfig }

func (u update) GetConfig() (config.RateLimitConfig, any) { return u.config, nil }

// neverProvider has no configurations: Load hands them to the service.
type neverProvider struct{}

func (neverProvider) ConfigUpdateEvent() <-chan provider.ConfigUpdateEvent { return nil }
func (neverProvider) Stop()                                                {}

// allOnes is a random source with one number, which makes the jitter its maximum.
type allOnes struct{}

func (allOnes) Int63() int64 { return 1<<63 - 1 }
func (allOnes) Seed(int64)   {}
