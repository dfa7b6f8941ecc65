package zlimittest

import (
	"slices"
	"time"
)

// A Key is one key of database 0, to be looked at. Looking is no command of a
// client: faults do not meet it.
type Key struct {
	server *Server
	name   string
}

// Key returns a key, whether or not it is there.
func (s *Server) Key(name string) Key { return Key{s, name} }

// Keys returns the names of every key of database 0, sorted.
func (s *Server) Keys() []string {
	s.helper()()
	elems, _ := s.Do("KEYS", "*").([]any)
	names := make([]string, len(elems))
	for i, e := range elems {
		names[i], _ = e.(string)
	}
	slices.Sort(names)
	return names
}

// What TTL returns in the place of a time.
const (
	NoExpiry time.Duration = -1 // the key stays
	Absent   time.Duration = -2 // there is no key
)

// TTL is the time that the key has left, in whole milliseconds, or NoExpiry, or
// Absent.
func (k Key) TTL() time.Duration {
	k.server.helper()()
	ms, _ := k.server.Do("PTTL", k.name).(int64)
	if ms < 0 {
		return time.Duration(ms) // the two constants
	}
	return time.Duration(ms) * time.Millisecond
}

// Exists reports whether the key is there.
func (k Key) Exists() bool { return k.TTL() != Absent }

// Type is "string", "zset", ... or "none".
func (k Key) Type() string {
	k.server.helper()()
	name, _ := k.server.Do("TYPE", k.name).(string)
	return name
}

// Units is how many units RL.ALLOW (or members another limiter) holds in the
// key's sorted set: those of every window that was asked for, whether or not
// they still count.
func (k Key) Units() int64 {
	k.server.helper()()
	n, _ := k.server.Do("ZCARD", k.name).(int64)
	return n
}

// Value is the key's string, empty where there is no key.
func (k Key) Value() string {
	k.server.helper()()
	text, _ := k.server.Do("GET", k.name).(string)
	return text
}

// RequireUnits ends the test unless the key holds n units.
func (k Key) RequireUnits(n int64) {
	k.server.helper()()
	if got := k.Units(); got != n {
		k.server.fatal("key %q holds %d units, not %d", k.name, got, n)
	}
}

// RequireTTL ends the test unless the key has exactly d left; see TTL.
func (k Key) RequireTTL(d time.Duration) {
	k.server.helper()()
	if got := k.TTL(); got != d {
		k.server.fatal("key %q lives for %s, not %s", k.name, spellTTL(got), spellTTL(d))
	}
}

// RequireValue ends the test unless the key is a string and this one.
func (k Key) RequireValue(text string) {
	k.server.helper()()
	if got := k.Value(); got != text {
		k.server.fatal("key %q is %q, not %q", k.name, got, text)
	}
}

// RequireAbsent ends the test if the key is there.
func (k Key) RequireAbsent() {
	k.server.helper()()
	if k.Exists() {
		k.server.fatal("key %q is there: a %s", k.name, k.Type())
	}
}

func spellTTL(d time.Duration) string {
	switch d {
	case NoExpiry:
		return "ever"
	case Absent:
		return "no time (it is not there)"
	}
	return d.String()
}
