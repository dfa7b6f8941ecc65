package main

import (
	"context"
	"fmt"
	"time"
)

// A meanwhile is what others noticed, round by round, while a server did something large.
type meanwhile struct {
	server      string
	quiet, loud []float64 // p99 before and meanwhile, in milliseconds
	took        []float64 // seconds
	loads       []*tally
}

// meanwhile paces a load over a million limiters' keys, in each round without anything else and then by
// during, which has the server do something and returns how long that took. doing says what.
func (b *bench) meanwhile(ctx context.Context, c contender, say say, doing string,
	during func(s *serverProcess, l load, perSecond float64) (*tally, time.Duration, error),
) (*meanwhile, error) {
	const keys, perSecond = 1_000_000, 10_000
	s, err := b.start(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := s.fillLimiters(ctx, keys); err != nil {
		return nil, err
	}
	l := b.pace(s, c.flow, 10_000, generous)
	if _, err := l.paced(ctx, perSecond, nil); err != nil { // warm up
		return nil, err
	}
	m := &meanwhile{server: s.name}
	for range b.rounds {
		before, err := l.paced(ctx, perSecond, nil)
		if err != nil {
			return nil, err
		}
		after, took, err := during(s, *l, perSecond)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		quiet, loud := ms(before.latency.quantile(0.99)), ms(after.latency.quantile(0.99))
		say("%s: p99: quiet %.3f ms, %s for %.2f s %.3f ms", s.name, quiet, doing, took.Seconds(), loud)
		m.quiet, m.loud = append(m.quiet, quiet), append(m.loud, loud)
		m.took, m.loads = append(m.took, took.Seconds()), append(m.loads, before, after)
	}
	return m, nil
}

// p99 compares p99 before with p99 meanwhile.
func (m *meanwhile) p99(name, about string, floor float64) result {
	res := lower(name, "p99 of "+about, "ms", floor,
		figure{Name: m.server + " meanwhile", Value: median(m.loud)},
		figure{Name: m.server + " quiet", Value: median(m.quiet)})
	res.Ratio = compare(m.quiet, m.loud)
	res.warnAway(m.loads)
	return res
}
