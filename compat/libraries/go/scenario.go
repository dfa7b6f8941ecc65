package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	limit, long           = 5, 3600
	edgeLimit, edgeWindow = 4, 2
	callers, crowdLimit   = 1000, 50
)

// edgePlan lists how far the clock advances within the short window before each step, and the number of
// calls. It is four seconds in all, because some limiters cannot count less than one.
var edgePlan = []struct {
	pause time.Duration
	count int
}{{0, 5}, {1250 * time.Millisecond, 3}, {1500 * time.Millisecond, 5}, {1250 * time.Millisecond, 0}}

type scenario struct {
	server  *redis.Client
	clock   heldClock
	key     string
	limiter limiter
	printed int // hits are numbered from 1: the libraries take no instants
}

func (s *scenario) run(ctx context.Context) error {
	call, err := s.limiter(limit, long)
	if err != nil {
		return err
	}
	answers, err := repeat(ctx, call, s.key+"-over", limit+3)
	if err != nil {
		return err
	}
	s.print(answers)
	if err := s.edge(ctx); err != nil {
		return err
	}
	if err := s.afterFirst(ctx, call, "flushed", s.flushScripts); err != nil {
		return err
	}
	if err := s.afterFirst(ctx, call, "severed", s.closeConnections); err != nil {
		return err
	}
	if err := s.afterFirst(ctx, call, "emptied", s.empty); err != nil {
		return err
	}
	if err := s.broken(ctx, call); err != nil {
		return err
	}
	return s.crowd(ctx)
}

func (s *scenario) line(decision, fields string) {
	s.printed++
	fmt.Println(s.printed, decision, fields)
}

func (s *scenario) print(answers []answer) {
	for _, a := range answers {
		decision := "denied"
		if a.allowed {
			decision = "allowed"
		}
		s.line(decision, a.fields)
	}
}

func repeat(ctx context.Context, call hit, key string, count int) ([]answer, error) {
	var answers []answer
	for range count {
		a, err := call(ctx, key)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// edge crosses the end of a short window.
func (s *scenario) edge(ctx context.Context) error {
	call, err := s.limiter(edgeLimit, edgeWindow)
	if err != nil {
		return err
	}
	for _, step := range edgePlan {
		if err := s.clock.advance(ctx, step.pause); err != nil {
			return err
		}
		answers, err := repeat(ctx, call, s.key+"-edge", step.count)
		if err != nil {
			return err
		}
		s.print(answers)
	}
	return nil
}

// afterFirst calls disturb between the first call and the others.
func (s *scenario) afterFirst(
	ctx context.Context, call hit, suffix string, disturb func(context.Context) error,
) error {
	key := s.key + "-" + suffix
	first, err := repeat(ctx, call, key, 1)
	if err != nil {
		return err
	}
	if err := disturb(ctx); err != nil {
		return err
	}
	rest, err := repeat(ctx, call, key, limit+1)
	if err != nil {
		return err
	}
	s.print(append(first, rest...))
	return nil
}

func (s *scenario) flushScripts(ctx context.Context) error { return s.server.ScriptFlush(ctx).Err() }

func (s *scenario) empty(ctx context.Context) error { return s.server.FlushAll(ctx).Err() }

// closeConnections closes every connection except its own.
func (s *scenario) closeConnections(ctx context.Context) error {
	return s.server.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err()
}

// broken replaces every key of the limiter by a hash, as an older limiter might have left it.
func (s *scenario) broken(ctx context.Context, call hit) error {
	key := s.key + "-broken"
	if _, err := call(ctx, key); err != nil {
		return err
	}
	names, err := s.server.Keys(ctx, "*"+key+"*").Result()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("the limiter made no key with %s in its name", key)
	}
	slices.Sort(names)
	for _, name := range names {
		// The time to live differs from long, which a script may treat specially.
		err := errors.Join(s.server.Del(ctx, name).Err(), s.server.HSet(ctx, name, "left", "over").Err(),
			s.server.Expire(ctx, name, 2*long*time.Second).Err())
		if err != nil {
			return err
		}
	}
	a, err := call(ctx, key)
	if err != nil {
		s.line("broken", "error="+strings.ReplaceAll(err.Error(), " ", "_"))
	} else {
		s.line("broken", a.fields+" error=none")
	}
	return nil
}

// crowd makes concurrent calls for one key: exactly the limit must be allowed.
func (s *scenario) crowd(ctx context.Context) error {
	call, err := s.limiter(crowdLimit, long)
	if err != nil {
		return err
	}
	var (
		wait    sync.WaitGroup
		allowed atomic.Int64
		failed  atomic.Pointer[error] // the last failure, or nil
	)
	for range callers {
		wait.Go(func() {
			a, err := call(ctx, s.key+"-crowd")
			if err != nil {
				failed.Store(&err)
			} else if a.allowed {
				allowed.Add(1)
			}
		})
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	if n := allowed.Load(); n != crowdLimit {
		return fmt.Errorf("%d of %d concurrent callers were allowed instead of %d", n, callers, crowdLimit)
	}
	s.line("crowd", fmt.Sprintf("allowed=%d denied=%d", crowdLimit, callers-crowdLimit))
	return nil
}

// seconds rounds a duration; -1 still means none, as in the libraries.
func seconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64(d.Round(time.Second) / time.Second)
}
