package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// From these shares of a core's time on, a figure comes with a warning.
const (
	saturated = 0.95 // a core with no room left
	foreign   = 0.10 // of a core taken by others
	disturbed = 0.02 // of the servers' core taken by the one whose turn it is not
)

// A report is everything that one run found, as --json writes it. Durations
// are nanoseconds, memory is bytes, throughput is flows (one decision or one
// plain command) a second.
type report struct {
	Started   time.Time `json:"started"`
	Machine   string    `json:"machine"`
	Placement string    `json:"placement"`
	Ours      string    `json:"ours"`
	Redis     string    `json:"redis"`
	Rounds    int       `json:"rounds"`
	Seconds   float64   `json:"seconds"`
	Rows      []result  `json:"rows"`
}

// A result is a row of the report.
type result struct {
	Name        string `json:"name"`
	About       string `json:"about"`
	Pipeline    int    `json:"pipeline"`
	Connections int    `json:"connections"`
	Keys        uint64 `json:"keys"`
	Ratio       ratio  `json:"ratio"`
	// CPURatio is what redis spends per flow by what ours spends: the same
	// comparison without the waiting, so other processes disturb it less. 0 when
	// the rounds were too short for the kernel's clock.
	CPURatio float64  `json:"cpu_ratio"`
	Floor    float64  `json:"floor,omitempty"`
	Missed   bool     `json:"missed,omitempty"`
	Ours     summary  `json:"ours"`
	Redis    summary  `json:"redis"`
	Warnings []string `json:"warnings,omitempty"`
}

// A summary is one server's medians, and the rounds that they are of.
type summary struct {
	PerSecond  float64       `json:"flows_per_second"`
	P50        time.Duration `json:"p50_ns"`
	P99        time.Duration `json:"p99_ns"`
	CPUPerMega float64       `json:"server_cpu_seconds_per_million"`
	RSS        int64         `json:"rss_bytes"`
	ServerBusy float64       `json:"server_busy"`
	ClientBusy float64       `json:"client_busy"`
	IdleBusy   float64       `json:"idle_server_busy"`
	Foreign    float64       `json:"foreign_busy"`
	Rounds     []round       `json:"rounds"`
}

func summarize(rounds []round) summary {
	of := func(get func(round) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, get(r))
		}
		return median(values)
	}
	return summary{
		PerSecond:  of(func(r round) float64 { return r.PerSecond }),
		P50:        time.Duration(of(func(r round) float64 { return float64(r.P50) })),
		P99:        time.Duration(of(func(r round) float64 { return float64(r.P99) })),
		CPUPerMega: of(func(r round) float64 { return r.CPUPerMega }),
		RSS:        int64(of(func(r round) float64 { return float64(r.RSS) })),
		ServerBusy: of(func(r round) float64 { return r.ServerBusy }),
		ClientBusy: of(func(r round) float64 { return r.ClientBusy }),
		IdleBusy:   of(func(r round) float64 { return r.IdleBusy }),
		Foreign:    of(func(r round) float64 { return r.Foreign }),
		Rounds:     rounds,
	}
}

// conclude makes a row's result of the rounds of both sides. floors scales the
// row's floor.
func conclude(r row, ours, redis []round, floors float64) result {
	perSecond := func(rounds []round) (values []float64) {
		for _, r := range rounds {
			values = append(values, r.PerSecond)
		}
		return values
	}
	res := result{
		Name: r.name, About: r.about, Pipeline: r.pipeline, Connections: r.connections, Keys: r.keys,
		Ratio: compare(perSecond(ours), perSecond(redis)),
		Floor: r.floor * floors,
		Ours:  summarize(ours), Redis: summarize(redis),
	}
	if res.Ours.CPUPerMega > 0 {
		res.CPURatio = res.Redis.CPUPerMega / res.Ours.CPUPerMega
	}
	res.Missed = missed(res.Ratio.OfMedians, res.Floor)
	res.warn("ours", "lower", res.Ours)
	res.warn("redis", "upper", res.Redis)
	return res
}

// warn says what makes a figure less than it seems. bound is what the ratio
// becomes when the client, not this server, was the bottleneck.
func (res *result) warn(name, bound string, s summary) {
	add := func(format string, args ...any) {
		res.Warnings = append(res.Warnings, name+": "+fmt.Sprintf(format, args...))
	}
	if s.ClientBusy > saturated && s.ServerBusy <= saturated {
		add("the client's core was full (%.0f%%) and the server's was not (%.0f%%): this server can do more, so the ratio is only %s bound",
			100*s.ClientBusy, 100*s.ServerBusy, map[string]string{"lower": "a lower", "upper": "an upper"}[bound])
	}
	if s.Foreign > foreign {
		add("other processes took %.0f%% of a core: do not trust this figure", 100*s.Foreign)
	}
	if s.IdleBusy > disturbed {
		add("the idle server took %.0f%% of its core during these rounds", 100*s.IdleBusy)
	}
}

// misses lists the floors that were missed, with the figures.
func (rep *report) misses() []string {
	var out []string
	for _, r := range rep.Rows {
		if r.Missed {
			out = append(out, fmt.Sprintf("%s: %.2f times Redis, the floor is %.2f", r.Name, r.Ratio.OfMedians, r.Floor))
		}
	}
	return out
}

var columns = []string{
	"row", "ratio", "min-max", "floor", "ours/s", "redis/s", "p50", "p99", "CPU s per million", "CPU ratio", "RSS MB",
}

// cells is a result as columns names them; a pair is ours / redis.
func (res *result) cells() []string {
	floor := "-"
	if res.Floor > 0 {
		floor = fmt.Sprintf("%.2f", res.Floor)
		if res.Missed {
			floor += " MISSED"
		}
	}
	micros := func(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/1e3) }
	return []string{
		res.Name,
		fmt.Sprintf("%.2f", res.Ratio.OfMedians),
		fmt.Sprintf("%.2f-%.2f", res.Ratio.Min, res.Ratio.Max),
		floor,
		thousands(res.Ours.PerSecond),
		thousands(res.Redis.PerSecond),
		micros(res.Ours.P50) + " / " + micros(res.Redis.P50) + " us",
		micros(res.Ours.P99) + " / " + micros(res.Redis.P99) + " us",
		fmt.Sprintf("%.2f / %.2f", res.Ours.CPUPerMega, res.Redis.CPUPerMega),
		fmt.Sprintf("%.2f", res.CPURatio),
		fmt.Sprintf("%.0f / %.0f", float64(res.Ours.RSS)/1e6, float64(res.Redis.RSS)/1e6),
	}
}

// thousands writes a throughput: 76.1k.
func thousands(perSecond float64) string { return fmt.Sprintf("%.1fk", perSecond/1e3) }

// about is the text above and below the table.
func (rep *report) about() (above, below []string) {
	above = []string{
		fmt.Sprintf("%s; %s.", rep.Machine, rep.Placement),
		fmt.Sprintf("ours: %s; redis: %s.", rep.Ours, rep.Redis),
		fmt.Sprintf("Medians of %d alternating rounds of %g s, ratios ours / redis from this run; min-max over pairs of rounds.", rep.Rounds, rep.Seconds),
	}
	for _, r := range rep.Rows {
		for _, w := range r.Warnings {
			below = append(below, r.Name+": "+w)
		}
	}
	for _, m := range rep.misses() {
		below = append(below, "FLOOR MISSED "+m)
	}
	return above, below
}

// writeText writes the table for a terminal.
func (rep *report) writeText(w io.Writer) error {
	above, below := rep.about()
	table := [][]string{columns}
	for i := range rep.Rows {
		table = append(table, rep.Rows[i].cells())
	}
	widths := make([]int, len(columns))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	out := strings.Join(above, "\n") + "\n\n"
	for _, cells := range table {
		var l strings.Builder
		for i, cell := range cells {
			fmt.Fprintf(&l, "%-*s  ", widths[i], cell)
		}
		out += strings.TrimRight(l.String(), " ") + "\n"
	}
	if len(below) > 0 {
		out += "\n" + strings.Join(below, "\n") + "\n"
	}
	_, err := io.WriteString(w, out)
	return err
}

// writeMarkdown writes the table for a page, with what each row does.
func (rep *report) writeMarkdown(w io.Writer) error {
	above, below := rep.about()
	out := strings.Join(above, "\n") + "\n\n"
	out += "| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)) + "\n"
	for i := range rep.Rows {
		out += "| " + strings.Join(rep.Rows[i].cells(), " | ") + " |\n"
	}
	out += "\n"
	for _, r := range rep.Rows {
		out += fmt.Sprintf("- `%s`: %s; pipeline %d, %d connections, %d keys\n", r.Name, r.About, r.Pipeline, r.Connections, r.Keys)
	}
	for _, l := range below {
		out += "- " + l + "\n"
	}
	_, err := io.WriteString(w, out)
	return err
}

func (rep *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rep)
}
