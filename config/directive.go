package config

import "slices"

// Kind is how a directive's value is written.
type Kind int

// The kinds. In parentheses: the getter of Config that reads them.
const (
	KindBool         Kind = iota // yes or no (Bool)
	KindInt                      // a decimal integer within Min and Max (Int)
	KindMemory                   // bytes within Min and Max, with or without a unit: 1k 1kb 1m 1mb 1g 1gb (Int)
	KindOctal                    // an octal integer within Min and Max (Int)
	KindEnum                     // one of Values (String)
	KindString                   // any bytes (String)
	KindFileName                 // the name of a file without a directory (String)
	KindPath                     // the name of a file, or empty (String)
	KindDir                      // the name of a directory that exists (String); CONFIG GET shows it absolute
	KindPercentiles              // numbers from 0 to 100 (Strings)
	KindList                     // words (Strings)
	KindSave                     // save points: pairs of seconds and changes (String)
	KindEvents                   // classes of keyspace events, one letter each (Events)
	KindOutputBuffer             // class hard soft seconds, for several classes (OutputBufferLimit)
)

// Directive is one row of the table. The rows are data; nobody changes them.
type Directive struct {
	Name    string
	Aliases []string // other names of the same value, as Redis keeps old ones
	Kind    Kind
	Default string // as CONFIG GET shows it

	Min, Max int64    // bounds of KindInt, KindMemory and KindOctal, both included
	Clamp    [2]int64 // where not zero: a value within Min and Max is moved into this range, as Redis does with hz
	Percent  bool     // KindMemory: may be a percentage too
	Hidden   bool     // CONFIG GET shows it by its whole name only, as Redis does with what its tests use
	Values   []string // KindEnum: what Redis takes, in the order of its error text

	// Only, where not nil, are the values (as CONFIG GET shows them) that are
	// true of zlimit; any other that Redis would take is refused, and Refusal
	// says why.
	Only    []string
	Refusal string

	Immutable bool   // CONFIG SET refuses it
	Protected bool   // CONFIG SET refuses it unless enable-protected-configs lets the client
	Sensitive bool   // must not be written to a log
	Ours      bool   // Redis has no such directive
	NoEffect  bool   // accepted for the sake of existing files and clients; About says so too
	About     string // what it is for, in one sentence
}

// Directives returns the table, sorted by name. The caller must not change
// what the rows refer to.
func (c *Config) Directives() []Directive { return slices.Clone(table) }

// refusal is why text, a value that Redis would take, is not true of zlimit;
// empty if it is.
func (d *Directive) refusal(text string) string {
	if d.Only == nil || slices.Contains(d.Only, text) {
		return ""
	}
	return d.Refusal
}
