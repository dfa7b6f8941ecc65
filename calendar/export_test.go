package calendar

import (
	"maps"
	"slices"
	"time"
)

// What the tests of package calendar_test see of this one.

var ParseAnew = parse

func Names() []string { return slices.Sorted(maps.Keys(database())) }

// Location returns a zone, for reading its clock.
func Location(name string) *time.Location {
	z := database()[name]
	z.once.Do(z.decode)
	return z.ruled
}

// CacheLen returns how many windows the cache holds.
func CacheLen() (n int) {
	for i := range cache {
		for j := range cache[i].ways {
			if cache[i].ways[j].Load() != nil {
				n++
			}
		}
	}
	return n
}

// OffsetAnew decodes a zone anew and returns its offset at an instant.
func OffsetAnew(name string, at int64) time.Duration {
	z := &zone{name: name, data: database()[name].data}
	offset, _ := z.period(at)
	return time.Duration(offset) * time.Second
}
