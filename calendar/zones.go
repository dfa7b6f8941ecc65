package calendar

import (
	"bytes"
	"compress/zlib"
	_ "embed" // for the zones
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The zones of a release of the IANA database, as lab/zones writes them (make zones): a line with the
// release, then, compressed by zlib, a line for each name in their order, "name offset length", an empty
// line, and then the bytes that offsets and lengths are of. They are the second half of files as RFC 9636
// describes them, from the header of the 64-bit data on; the first half, of 32 bits, would say the same of
// less time.
//
//go:embed zones.bin
var packed string

const utc = "UTC"

// Release returns the release of the IANA database that the zones are of, such as "2026f".
func Release() string {
	release, _, _ := strings.Cut(packed, "\n")
	return release
}

// database expands the zones when they are first used.
var database = sync.OnceValue(func() map[string]*zone {
	_, compressed, _ := strings.Cut(packed, "\n")
	r, err := zlib.NewReader(strings.NewReader(compressed))
	must(err)
	data, err := io.ReadAll(r)
	must(err)
	index, bodies, _ := strings.Cut(string(data), "\n\n")
	zones := make(map[string]*zone)
	for line := range strings.SplitSeq(index, "\n") {
		fields := strings.Fields(line)
		offset, err := strconv.Atoi(fields[1])
		must(err)
		length, err := strconv.Atoi(fields[2])
		must(err)
		zones[fields[0]] = &zone{name: fields[0], data: bodies[offset:][:length]}
	}
	return zones
})

// must panics if the zones that are compiled in are damaged; a test decodes all of them.
func must(err error) {
	if err != nil {
		panic("calendar: zones.bin: " + err.Error())
	}
}

// A zone is decoded when it is first asked for.
type zone struct {
	name string
	data string

	once sync.Once
	// Package time remembers the period of the rule for later years in which the system's clock is, even as
	// far as it lies before the last change that the data lists. So that rule has a location of its own.
	listed *time.Location // before the last change
	ruled  *time.Location // from then on
	last   int64          // that change, in seconds
}

func (z *zone) decode() {
	const (
		versionAt  = 4
		changesAt  = 32 // their number, in the header
		headerLen  = 44
		changeSize = 8
	)
	data := append(make([]byte, headerLen, headerLen+len(z.data)), z.data...) // an empty first half
	copy(data, z.data[:versionAt+1])
	var err error
	z.ruled, err = time.LoadLocationFromTZData(z.name, data)
	must(err)
	rule := bytes.LastIndexByte(data[:len(data)-1], '\n')
	z.listed, err = time.LoadLocationFromTZData(z.name, data[:rule])
	must(err)
	z.last = math.MinInt64
	if n := int(binary.BigEndian.Uint32(data[headerLen+changesAt:])); n > 0 {
		z.last = int64(binary.BigEndian.Uint64(data[2*headerLen+changeSize*(n-1):]))
	}
}

// period returns the zone's offset from UTC at an instant, and an instant after it until which the offset
// stays. It may stay for longer.
func (z *zone) period(at int64) (offset, end int64) {
	z.once.Do(z.decode)
	location := z.ruled
	if at < z.last {
		location = z.listed
	}
	t := time.Unix(at, 0).In(location)
	_, seconds := t.Zone()
	_, bound := t.ZoneBounds()
	if bound.IsZero() {
		return int64(seconds), math.MaxInt64
	}
	end = bound.Unix()
	if end <= at {
		// Package time ends the last period of every year after 365 days: on 31 December of a leap year
		// that is over. The offset stays until the year of UTC ends.
		end = dayOf(t.UTC().Year()+1, 1, 1) * daySeconds
	}
	return int64(seconds), end
}

// change returns the first instant after another one at which the zone's offset changes, but no later one
// than limit.
func (z *zone) change(at, limit int64) int64 {
	offset, end := z.period(at)
	for end < limit {
		next, nextEnd := z.period(end)
		if next != offset {
			return end
		}
		end = nextEnd
	}
	return limit
}
