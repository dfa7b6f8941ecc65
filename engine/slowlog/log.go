package slowlog

import (
	"slices"
	"sync"
)

// A Log has the latest calls that took long, as SLOWLOG GET shows them. The zero
// value is empty, and keeps none until SetMax. It may be used concurrently.
type Log struct {
	mu      sync.Mutex // protects the fields below
	entries []Entry    // from first on, the oldest first
	first   int
	max     int64
	nextID  int64
}

// An Entry is one call.
type Entry struct {
	ID         int64 // numbered from 0, since the start
	UnixS      int64 // when it ended
	DurationUs int64
	Args       []string
	Addr, Name string // of the client
}

// Add adds an entry, which gets the next ID, and drops the oldest beyond the maximum.
func (l *Log) Add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.ID = l.nextID
	l.nextID++
	l.entries = append(l.entries, e)
	l.trim()
}

// SetMax sets how many entries are kept and drops the oldest beyond that.
func (l *Log) SetMax(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.max = n
	l.trim()
}

// trim drops the oldest entries beyond max. It requires mu.
func (l *Log) trim() {
	excess := len(l.entries) - l.first - int(min(l.max, int64(len(l.entries)-l.first)))
	clear(l.entries[l.first : l.first+excess])
	l.first += excess
	if l.first > len(l.entries)/2 { // each entry is moved at most once for one that is dropped
		rest := l.entries[l.first:]
		if cap(l.entries) > 4*len(rest)+16 {
			l.entries = slices.Clone(rest)
		} else {
			n := copy(l.entries, rest)
			clear(l.entries[n:])
			l.entries = l.entries[:n]
		}
		l.first = 0
	}
}

// Len returns the number of entries.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries) - l.first
}

// Total returns how many entries were added since the start.
func (l *Log) Total() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nextID
}

// Newest returns up to n entries, the newest first; all if n is negative.
func (l *Log) Newest(n int64) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.entries[l.first:]
	if n >= 0 && n < int64(len(all)) {
		all = all[int64(len(all))-n:]
	}
	out := slices.Clone(all)
	slices.Reverse(out)
	return out
}

// Reset removes all entries. IDs go on.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.first = nil, 0
}
