package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Shares of a core's time from which a figure gets a warning.
const (
	saturated = 0.95 // no room left on a core
	idling    = 0.02 // of the servers' core, by the idle servers
)

// A report is the result of a run, as --json writes it. Durations are nanoseconds,
// memory is bytes, throughput is flows (one decision or one plain command) a second.
type report struct {
	Started   time.Time          `json:"started"`
	Machine   string             `json:"machine"`
	Placement string             `json:"placement"`
	Versions  map[program]string `json:"versions"`
	Commit    string             `json:"commit,omitempty"` // that ours was built from
	Rounds    int                `json:"rounds"`
	Seconds   float64            `json:"seconds"`
	Rows      []result           `json:"rows"`
}

// A result is a line of the report: a figure of ours and a reference.
type result struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Unit is the unit of the two figures: "/s", "bytes a key", "ms".
	Unit string `json:"unit"`
	// Ratio is above 1 if ours is better, whether higher or lower figures are.
	Ratio ratio `json:"ratio"`
	// CPURatio is the reference's processor time per flow divided by ours. It excludes
	// waiting, so other processes disturb it less, and is what a floor is compared with.
	// It is nil if not measured, or in rounds too short for the kernel's clock.
	CPURatio  *ratio   `json:"cpu_ratio,omitempty"`
	Floor     float64  `json:"floor,omitempty"`
	Missed    bool     `json:"missed,omitempty"`
	Ours      figure   `json:"ours"`
	Reference figure   `json:"reference"`
	Warnings  []string `json:"warnings,omitempty"`
}

// judged returns the ratio that the floor is compared with.
func (res *result) judged() ratio {
	if res.CPURatio != nil {
		return *res.CPURatio
	}
	return res.Ratio
}

// A figure is the result of one side.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"` // the median, in the result's unit
	// Load is set if the figure is the throughput of a closed loop.
	Load *summary `json:"load,omitempty"`
}

// A summary has a server's medians and its rounds.
type summary struct {
	round
	Rounds []round `json:"rounds"`
}

// A series has what one side of a comparison reached, round by round.
type series struct {
	name   string
	values []float64
}

// seriesOf returns a figure of each round.
func seriesOf[T any](name string, rounds []T, get func(T) float64) series {
	s := series{name: name}
	for _, r := range rounds {
		s.values = append(s.values, get(r))
	}
	return s
}

// bound returns the series that an absolute target is compared with.
func bound(value float64, rounds int) series {
	return series{"bound", slices.Repeat([]float64{value}, rounds)}
}

func summarize(rounds []round) summary {
	return summary{Rounds: rounds, round: round{
		PerSecond:  medianOf(rounds, round.perSecond),
		P50:        medianOf(rounds, func(r round) time.Duration { return r.P50 }),
		P99:        medianOf(rounds, func(r round) time.Duration { return r.P99 }),
		P999:       medianOf(rounds, func(r round) time.Duration { return r.P999 }),
		CPUPerMega: medianOf(rounds, round.cpu),
		RSS:        medianOf(rounds, func(r round) int64 { return r.RSS }),
		ServerBusy: medianOf(rounds, func(r round) float64 { return r.ServerBusy }),
		ClientBusy: medianOf(rounds, func(r round) float64 { return r.ClientBusy }),
		IdleBusy:   medianOf(rounds, func(r round) float64 { return r.IdleBusy }),
		Disturbed:  medianOf(rounds, func(r round) float64 { return r.Disturbed }),
		Stolen:     medianOf(rounds, func(r round) float64 { return r.Stolen }),
	}}
}

// medianOf returns the median of a figure of each round.
func medianOf[T ~int64 | ~float64](rounds []round, get func(round) T) T {
	return T(median(seriesOf("", rounds, func(r round) float64 { return float64(get(r)) }).values))
}

func (r round) perSecond() float64 { return r.PerSecond }

func (r round) cpu() float64 { return r.CPUPerMega }

// weigh returns the result of two series. The lower is better, except of rates and shares.
func weigh(name, about, unit string, floor float64, ours, other series) result {
	res := result{
		Name: name, About: about, Unit: unit, Floor: floor, Ratio: compare(other.values, ours.values),
		Ours:      figure{Name: ours.name, Value: median(ours.values)},
		Reference: figure{Name: other.name, Value: median(other.values)},
	}
	if unit == "/s" || unit == "share" {
		res.Ratio = compare(ours.values, other.values)
	}
	res.Missed = missed(res.Ratio.OfMedians, floor)
	return res
}

// conclude returns the result of a closed loop's rounds on two sides.
func conclude(r row, floor float64, ours, other *side) result {
	about := fmt.Sprintf("%s; pipeline %d, %d connections, %d keys", r.about, r.pipeline, r.connections,
		r.keys)
	res := weigh(r.name+other.suffix, about, "/s", floor, seriesOf(ours.name, ours.rounds, round.perSecond),
		seriesOf(other.name, other.rounds, round.perSecond))
	a, b := summarize(ours.rounds), summarize(other.rounds)
	res.Ours.Load, res.Reference.Load = &a, &b
	if used := seriesOf("", ours.rounds, round.cpu).values; slices.Min(used) > 0 {
		ratio := compare(seriesOf("", other.rounds, round.cpu).values, used)
		res.CPURatio = &ratio
	}
	res.Missed = missed(res.judged().OfMedians, floor)
	res.warn(ours.name, "a lower", a)
	res.warn(other.name, "an upper", b)
	return res
}

// warn adds what qualifies a figure. bound is what the ratio becomes if the client, not
// this server, was the bottleneck.
func (res *result) warn(name, bound string, s summary) {
	add := func(format string, args ...any) {
		res.Warnings = append(res.Warnings, name+": "+fmt.Sprintf(format, args...))
	}
	if s.ClientBusy > saturated && s.ServerBusy <= saturated {
		add("the client's core was full (%.0f%%) and the server's was not (%.0f%%): this server can do "+
			"more, so the ratio of throughput is only %s bound",
			100*s.ClientBusy, 100*s.ServerBusy, bound)
	}
	lost, repeated, worst := 0, 0, 0.0
	for _, r := range s.Rounds {
		repeated += r.Repeated
		if r.Disturbed > tolerated {
			lost++
			worst = max(worst, r.Disturbed)
		}
	}
	if repeated > 0 {
		add("%d rounds were repeated, in which others took more than %.0f%% of a core", repeated,
			100*tolerated)
	}
	if lost > 0 {
		add("in %d of %d rounds other processes and the hypervisor took up to %.0f%% of a core: trust "+
			"processor time more than throughput, and neither much", lost, len(s.Rounds), 100*worst)
	}
	if s.IdleBusy > idling {
		add("the idle servers took %.0f%% of its core during these rounds", 100*s.IdleBusy)
	}
}

// warnAway adds how undisturbed the machine was during paced loads. A wait of that
// length says nothing about a server.
func (res *result) warnAway(loads []*tally) {
	var longest, paused, whole time.Duration
	for _, t := range loads {
		longest = max(longest, t.longestPause)
		paused += t.paused
		whole += t.whole
	}
	if longest > 0 {
		res.Warnings = append(res.Warnings,
			fmt.Sprintf("the client, which never sleeps, was kept from its core for up to %.1f ms at once, "+
				"%.1f%% of the time: the machine's waits are among these",
				ms(longest), 100*paused.Seconds()/whole.Seconds()))
	}
}

// misses lists the floors that were missed, with the figures.
func (rep *report) misses() []string {
	var out []string
	for _, r := range rep.Rows {
		if r.Missed {
			out = append(out,
				fmt.Sprintf("%s: %.2f times %s, the floor is %.2f", r.Name, r.judged().OfMedians,
					r.Reference.Name, r.Floor))
		}
	}
	return out
}

var columns = []string{
	"row", "ratio", "min-max", "floor", "ours", "other", "throughput", "ours", "other", "p50", "p99", "p99.9",
}

// cells returns a result in the order of columns; a pair is ours / the other.
func (res *result) cells() []string {
	floor := "-"
	if res.Floor > 0 {
		floor = fmt.Sprintf("%.2f", res.Floor)
		if res.Missed {
			floor += " MISSED"
		}
	}
	r := res.judged()
	ours, other := res.figures()
	cells := []string{
		res.Name, fmt.Sprintf("%.2f", r.OfMedians), fmt.Sprintf("%.2f-%.2f", r.Min, r.Max), floor, ours,
		res.Reference.Name + " " + other,
	}
	a, b := res.Ours.Load, res.Reference.Load
	if a == nil || b == nil {
		return cells
	}
	micros := func(a, b time.Duration) string {
		return fmt.Sprintf("%.0f / %.0f us", float64(a)/1e3, float64(b)/1e3)
	}
	return append(cells, fmt.Sprintf("%.2f", res.Ratio.OfMedians), quantity(a.PerSecond, "/s"),
		quantity(b.PerSecond, "/s"), micros(a.P50, b.P50), micros(a.P99, b.P99), micros(a.P999, b.P999))
}

// figures returns those of ours and of the reference: processor time a call if it was measured.
func (res *result) figures() (ours, reference string) {
	if res.CPURatio != nil {
		return quantity(res.Ours.Load.CPUPerMega, "us"), quantity(res.Reference.Load.CPUPerMega, "us")
	}
	return quantity(res.Ours.Value, res.Unit), quantity(res.Reference.Value, res.Unit)
}

// quantity formats a figure with its unit: 76.1k/s, 0.217 ms.
func quantity(value float64, unit string) string {
	switch {
	case unit == "/s":
		return fmt.Sprintf("%.1fk/s", value/1e3)
	case value >= 100:
		return fmt.Sprintf("%.0f %s", value, unit)
	}
	return fmt.Sprintf("%.3g %s", value, unit)
}

// about returns the text above and below the table.
func (rep *report) about() (above, below []string) {
	above = []string{
		fmt.Sprintf("%s, %s; %s.", rep.Started.Format("2 January 2006"), rep.Machine, rep.Placement),
		rep.versions() + ".",
		fmt.Sprintf("Medians of %d rounds of %g s, all from this run, servers in shuffled order. "+
			"A ratio above 1 is in our favour: of processor time a call (us) in closed loops, "+
			"with throughput beside, else of the figures; min-max over pairs of rounds.",
			rep.Rounds, rep.Seconds),
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

// versions returns the programs, their versions, and the commit of ours.
func (rep *report) versions() string {
	ours := "zlimit " + cmp.Or(rep.Versions[ourServer], "of a version that was not recorded")
	if rep.Commit != "" {
		ours += " (" + rep.Commit + ")"
	}
	out := []string{ours}
	for _, p := range []program{redisServer, redis8Server, valkeyServer, oldServer} {
		if v, ok := rep.Versions[p]; ok {
			out = append(out, fmt.Sprintf("%s %s", p, v))
		}
	}
	return strings.Join(out, ", ")
}

// writeText writes the table for a terminal.
func (rep *report) writeText(w io.Writer) error {
	above, below := rep.about()
	table := [][]string{columns}
	for i := range rep.Rows {
		table = append(table, rep.Rows[i].cells())
	}
	out := strings.Join(above, "\n") + "\n\n" + aligned(table)
	if len(below) > 0 {
		out += "\n" + strings.Join(below, "\n") + "\n"
	}
	_, err := io.WriteString(w, out)
	return err
}

// aligned formats a table for a terminal.
func aligned(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var out strings.Builder
	for _, cells := range table {
		var l strings.Builder
		for i, cell := range cells {
			fmt.Fprintf(&l, "%-*s  ", widths[i], cell)
		}
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return out.String()
}

// save writes the report to a file, unless the name is empty.
func (rep *report) save(name string) error {
	text, err := json.MarshalIndent(rep, "", "  ")
	if err != nil || name == "" {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
