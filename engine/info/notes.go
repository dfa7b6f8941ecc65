package info

import (
	"fmt"
	"slices"
	"strings"
)

// A Note says why fields of INFO are not as in Redis 7.0.
type Note struct {
	Kind    NoteKind
	Section string
	Fields  []string // in a row the suffixes of a family
	Why     string
}

// NoteKind is how fields differ from Redis. It is the heading of their table in docs/info.md.
type NoteKind string

// The kinds of notes.
const (
	Missing  NoteKind = "Not there" // only Redis has them
	Extra    NoteKind = "Ours"      // Redis 7.0 has them not
	Constant NoteKind = "Constant, or of another meaning"
)

func (n Note) add(r *row) { r.note = n }

// missing returns the row of a field that only Redis has.
func missing(field, why string) row { return row{fields: field, note: Note{Kind: Missing, Why: why}} }

// extra explains fields that Redis has not. Those of a family are given by their suffixes.
func extra(why string, suffixes ...string) Note { return Note{Kind: Extra, Fields: suffixes, Why: why} }

// differs explains fields whose value never changes or has another meaning than in Redis.
func differs(why string, suffixes ...string) Note {
	return Note{Kind: Constant, Fields: suffixes, Why: why}
}

// Notes returns the notes of one kind. Fields of a section with the same reason are one note.
func Notes(kind NoteKind) (all []Note) {
	for _, s := range sections {
		for _, r := range s.rows {
			n := r.note
			if n.Kind != kind {
				continue
			}
			n.Section = s.title()
			n.Fields = strings.Fields(r.fields)
			for i, suffix := range r.note.Fields { // of a family
				n.Fields = append(n.Fields[:i], r.fields+suffix)
			}
			i := slices.IndexFunc(all, func(o Note) bool { return o.Section == n.Section && o.Why == n.Why })
			if i < 0 {
				all = append(all, n)
			} else {
				all[i].Fields = slices.Concat(all[i].Fields, n.Fields)
			}
		}
	}
	return all
}

// Markdown returns the tables of docs/info.md.
func Markdown() string {
	var b strings.Builder
	for _, kind := range []NoteKind{Missing, Extra, Constant} {
		fmt.Fprintf(&b, "\n## %s\n\n| Section | Field | Why |\n|---|---|---|\n", kind)
		for _, n := range Notes(kind) {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", n.Section, strings.Join(n.Fields, "`, `"), n.Why)
		}
	}
	return b.String()
}

// MetricsMarkdown returns the table of docs/metrics.md.
func MetricsMarkdown() string {
	var b strings.Builder
	b.WriteString("\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, m := range Metrics() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, strings.Join(m.Labels, ", "), m.Help)
	}
	return b.String()
}
