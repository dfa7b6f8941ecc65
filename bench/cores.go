package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
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

// cores measures two cores against one, on keys that both draw from: in process, and in
// as many goroutines as cores.
func cores(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	var results []result
	for _, w := range []struct{ work, about string }{
		{"allow", "Allow"}, {"evalsha", "the documents' script by EVALSHA"}, {"incr", "INCR"},
	} {
		var perSecond, nanos [2][]float64
		for range b.rounds {
			for _, i := range b.shuffle.Perm(2) {
				n, ns, err := b.insideOnce(ctx, "shared-"+w.work, i+1)
				if err != nil {
					return nil, err
				}
				perSecond[i], nanos[i] = append(perSecond[i], n), append(nanos[i], ns)
			}
		}
		one, two := median(perSecond[0]), median(perSecond[1])
		say("%s: one core %s/s, %.0f ns of processor time a call; two %s/s, %.0f ns", w.work, thousands(one),
			median(nanos[0]), thousands(two), median(nanos[1]))
		res := higher(r.name+"-"+w.work, fmt.Sprintf("%s in the process of its caller, %d keys shared, two "+
			"cores against one", w.about, sharedKeys), "/s", r.target(b.quick),
			figure{Name: "two cores", Value: two}, figure{Name: "one core", Value: one})
		res.Ratio = compare(perSecond[1], perSecond[0])
		res.Missed = missed(res.Ratio.OfMedians, res.Floor)
		results = append(results, res)
	}
	return results, nil
}
