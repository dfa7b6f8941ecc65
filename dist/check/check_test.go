package check

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

const (
	dashboardFile = "../grafana/zlimit.json"
	alertsFile    = "../prometheus/alerts.yml"
)

// A dashboard is what the tests look at of Grafana's model.
type dashboard struct {
	Title      string
	UID        string `json:"uid"`
	Panels     []panel
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr, LegendFormat, RefID string }
}

// TestAll starts one server for the dashboard and the alerts.
func TestAll(t *testing.T) {
	first, second := scrapes(t)
	all := read(t, first, second)
	t.Run("histograms", func(t *testing.T) { checkHistograms(t, all) })
	t.Run("dashboard", func(t *testing.T) { checkDashboard(t, newDatabase(t, all, growing)) })
	t.Run("alerts", func(t *testing.T) { checkAlerts(t, all) })
}

// checkHistograms checks that buckets do not fall as their bounds rise, and that the last
// has all.
func checkHistograms(t *testing.T, all []series) {
	counts := map[string]float64{}
	buckets := map[string][]series{}
	for _, s := range all {
		name := s.labels.Get(labels.MetricName)
		of := labels.NewBuilder(s.labels).Del(labels.MetricName, labels.BucketLabel).Labels().String()
		if metric, ok := strings.CutSuffix(name, "_count"); ok {
			counts[metric+of] = s.second
		}
		if metric, ok := strings.CutSuffix(name, "_bucket"); ok {
			buckets[metric+of] = append(buckets[metric+of], s)
		}
	}
	require.Contains(t, buckets,
		`zlimit_decision_fullness_ratio{algorithm="log", instance="127.0.0.1:9100", job="zlimit", prefix="tenant:"}`)
	for name, of := range buckets {
		bound := func(s series) float64 {
			le, err := strconv.ParseFloat(s.labels.Get(labels.BucketLabel), 64)
			require.NoError(t, err, name)
			return le
		}
		slices.SortFunc(of, func(a, b series) int { return cmp.Compare(bound(a), bound(b)) })
		for i := range of[1:] {
			require.LessOrEqual(t, of[i].second, of[i+1].second, name)
		}
		last := of[len(of)-1]
		require.True(t, math.IsInf(bound(last), 1), name)
		require.InDelta(t, counts[name], last.second, 0, name)
	}
}

// legendLabel is a label within a legend.
var legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// interpolate replaces the variables of Grafana.
var interpolate = strings.NewReplacer("$__rate_interval", "2m", "$job", ".*", "$instance", ".*")

// checkDashboard runs each query of the dashboard, which must have a result with the
// labels of its legend.
func checkDashboard(t *testing.T, d *database) {
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var board dashboard
	require.NoError(t, json.Unmarshal(text, &board))
	require.Equal(t, "zlimit", board.UID)
	var variables []string
	for _, v := range board.Templating.List {
		variables = append(variables, v.Name)
		if v.Definition != "" {
			metric, _, _ := strings.Cut(strings.TrimPrefix(v.Definition, "label_values("), ",")
			metric, _, _ = strings.Cut(metric, "{")
			require.NotNil(t, d.labels[metric], v.Definition)
		}
	}
	require.Equal(t, []string{"datasource", "job", "instance"}, variables)
	seen := map[int]bool{}
	cells := map[[2]int]string{}
	for _, p := range board.Panels {
		require.False(t, seen[p.ID], "two panels have the id %d", p.ID)
		seen[p.ID] = true
		g := p.GridPos
		require.LessOrEqual(t, g.X+g.W, 24, p.Title)
		for x := range g.W {
			for y := range g.H {
				at := [2]int{g.X + x, g.Y + y}
				require.Empty(t, cells[at], "%s lies over another panel", p.Title)
				cells[at] = p.Title
			}
		}
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			expr := interpolate.Replace(target.Expr)
			require.NotContains(t, expr, "$", p.Title)
			require.Empty(t, d.faults(expr), p.Title)
			result := d.query(expr)
			require.NotEmpty(t, result, "%s: %s", p.Title, expr)
			for _, label := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				require.True(t, result[0].Metric.Has(label[1]), "%s: the legend's %s", p.Title, label[1])
			}
		}
	}
	require.Greater(t, len(seen), 20)
}

// An incident is how a metric's series look when an alert is due.
type incident struct {
	metric string
	value  func(s *series, step int) float64
}

func constant(v float64) func(*series, int) float64 {
	return func(*series, int) float64 { return v }
}

func rising(perStep float64) func(*series, int) float64 {
	return func(_ *series, step int) float64 { return perStep * float64(step) }
}

// incidents has one for each alert.
var incidents = map[string]incident{
	"ZlimitDown":               {"up", constant(0)},
	"ZlimitWritesRefused":      {"zlimit_aof_ok", constant(0)},
	"ZlimitSnapshotFailed":     {"zlimit_rdb_ok", constant(0)},
	"ZlimitRewriteFailed":      {"zlimit_aof_rewrite_ok", constant(0)},
	"ZlimitDiskSlow":           {"zlimit_aof_delayed_fsyncs_total", rising(1)},
	"ZlimitRoleNotKept":        {"zlimit_sentinels_connected", constant(1)},
	"ZlimitLoading":            {"zlimit_loading", constant(1)},
	"ZlimitMemoryAlmostFull":   {"zlimit_used_memory_bytes", constant(100 << 20)},
	"ZlimitEvicting":           {"zlimit_evicted_keys_total", rising(1)},
	"ZlimitPrefixFull":         {"zlimit_prefix_refused_total", rising(1)},
	"ZlimitClientsAlmostFull":  {"zlimit_connected_clients", constant(9_500)},
	"ZlimitConnectionsRefused": {"zlimit_rejected_connections_total", rising(1)},
	"ZlimitLoginsFail":         {"zlimit_acl_denied_total", rising(100)},
	"ZlimitClockAhead":         {"zlimit_clock_ahead_seconds", constant(60)},
	"ZlimitSlowCommands":       {"zlimit_slow_commands_total", rising(60)},
	"ZlimitDoctorFinding":      {"zlimit_doctor_findings_total", rising(1)},
	"ZlimitSlow": {"zlimit_command_duration_seconds_bucket", func(s *series, step int) float64 {
		if s.labels.Get("le") == "+Inf" {
			return float64(step)
		}
		return 0
	}},
}

// checkAlerts checks the file as promtool does, and that each alert is silent about a
// healthy server and is due in its incident.
func checkAlerts(t *testing.T, all []series) {
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.UTF8Validation,
		parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	healthy := newDatabase(t, all, still)
	seen := map[string]bool{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Alert)
			require.False(t, seen[rule.Alert], rule.Alert)
			seen[rule.Alert] = true
			require.Contains(t, rule.Annotations, "summary", rule.Alert)
			require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
			require.NotZero(t, rule.For, rule.Alert)
			require.Empty(t, healthy.faults(rule.Expr), rule.Alert)
			require.Empty(t, healthy.query(rule.Expr), rule.Alert)

			one, ok := incidents[rule.Alert]
			require.True(t, ok, "the test has no incident for %s", rule.Alert)
			ill := newDatabase(t, all, func(s *series, step int) float64 {
				if s.labels.Get(labels.MetricName) == one.metric {
					return one.value(s, step)
				}
				return still(s, step)
			})
			due := ill.query(rule.Expr)
			require.NotEmpty(t, due, rule.Alert)
			for _, text := range rule.Annotations {
				for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
					require.True(t, due[0].Metric.Has(label[1]), "%s: %s", rule.Alert, label[1])
				}
			}
		}
	}
	require.Len(t, seen, len(incidents))
}
