package zlimittest

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Key is a key of database 0, for inspection. Inspecting is not a client's command,
// so faults do not affect it.
type Key struct {
	server *Server
	name   string
}

// Key returns the key with this name, which need not exist.
func (s *Server) Key(name string) Key { return Key{s, name} }

// Keys returns the names of all keys of database 0, sorted.
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

// Special results of TTL.
const (
	NoExpiry time.Duration = -1 // the key has no expiry
	Absent   time.Duration = -2 // the key does not exist
)

// TTL returns the key's remaining time in whole milliseconds, NoExpiry or Absent.
func (k Key) TTL() time.Duration {
	k.server.helper()()
	ms, _ := k.server.Do("PTTL", k.name).(int64)
	if ms < 0 {
		return time.Duration(ms) // NoExpiry or Absent
	}
	return time.Duration(ms) * time.Millisecond
}

// Exists reports whether the key exists.
func (k Key) Exists() bool { return k.TTL() != Absent }

// Type returns the type: "string", "zset", ... or "none".
func (k Key) Type() string {
	k.server.helper()()
	name, _ := k.server.Do("TYPE", k.name).(string)
	return name
}

// Units returns how many units RL.ALLOW (or members another limiter) has in the key's
// sorted set, for all windows, whether or not they still count.
func (k Key) Units() int64 {
	k.server.helper()()
	n, _ := k.server.Do("ZCARD", k.name).(int64)
	members, _ := k.server.Do("ZRANGE", k.name, "0", "-1", "WITHSCORES").([]any)
	for i := 0; i+1 < len(members); i += 2 {
		member, _ := members[i].(string)
		score, _ := members[i+1].(string)
		if units, ok := strings.CutPrefix(member, score+":"); ok { // as RL.ALLOW with a cost writes it
			more, _ := strconv.ParseInt(units, 10, 64)
			n += max(more-1, 0)
		}
	}
	return n
}

// Value returns the key's string, empty if the key does not exist.
func (k Key) Value() string {
	k.server.helper()()
	text, _ := k.server.Do("GET", k.name).(string)
	return text
}

// RequireUnits fails the test unless the key has n units.
func (k Key) RequireUnits(n int64) {
	k.server.helper()()
	if got := k.Units(); got != n {
		k.server.fatal("key %q holds %d units, not %d", k.name, got, n)
	}
}

// RequireTTL fails the test unless the key has exactly d left; see TTL.
func (k Key) RequireTTL(d time.Duration) {
	k.server.helper()()
	if got := k.TTL(); got != d {
		k.server.fatal("key %q lives for %s, not %s", k.name, spellTTL(got), spellTTL(d))
	}
}

// RequireValue fails the test unless the key is this string.
func (k Key) RequireValue(text string) {
	k.server.helper()()
	if got := k.Value(); got != text {
		k.server.fatal("key %q is %q, not %q", k.name, got, text)
	}
}

// RequireAbsent fails the test if the key exists.
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
