package config

import "slices"

// Kind is the syntax of a directive's value.
type Kind int

// The kinds, with their getters in parentheses.
const (
	KindBool Kind = iota // yes or no (Bool)
	KindInt              // a decimal integer within Min and Max (Int)
	// Bytes within Min and Max, with an optional unit: 1k 1kb 1m 1mb 1g 1gb (Int).
	KindMemory
	KindOctal        // an octal integer within Min and Max (Int)
	KindEnum         // one of Values (String)
	KindString       // any bytes (String)
	KindFileName     // the name of a file without a directory (String)
	KindPath         // the name of a file, or empty (String)
	KindDir          // an existing directory (String); CONFIG GET shows its absolute path
	KindPercentiles  // numbers from 0 to 100 (Strings)
	KindList         // words (Strings)
	KindSave         // save points: pairs of seconds and changes (String)
	KindEvents       // classes of keyspace events, one letter each (Events)
	KindOutputBuffer // class hard soft seconds, for several classes (OutputBufferLimit)
	KindKeyLimits    // prefix and number, for several prefixes (KeyLimits)
	KindPrefixes     // beginnings of names, up to 64 (Strings)
	KindMaster       // host and port, or nothing (Strings)
	KindShutdown     // some of Values (String)
)

// Directive is one row of the table. Rows are constant.
type Directive struct {
	Name    string
	Aliases []string // other names of the same value, such as Redis' old ones
	Kind    Kind
	Default string // as CONFIG GET shows it

	Min, Max int64    // inclusive bounds of KindInt, KindMemory and KindOctal
	Clamp    [2]int64 // if not zero, values within Min and Max are clamped to it, as Redis does with hz
	Percent  bool     // KindMemory: percentages are accepted too
	Hidden   bool     // CONFIG GET shows it by its exact name only, as Redis does with directives for tests
	Values   []string // KindEnum and KindShutdown: the values of Redis, in the order of its error text
	Later    []string // KindEnum: values of later versions of Redis

	// Valid, if not nil, returns what is wrong with a text.
	Valid func(text string) error

	// Only, if not nil, has the values (in the format of CONFIG GET) that are true
	// of zlimit. Others that Redis accepts are refused, with Refusal as the reason.
	Only    []string
	Refusal string

	Immutable bool   // CONFIG SET refuses it
	Volatile  bool   // setting it is a change even if the value stays: what it names may have changed
	Protected bool   // CONFIG SET refuses it unless enable-protected-configs admits the client
	Sensitive bool   // must not be written to a log
	Loaded    bool   // CONFIG SET refuses it while files are loaded
	Ours      bool   // Redis has no such directive
	NoEffect  bool   // accepted for compatibility with files and clients; About says so too
	About     string // description, in one sentence
}

// Directives returns the table, sorted by name. The caller must not change what the
// rows refer to.
func (c *Config) Directives() []Directive { return slices.Clone(table) }

// refusal returns why zlimit refuses a value that Redis accepts, or "" if it does
// not.
func (d *Directive) refusal(text string) string {
	if d.Only == nil || slices.Contains(d.Only, text) {
		return ""
	}
	return d.Refusal
}
