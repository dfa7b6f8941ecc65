package calendar

import (
	"hash/maphash"
	"sync/atomic"
)

// The calendars of the windows that were parsed lately: at most 1,024, in sets of a few, so that no two
// windows have to share one place. A new window takes the place of another one of its set when that is full,
// which is then parsed again when it is next asked for, in about a microsecond. So a client that sends ever
// new windows costs others no more than that, and takes no memory. Readers take no lock.
const (
	cacheSets = 256
	cacheWays = 4
)

type cacheSet struct {
	ways [cacheWays]atomic.Pointer[cached]
	turn atomic.Uint32 // counts replacements
}

type cached struct {
	window   string
	calendar *Calendar
}

var (
	cache     [cacheSets]cacheSet
	cacheSeed = maphash.MakeSeed() // random: nobody can choose windows of one set
)

// Parse returns the calendar of a window, or one of the errors of this package. It does not keep window.
func Parse(window []byte) (*Calendar, error) {
	if len(window) > maxText {
		return nil, ErrSyntax
	}
	set := &cache[maphash.Bytes(cacheSeed, window)%cacheSets]
	for i := range set.ways {
		if entry := set.ways[i].Load(); entry != nil && entry.window == string(window) {
			return entry.calendar, nil
		}
	}
	text := string(window)
	c, err := parse(text)
	if err != nil {
		return nil, err
	}
	entry := &cached{text, c}
	for i := range set.ways {
		if set.ways[i].CompareAndSwap(nil, entry) {
			return c, nil
		}
	}
	set.ways[set.turn.Add(1)%cacheWays].Store(entry)
	return c, nil
}
