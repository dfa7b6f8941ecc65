package calendars

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A Query asks for the slice of an instant.
type Query struct {
	Zone, Unit string
	Anchor     string // empty if the unit has none
	NowMs      int64
}

// Window returns the calendar's text.
func (q Query) Window() string {
	text := "1" + q.Unit + "@" + q.Zone
	if q.Anchor != "" {
		text += ":" + q.Anchor
	}
	return text
}

// line is how a query is sent to a program.
func (q Query) line() string {
	anchor := q.Anchor
	if anchor == "" {
		anchor = "-"
	}
	return q.Zone + " " + q.Unit + " " + anchor + " " + strconv.FormatInt(q.NowMs, 10) + "\n"
}

// parseQuery is the other direction of line.
func parseQuery(line string) (Query, error) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return Query{}, fmt.Errorf("calendars: no query: %q", line)
	}
	ms, err := strconv.ParseInt(fields[3], 10, 64)
	return Query{fields[0], fields[1], strings.TrimPrefix(fields[2], "-"), ms}, err
}

// Zones are those that queries are about: some with odd changes of their clocks, and some in which many
// people live.
var Zones = strings.Fields(`
	Africa/Cairo Africa/Casablanca Africa/El_Aaiun Africa/Johannesburg Africa/Monrovia America/Anchorage
	America/Asuncion America/Caracas America/Godthab America/Havana America/Los_Angeles America/Mexico_City
	America/New_York America/Santiago America/Sao_Paulo America/Scoresbysund America/St_Johns America/Toronto
	Antarctica/Casey Antarctica/Troll Asia/Amman Asia/Beirut Asia/Gaza Asia/Kathmandu Asia/Kolkata
	Asia/Pyongyang Asia/Shanghai Asia/Tehran Asia/Tokyo Atlantic/Azores Australia/Lord_Howe Australia/Sydney
	Etc/GMT+5 Europe/Dublin Europe/Moscow Europe/Zurich Pacific/Apia Pacific/Chatham Pacific/Kwajalein UTC`)

var (
	begin = time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	end   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

const daySeconds = 86_400

// changes returns the instants at which the offset of a zone changes, found by looking at it twice a day.
func changes(zone *time.Location) (out []int64) {
	const step = daySeconds / 2
	offset := func(at int64) int {
		_, seconds := time.Unix(at, 0).In(zone).Zone()
		return seconds
	}
	for at := begin; at < end; at += step {
		if before := offset(at); before != offset(at+step) {
			out = append(out, at+int64(sort.Search(step, func(i int) bool {
				return offset(at+int64(i)) != before
			})))
		}
	}
	return out
}

// Queries returns n queries about all Zones. A quarter of the instants are within an hour and a half of a
// change of the zone's offset, and a quarter within a day; each change has its turn.
func Queries(seed uint64, n int, locate func(zone string) (*time.Location, error)) ([]Query, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	var out []Query
	for i, zone := range Zones {
		location, err := locate(zone)
		if err != nil {
			return nil, err
		}
		all := changes(location)
		for j := range (n + i) / len(Zones) {
			at := begin*1000 + r.Int64N((end-begin)*1000)
			if near := []int64{0, daySeconds, 0, daySeconds / 16}[j%4]; near != 0 && len(all) > 0 {
				at = all[j/2%len(all)]*1000 + r.Int64N(2*near*1000) - near*1000
			}
			q := Query{Zone: zone, NowMs: at}
			q.Unit, q.Anchor = anchor(r)
			out = append(out, q)
		}
	}
	return out, nil
}

// anchor returns a unit and one of its anchors.
func anchor(r *rand.Rand) (unit, anchor string) {
	switch r.IntN(5) {
	case 0:
		return "h", ""
	case 1:
		return "d", ""
	case 2:
		return "w", strings.ToLower(time.Weekday(r.IntN(7)).String()[:3])
	case 3:
		return "mo", strconv.Itoa(r.IntN(31) + 1)
	}
	return "y", time.Date(2000, 1, 1+r.IntN(366), 0, 0, 0, 0, time.UTC).Format("01-02")
}
