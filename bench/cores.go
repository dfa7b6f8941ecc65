package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
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

// socketRows returns the rows of cores over sockets.
func socketRows() []row {
	return []row{{
		name: "cores-sockets", about: "a server on two cores, one of which the client shares, against one",
		measure: coresOverSockets,
	}}
}

// coresOverSockets measures a server on two cores against one, over sockets and pipelined by 16. With two
// cores in all the client needs a part of the second, so the ratio has no floor; reported is what it could be
// at most, by the processor time that client and server take for a call.
func coresOverSockets(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const pipeline, connections = 16, 50
	if !b.where.pinned() {
		return nil, errors.New("two cores and taskset are needed")
	}
	spread := *b
	spread.where.spread = true
	var results []result
	for _, w := range []struct {
		name, about string
		flow        flow
	}{
		{"allow", "RL.ALLOW", rlAllow},
		{"evalsha", "the documents' script by EVALSHA", evalsha},
		{"incr", "INCR", increment},
	} {
		var servers [2]*serverProcess
		for i, on := range []*bench{b, &spread} {
			s, err := on.start(ctx, contender{program: ourServer})
			if err != nil {
				return nil, err
			}
			defer s.stop()
			if _, err := s.ask("SCRIPT", "LOAD", script); err != nil {
				return nil, err
			}
			servers[i] = s
		}
		var perSecond, server, client [2][]float64
		for n := range 1 + b.rounds {
			for _, i := range b.shuffle.Perm(2) {
				s := servers[i]
				if _, err := s.ask("FLUSHALL"); err != nil {
					return nil, err
				}
				l := b.pace(s, w.flow, 10_000, generous)
				l.pipeline, l.connections = pipeline, connections
				before, err := readProcess(s.pid)
				self, selfErr := readProcess(os.Getpid())
				if err := errors.Join(err, selfErr); err != nil {
					return nil, err
				}
				t, err := l.run(ctx)
				if err != nil {
					return nil, err
				}
				after, err := readProcess(s.pid)
				selfAfter, selfErr := readProcess(os.Getpid())
				if err := errors.Join(err, selfErr); err != nil {
					return nil, err
				}
				if n > 0 { // the first is a warm-up
					calls := float64(t.all)
					perSecond[i] = append(perSecond[i], float64(t.flows)/t.elapsed.Seconds())
					server[i] = append(server[i], float64(after.cpu-before.cpu)/1e3/calls)
					client[i] = append(client[i], float64(selfAfter.cpu-self.cpu)/1e3/calls)
				}
			}
		}
		servers[0].stop()
		servers[1].stop()
		one, two := median(perSecond[0]), median(perSecond[1])
		res := higher(r.name+"-"+w.name, w.about+" pipelined by 16, two cores against one", "/s", 0,
			figure{Name: "two cores", Value: two}, figure{Name: "one core", Value: one})
		res.Ratio = compare(perSecond[1], perSecond[0])
		most := 2 / (1 + median(client[1])/median(server[0]))
		text := fmt.Sprintf("a call takes %.2f us of the server on one core, %.2f on two, and %.2f of the "+
			"client, so that %.2f is the most that two cores could give",
			median(server[0]), median(server[1]), median(client[1]), most)
		say("%s: one core %s/s, two %s/s; %s", w.name, thousands(one), thousands(two), text)
		res.Warnings = append(res.Warnings, text)
		results = append(results, res)
	}
	return results, nil
}
