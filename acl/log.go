package acl

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Log is what ACL LOG shows: refused calls and failed logins, the newest first. Equal
// ones within a minute are one entry. It also counts all of them for INFO.
type Log struct {
	mu      sync.Mutex
	entries []LogEntry // protected by mu

	denied [Reasons]atomic.Int64 // by reason
}

// A LogEntry is an entry of ACL LOG.
type LogEntry struct {
	Cause
	Count  int64
	AtMs   int64
	Client string // a line of CLIENT LIST
}

// A Cause is what equal entries share.
type Cause struct {
	Reason   Reason
	Context  string
	Object   string
	Username string
}

// The contexts of ACL LOG.
const (
	Toplevel = "toplevel"
	Multi    = "multi"
	Lua      = "lua"
)

const (
	sameEntryMs  = 60_000 // how far apart equal entries are one
	maxLogObject = 4096   // bytes of an object or a name that an entry keeps
)

// Add counts a denial and adds an entry, or counts it to an equal one. The oldest beyond
// maxEntries are dropped.
func (l *Log) Add(c Cause, nowMs int64, client string, maxEntries int64) {
	l.denied[c.Reason].Add(1)
	c.Object, c.Username = shorten(c.Object), shorten(c.Username)
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := LogEntry{c, 1, nowMs, client}
	for i := range l.entries {
		if e := &l.entries[i]; e.Cause == c && nowMs-e.AtMs <= sameEntryMs {
			entry.Count += e.Count
			l.entries = slices.Delete(l.entries, i, i+1)
			break
		}
	}
	l.entries = slices.Insert(l.entries, 0, entry)
	if n := min(maxEntries, int64(len(l.entries))); n < int64(len(l.entries)) {
		clear(l.entries[n:])
		l.entries = l.entries[:n]
	}
}

// Denied returns how many denials of a reason there were since ResetCounts.
func (l *Log) Denied(r Reason) int64 { return l.denied[r].Load() }

// Reset removes all entries.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// ResetCounts sets the counts of INFO to zero.
func (l *Log) ResetCounts() {
	for i := range l.denied {
		l.denied[i].Store(0)
	}
}

// Newest returns up to n entries.
func (l *Log) Newest(n int64) []LogEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:max(0, min(n, int64(len(l.entries))))])
}

// shorten returns text up to what an entry keeps: a client must not fill the log with
// names of any length.
func shorten(text string) string { return text[:min(len(text), maxLogObject)] }
