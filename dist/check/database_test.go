package check

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/require"
)

// Samples are taken at these instants.
const (
	steps    = 20
	interval = 30 * time.Second
)

var start = time.Unix(1_700_000_000, 0)

// A series is what two scrapes say of one.
type series struct {
	labels        labels.Labels
	first, second float64
}

// read parses two scrapes. As Prometheus does, it adds the labels of the target and the
// series up.
func read(t *testing.T, first, second string) []series {
	t.Helper()
	values := map[string]float64{}
	parse(t, first, func(l labels.Labels, v float64) { values[l.String()] = v })
	var out []series
	add := func(l labels.Labels, before, after float64) {
		b := labels.NewBuilder(l)
		b.Set("job", "zlimit")
		b.Set("instance", "127.0.0.1:9100")
		out = append(out, series{b.Labels(), before, after})
	}
	parse(t, second, func(l labels.Labels, v float64) {
		before, ok := values[l.String()]
		if !ok {
			before = v
		}
		add(l, before, v)
	})
	add(labels.FromStrings(labels.MetricName, "up"), 1, 1)
	return out
}

func parse(t *testing.T, text string, fn func(l labels.Labels, v float64)) {
	t.Helper()
	p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		if entry == textparse.EntrySeries {
			_, _, v := p.Series()
			var l labels.Labels
			p.Labels(&l)
			fn(l, v)
		}
	}
}

// A database is a Prometheus with samples.
type database struct {
	t       *testing.T
	storage storage.Queryable
	engine  *promql.Engine
	labels  map[string]map[string]bool // of each metric
}

// newDatabase stores what value returns for each series at each step.
func newDatabase(t *testing.T, all []series, value func(s *series, step int) float64) *database {
	t.Helper()
	stored := teststorage.New(t)
	d := &database{
		t: t, storage: stored, labels: map[string]map[string]bool{},
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		}),
	}
	t.Cleanup(func() { require.NoError(t, d.engine.Close()) })
	for step := range steps + 1 {
		appender := stored.Appender(t.Context())
		at := start.Add(time.Duration(step) * interval).UnixMilli()
		for i := range all {
			_, err := appender.Append(0, all[i].labels, at, value(&all[i], step))
			require.NoError(t, err)
		}
		require.NoError(t, appender.Commit())
	}
	for i := range all {
		name := all[i].labels.Get(labels.MetricName)
		if d.labels[name] == nil {
			d.labels[name] = map[string]bool{}
		}
		all[i].labels.Range(func(l labels.Label) { d.labels[name][l.Name] = true })
	}
	return d
}

// growing are the values between the two scrapes.
func growing(s *series, step int) float64 { return s.first + (s.second-s.first)*float64(step)/steps }

// still are the values of the second scrape, at all times: of a server to which nothing
// happens.
func still(s *series, _ int) float64 { return s.second }

// query runs a query at the end and returns its result.
func (d *database) query(text string) promql.Vector {
	d.t.Helper()
	q, err := d.engine.NewInstantQuery(d.t.Context(), d.storage, nil, text, start.Add(steps*interval))
	require.NoError(d.t, err, text)
	defer q.Close()
	result := q.Exec(d.t.Context())
	require.NoError(d.t, result.Err, text)
	vector, err := result.Vector()
	require.NoError(d.t, err, text)
	return slices.Clone(vector)
}

// faults returns which metrics and labels of a query do not exist.
func (d *database) faults(text string) []string {
	d.t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	out := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		selector, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		known := d.labels[selector.Name]
		if known == nil {
			out["there is no metric "+selector.Name] = true
			return nil
		}
		for _, m := range selector.LabelMatchers {
			if !known[m.Name] {
				out[selector.Name+" has no label "+m.Name] = true
			}
		}
		return nil
	})
	return slices.Sorted(maps.Keys(out))
}

// TestFaults checks that the check finds what it is to find.
func TestFaults(t *testing.T) {
	d := newDatabase(t, read(t, "a{x=\"1\"} 1\n", "a{x=\"1\"} 21\n"), growing)
	require.Empty(t, d.faults(`sum(rate(a{x="1",job="zlimit"}[1m])) / up`))
	require.Equal(t, []string{"a has no label y", "there is no metric b"}, d.faults(`a{y="1"} + b`))
	require.Contains(t, strings.Join(d.faults(`sum(`), ""), "unclosed left parenthesis")
	require.InDelta(t, 1.0/30, d.query("rate(a[5m])")[0].F, 1e-9)
	require.Empty(t, d.query("a > 21"))
}
