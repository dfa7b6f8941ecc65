package export

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A source is a master whose keys are moved.
type source struct {
	addr    string
	cluster bool
	client  *redis.Client
	former  map[string]string // the directives of the fence, as they were; nil: it is not fenced

	tracker *redis.Conn   // the connection that tracks; if it ends, nothing is announced
	names   *redis.Client // the one below only
	heard   *redis.PubSub
	pongs   chan string
	ended   chan struct{} // closed when nothing is received any more

	mu      sync.Mutex      // protects the fields below
	changed map[string]bool // keys that have changed since they were copied
	failed  error           // why announcements are incomplete
}

// openSources connects to the masters. They announce changed keys from here on.
func (m *move) openSources(ctx context.Context) ([]*source, error) {
	addrs, clustered, err := masters(ctx, m.From, m.FromTLS)
	if err != nil {
		return nil, err
	}
	var all []*source
	for _, addr := range addrs {
		s := &source{
			addr: addr, cluster: clustered, client: redis.NewClient(plain(addr, m.From, m.FromTLS)),
			changed: map[string]bool{}, pongs: make(chan string, 16), ended: make(chan struct{}),
		}
		all = append(all, s)
		if err := s.check(ctx); err != nil {
			return all, fmt.Errorf("%s: %w", addr, err)
		}
		if m.Quiet {
			continue
		}
		if err := s.track(ctx, plain(addr, m.From, m.FromTLS)); err != nil {
			return all, fmt.Errorf("%s: it cannot announce keys that change: %w", addr, err)
		}
	}
	return all, nil
}

// check returns an error if the source has what cannot be moved.
func (s *source) check(ctx context.Context) error {
	text, err := s.client.Info(ctx, "keyspace").Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		name, _, ok := strings.Cut(line, ":")
		if ok && strings.HasPrefix(name, "db") && name != "db0" {
			return fmt.Errorf("%w: %s", errDatabases, strings.TrimSpace(line))
		}
	}
	return nil
}

// track makes the source announce keys that change, and gathers their names.
func (s *source) track(ctx context.Context, o *redis.Options) error {
	var id atomic.Int64
	connected := 0
	o.PoolSize = 1
	o.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		if connected++; connected > 1 {
			return errors.New("the connection with announcements was lost")
		}
		n, err := c.ClientID(ctx).Result()
		id.Store(n)
		return err
	}
	s.names = redis.NewClient(o)
	s.heard = s.names.Subscribe(ctx, "__redis__:invalidate")
	if _, err := s.heard.Receive(ctx); err != nil {
		return err
	}
	s.tracker = s.client.Conn()
	go s.hear()
	return s.tracker.Do(ctx, "CLIENT", "TRACKING", "ON", "REDIRECT", id.Load(), "BCAST").Err()
}

// hear gathers names until the connection ends.
func (s *source) hear() {
	defer close(s.ended)
	for {
		message, err := s.heard.Receive(context.Background())
		switch message := message.(type) {
		case *redis.Message:
			s.note(message)
		case *redis.Pong:
			s.pongs <- message.Payload
		}
		if err != nil {
			if strings.Contains(err.Error(), "unsupported") { // the null that stands for all keys
				err = errEmptied
			}
			s.mu.Lock()
			s.failed = err
			s.mu.Unlock()
			return
		}
	}
}

func (s *source) note(message *redis.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range message.PayloadSlice {
		s.changed[key] = true
	}
	if message.Payload != "" {
		s.changed[message.Payload] = true
	}
}

// taken returns the keys that have changed, and forgets them. It has all that had changed before.
func (s *source) taken(ctx context.Context, pass int) ([]string, error) {
	// DBSIZE waits for commands under way. What a command has changed is announced before what follows,
	// but some servers announce it at the end of a turn; so two questions are asked.
	if err := s.client.DBSize(ctx).Err(); err != nil {
		return nil, err
	}
	if err := s.tracker.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("the connection that tracks: %w", err)
	}
	for i := range 2 {
		if err := s.awaitPong(ctx, strconv.Itoa(2*pass+i)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.changed))
	for key := range s.changed {
		keys = append(keys, key)
	}
	s.changed = map[string]bool{}
	return keys, s.failed
}

// awaitPong waits until everything has been heard that was sent before.
func (s *source) awaitPong(ctx context.Context, word string) error {
	if err := s.heard.Ping(ctx, word); err != nil {
		return err
	}
	for {
		select {
		case got := <-s.pongs:
			if got == word {
				return nil
			}
		case <-s.ended:
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.failed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *source) close() {
	if s.heard != nil {
		_ = s.heard.Close() // only read
	}
	if s.tracker != nil {
		<-s.ended
		_ = s.tracker.Close()
	}
	if s.names != nil {
		_ = s.names.Close()
	}
	_ = s.client.Close()
}
