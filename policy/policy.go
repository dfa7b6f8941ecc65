// Package policy has limits in files: Envoy's rate limit configuration with keys of ours, and which limit a
// descriptor has. It decides nothing: the call of RL.CHECK that it makes of a descriptor does, on ordinary
// keys.
//
// This package is internal to zlimit: it may change in any release.
package policy

import "strconv"

// A Unit is a span of time, numbered as in Envoy's rate limit service.
type Unit uint8

// The units. A month has 30 days and a year 365, as in Envoy's rate limit service.
const (
	UnknownUnit Unit = iota
	Second
	Minute
	Hour
	Day
	Month
	Year
	Week
	numUnits
)

var units = [numUnits]struct {
	name    string // in files and in names of keys
	seconds int64
}{
	Second: {"second", 1},
	Minute: {"minute", 60},
	Hour:   {"hour", 3600},
	Day:    {"day", 86_400},
	Week:   {"week", 7 * 86_400},
	Month:  {"month", 30 * 86_400},
	Year:   {"year", 365 * 86_400},
}

// Valid reports whether u is a unit other than UnknownUnit.
func (u Unit) Valid() bool { return u > UnknownUnit && u < numUnits }

// Seconds returns the length of a valid unit.
func (u Unit) Seconds() int64 { return units[u].seconds }

// String returns the unit's name in files.
func (u Unit) String() string { return units[u].name }

// SecondsUntilReset returns the seconds from nowUs until the slice of the unit ends. Slices are aligned to
// the epoch.
func (u Unit) SecondsUntilReset(nowUs int64) int64 {
	length := u.Seconds()
	return length - nowUs/1_000_000%length
}

// OnFailure says what a door answers if no decision can be made.
type OnFailure uint8

// The answers to a decision that failed. FailDefault is an error, and so is FailError.
const (
	FailDefault OnFailure = iota
	FailError
	FailAllow
	FailDeny
)

var failures = map[string]OnFailure{"error": FailError, "allow": FailAllow, "deny": FailDeny}

// A Policy is the limit of the descriptors that match one entry of a file.
type Policy struct {
	Name   string // the domain and the keys and values of the file, with dots between: "edge.user_7.path"
	Domain *Domain
	File   string
	Line   int

	// Of Envoy's form, with rate_limit; Unit is UnknownUnit for one of ours, with limits.
	Unit      Unit
	Requests  uint32
	Unlimited bool
	Title     string   // rate_limit's name, to be replaced by
	Replaces  []string // titles of limits that do not count in a request that matches this one too

	Limits    []Quota // of our form; of Envoy's one
	Algorithm string  // as ALGO has it, with its parameter: "FIXED", "BUCKETS 10"
	Cost      int64   // units of one hit
	Slots     int64   // of concurrency; 0: none
	Lease     string  // how long a slot is held at most
	Shadow    bool    // what would be denied is admitted, and counted
	Quota     bool    // as Shadow, and a door reports it
	OnFailure OnFailure
	Detailed  bool // counted by the values of the descriptor
	dynamic   bool // the name to count under depends on the descriptor
	charges   bool
	nameBytes []byte
	term      [][]byte // without the cost
	slots     [][]byte // the term of concurrency; nil: none
	counts    *Counts
}

// A Quota is a limit and its window, as RL.ALLOW takes them.
type Quota struct {
	Limit  string
	Window string
}

// Charges reports whether denied hits count too, as in Envoy's rate limit service: so it is for its form of a
// limit under FIXED, unless the domain counts all descriptors of a request or none.
func (p *Policy) Charges() bool { return p.charges }

// Counts returns the counts of the policy's decisions. If it is counted by values of descriptors, they are
// of what was not counted by name.
func (p *Policy) Counts() *Counts { return p.counts }

// A Domain is what one document of a file limits.
type Domain struct {
	Name string
	All  bool // the descriptors of a request are decided together, all or nothing
	File string
	Line int

	root       node
	rateLimits [][]action // each makes one descriptor of a request
}

// A node is one entry of a file, with those below it.
type node struct {
	children  map[string]*node // by key, or key_value
	wildcards []wildcard       // among the children, those whose key or value ends with '*'
	policy    *Policy          // nil: only those below have limits

	value       string // of a wildcard: the value, with '*'
	shared      bool   // share_threshold
	valueMetric bool   // value_to_metric
}

// wildcard finds the children that end with '*' and have the same length.
type wildcard struct {
	length int // without '*'
	nodes  map[string]ranked
}

// ranked is a wildcard child and its place among those of its parent: the first in the file applies.
type ranked struct {
	*node
	at  int
	key string // with '*'
}

// A Set is the policies of all files. It does not change.
type Set struct {
	domains  map[string]*Domain
	policies []*Policy // in the order of the files
	warnings []string
	registry *Registry

	// RefusesUnknown says that descriptors of a domain that no file has are refused. Otherwise they have no
	// limit.
	RefusesUnknown bool
}

// Policies returns the policies, in the order of the files.
func (s *Set) Policies() []*Policy { return s.policies }

// Warnings returns what is in the files but has no effect, each with its file and line.
func (s *Set) Warnings() []string { return s.warnings }

// Domain returns the domain of this name, or nil.
func (s *Set) Domain(name []byte) *Domain { return s.domains[string(name)] }

// Registry returns the counts of the policies' decisions; nil for a nil Set.
func (s *Set) Registry() *Registry {
	if s == nil {
		return nil
	}
	return s.registry
}

// Find returns the policy with this name, or nil.
func (s *Set) Find(name string) *Policy {
	for _, p := range s.policies {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// finish prepares what a decision needs of a policy.
func (p *Policy) finish() {
	p.nameBytes = []byte(p.Name)
	p.charges = p.Unit != UnknownUnit && p.Algorithm == fixed && !p.Domain.All && p.Slots == 0
	if p.Unlimited {
		return
	}
	p.term = append(p.term, wordTerm)
	for _, q := range p.Limits {
		p.term = append(p.term, []byte(q.Limit), []byte(q.Window))
	}
	p.term = append(p.term, wordAlgo)
	p.term = append(p.term, words(p.Algorithm)...)
	if p.Slots > 0 {
		p.slots = [][]byte{
			wordTerm, []byte("SLOTS"), strconv.AppendInt(nil, p.Slots, 10), []byte("LEASE"), []byte(p.Lease),
		}
	}
}
