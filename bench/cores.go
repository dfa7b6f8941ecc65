package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"time"

	"github.com/zlimit/zlimit"
)

// sharedKeys is how many keys the goroutines of the row cores draw from, all from the
// same.
const sharedKeys = 10_000

// sharedNames returns the names of the shared keys and a picker of a worker's own.
func sharedNames(worker int) ([]string, *picker) {
	names := make([]string, sharedKeys)
	for i := range names {
		name := []byte(keyPrefix + "00000:0000000")
		digits(name[numberAt:], uint64(i))
		names[i] = string(name)
	}
	p := uniform(sharedKeys, 0)
	p.state ^= uint64(worker+1) * 0xbf58476d1ce4e5b9
	return names, p
}

func sharedAllow(l *zlimit.Limiter, worker int) (func(int) error, error) {
	names, keys := sharedNames(worker)
	quota := zlimit.Quota{Limit: 100, Window: time.Second}
	return func(int) error {
		_, n := keys.next()
		_, err := l.Allow(context.Background(), names[n], quota, 1)
		return err
	}, nil
}

func sharedEvalsha(l *zlimit.Limiter, worker int) (func(int) error, error) {
	names, keys := sharedNames(worker)
	sum := sha1.Sum([]byte(script))
	sha, ctx := hex.EncodeToString(sum[:]), context.Background()
	if _, err := l.Do(ctx, "SCRIPT", "LOAD", script); err != nil {
		return nil, err
	}
	s := l.Session()
	return func(int) error {
		_, n := keys.next()
		_, err := s.Do(ctx, "EVALSHA", sha, "1", names[n], "1700000000000", "60000", "100")
		return err
	}, nil
}

func sharedIncr(l *zlimit.Limiter, worker int) (func(int) error, error) {
	names, keys := sharedNames(worker)
	ctx, s := context.Background(), l.Session()
	return func(int) error {
		_, n := keys.next()
		_, err := s.Do(ctx, "INCR", names[n])
		return err
	}, nil
}
