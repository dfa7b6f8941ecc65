package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// A tally counts one command's occurrences in a run, by Redis' replies.
type tally struct{ sent, queued, scripted, errors, nils int }

// stats shows whether a run was deep: which commands were sent, and how, and how many failed or found
// nothing.
type stats struct {
	commands map[string]*tally
	queue    [connections][]step
	exec     struct{ done, aborted, refused int }
	total    int
	largest  int // elements of the longest array
	sets     int // sorted sets at the ends of rounds
	logs     int // of these, logs: each member the plain decimal of its score
	bytes    int64
}

func newStats() *stats { return &stats{commands: map[string]*tally{}} }

func (st *stats) tallyOf(args []string) *tally {
	name := commandName(args)
	if first, _, _ := strings.Cut(name, " "); !containers[first] && !commandNames[name] &&
		name[:min(len(name), 1)] != "(" {
		name = "(foreign)"
	}
	t := st.commands[name]
	if t == nil {
		t = &tally{}
		st.commands[name] = t
	}
	return t
}

// add counts one step and Redis' reply to it.
func (st *stats) add(s step, ref reply) {
	if s.audit {
		st.addSet(s, ref)
	}
	if s.clockMs > 0 || s.audit {
		return
	}
	st.total++
	st.bytes += int64(len(ref.raw))
	t := st.tallyOf(s.compared())
	if s.args == nil {
		t = st.tallyOf([]string{"(INLINE)"})
		if s.closes {
			t = st.tallyOf([]string{"(BROKEN)"})
		}
	}
	if s.inner != nil {
		t.scripted++
		t = st.tallyOf(s.args)
	}
	t.sent++
	if s.silent || len(ref.raw) == 0 {
		return
	}
	name := commandName(s.args)
	queued := st.queue[s.conn]
	if s.closes || endsQueue(name, ref.raw) {
		st.queue[s.conn] = nil
	}
	switch {
	case string(ref.raw) == "+QUEUED\r\n":
		t.queued++
		st.queue[s.conn] = append(queued, s)
		return
	case name == "EXEC" && ref.raw[0] == '*' && string(ref.raw) != "*-1\r\n":
		st.exec.done++
		if v, err := parse(ref.raw); err == nil && len(v.elems) == len(queued) {
			for i, e := range v.elems {
				st.tallyOf(queued[i].args).count(e.isError(), e.null)
			}
		}
		return
	case name == "EXEC" && ref.raw[0] == '-':
		st.exec.refused++
	case name == "EXEC":
		st.exec.aborted++
	}
	null := ref.raw[0] == '_' || strings.HasPrefix(string(ref.raw[:min(3, len(ref.raw))]), "$-1") ||
		strings.HasPrefix(string(ref.raw[:min(3, len(ref.raw))]), "*-1")
	t.count(ref.raw[0] == '-', null)
	if ref.raw[0] == '*' {
		if v, err := parse(ref.raw); err == nil {
			st.largest = max(st.largest, len(v.elems))
		}
	}
}

// addSet counts a sorted set that an audit read whole.
func (st *stats) addSet(s step, ref reply) {
	v, err := parse(ref.raw)
	if err != nil || s.args[0] != "ZRANGE" || len(v.elems) < 2 {
		return
	}
	st.sets++
	for i := 0; i+1 < len(v.elems); i += 2 {
		if v.elems[i].text != v.elems[i+1].text || strings.ContainsAny(v.elems[i].text, ".enf") {
			return
		}
	}
	st.logs++
}

func (t *tally) count(isError, null bool) {
	if isError {
		t.errors++
	}
	if null {
		t.nils++
	}
}

// shares returns the percentages of all commands that failed or found nothing.
func (st *stats) shares() (errors, nils float64) {
	var e, n int
	for _, t := range st.commands {
		e += t.errors
		n += t.nils
	}
	all := float64(max(st.total, 1))
	return 100 * float64(e) / all, 100 * float64(n) / all
}

// write prints the table, most frequent first.
func (st *stats) write(w io.Writer) {
	names := make([]string, 0, len(st.commands))
	rare := tally{}
	for name, t := range st.commands {
		if t.sent+t.scripted < max(st.total/20_000, 2) {
			rare.sent += t.sent
			rare.queued += t.queued
			rare.scripted += t.scripted
			rare.errors += t.errors
			rare.nils += t.nils
			continue
		}
		names = append(names, name)
	}
	count := func(name string) int { return st.commands[name].sent + st.commands[name].scripted }
	sort.Slice(names, func(i, j int) bool {
		if a, b := count(names[i]), count(names[j]); a != b {
			return a > b
		}
		return names[i] < names[j]
	})
	fmt.Fprintf(w, "%-22s %8s %8s %9s %8s %8s\n", "command", "sent", "in MULTI", "in script", "errors %",
		"nils %")
	row := func(name string, t tally) {
		all := float64(max(t.sent, 1))
		fmt.Fprintf(w, "%-22s %8d %8d %9d %8.1f %8.1f\n", name, t.sent, t.queued, t.scripted,
			100*float64(t.errors)/all, 100*float64(t.nils)/all)
	}
	for _, name := range names {
		row(name, *st.commands[name])
	}
	row("(all rarer ones)", rare)
	errors, nils := st.shares()
	fmt.Fprintf(w,
		"%d commands, %.1f%% error replies, %.1f%% nil replies; "+
			"EXEC %d done, %d aborted by WATCH, %d refused; longest array %d; "+
			"%d sorted sets at the ends of rounds, %d of them logs; %.1f MB of replies\n",
		st.total, errors, nils, st.exec.done, st.exec.aborted, st.exec.refused, st.largest, st.sets, st.logs,
		float64(st.bytes)/1e6)
}
