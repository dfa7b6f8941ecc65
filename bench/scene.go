package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// A scene is a load on a server while that does something, or nothing. Rows of scenes compare what the
// connections notice.
type scene struct {
	name   string    // in the report
	server int       // index of the row's side
	begin  beginning // nil: nothing happens
}

// A beginning prepares a server for a round and changes its load. What it returns is called after the round,
// unless it is nil.
type beginning func(ctx context.Context, s *serverProcess, l *load) (ending, error)

// An ending returns how long the server took for what it did, if that is known.
type ending func() (took time.Duration, err error)

// A versus compares two scenes of a row, or one with a bound.
type versus struct {
	suffix     string // of the result's name
	ours, than int    // indices of the scenes
	bound      float64
	floor      float64
}

// A stage is what the scenes of a row have in common.
type stage struct {
	// load is that of each scene, without address and flow. Its pipeline is 1. If it has no duration, that is
	// the bench's, divided by shorter if that is not 0; then there are more rounds.
	load    load
	keys    uint64
	shorter int
	// setup, if not nil, prepares the server of a side once.
	setup  func(ctx context.Context, s *serverProcess, side int) error
	scenes []scene
	// figure returns what is compared, in milliseconds.
	figure func(t *tally) float64
	// The first result has the row's floor. If timed is set, another one compares the times that the endings
	// of the first scenes of either server returned.
	versus    []versus
	timed     bool
	tookFloor float64
}

// quantile returns a figure: a quantile of the waits, in milliseconds.
func quantile(q float64) func(t *tally) float64 {
	return func(t *tally) float64 { return ms(t.latency.quantile(q)) }
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// loadOn returns the load of a round.
func (st stage) loadOn(b *bench, s *serverProcess, f flow) *load {
	l := st.load
	l.address, l.flow, l.pipeline = s.address, f, 1
	l.keys, l.connections = uniform(cmp.Or(st.keys, 10_000), 0), cmp.Or(l.connections, 50)
	l.quota = cmp.Or(l.quota, generous)
	l.duration = cmp.Or(l.duration, b.length/time.Duration(max(st.shorter, 1)))
	return &l
}

// measure runs the scenes in turn, round by round, in an order that is drawn for each.
func (st stage) measure(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	servers := make([]*serverProcess, len(r.sides))
	for i, c := range r.sides {
		s, err := b.start(ctx, c)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		err = s.command(shaOf(script), "SCRIPT", "LOAD", script)
		if err == nil && st.setup != nil {
			err = st.setup(ctx, s, i)
		}
		if err == nil {
			_, err = st.loadOn(b, s, c.flow).run(ctx) // warm up
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		servers[i] = s
	}
	rounds := b.rounds * max(st.shorter, 1)
	figures, took := make([][]float64, len(st.scenes)), make([][]float64, len(st.scenes))
	var loads []*tally
	for n := range rounds {
		for _, i := range b.shuffle.Perm(len(st.scenes)) {
			t, d, err := st.play(ctx, b, r, i, servers)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", st.scenes[i].name, err)
			}
			figures[i], took[i] = append(figures[i], st.figure(t)), append(took[i], d.Seconds())
			loads = append(loads, t)
		}
		text := fmt.Sprintf("round %d of %d:", n+1, rounds)
		for i, sc := range st.scenes {
			text += fmt.Sprintf(" %s %s;", sc.name, quantity(figures[i][n], "ms"))
		}
		say("%s", text[:len(text)-1])
	}
	return st.results(b, r, figures, took, loads), nil
}

// play runs the round of a scene. It also returns how long the server took for what it did.
func (st stage) play(
	ctx context.Context, b *bench, r row, i int, servers []*serverProcess,
) (t *tally, took time.Duration, err error) {
	sc := st.scenes[i]
	s := servers[sc.server]
	l := st.loadOn(b, s, r.sides[sc.server].flow)
	var end ending
	if sc.begin != nil {
		if end, err = sc.begin(ctx, s, l); err != nil {
			return nil, 0, err
		}
	}
	t, err = l.run(ctx)
	if end != nil {
		var endErr error
		took, endErr = end()
		err = cmp.Or(err, endErr)
	}
	return t, took, err
}

func (st stage) results(b *bench, r row, figures, took [][]float64, loads []*tally) (results []result) {
	of := func(values [][]float64, i int) series { return series{st.scenes[i].name, values[i]} }
	for i, v := range st.versus {
		other := of(figures, v.than)
		if v.bound > 0 {
			other = bound(v.bound, len(figures[v.ours]))
		}
		if i == 0 {
			v.floor = r.floor
		}
		res := weigh(r.name+v.suffix, r.about, "ms", b.floor(v.floor), of(figures, v.ours), other)
		if i == 0 {
			res.warnAway(loads)
		}
		results = append(results, res)
	}
	if st.timed {
		theirs := slices.IndexFunc(st.scenes, func(sc scene) bool { return sc.server == 1 })
		results = append(results, weigh(r.name+"-took", "seconds of "+r.about, "s", b.floor(st.tookFloor),
			of(took, 0), of(took, theirs)))
	}
	return results
}
