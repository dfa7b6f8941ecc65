// Package calendar divides time into the hours, days, weeks, months and years of a time zone.
//
// A window names what it divides into and where, in one of these forms:
//
//	1h@ZONE                 hours of the zone's clock
//	1d@ZONE                 days, from midnight
//	1w[@ZONE[:WEEKDAY]]     weeks, from a weekday, mon to sun; without one from Monday
//	1mo[@ZONE[:DAY]]        months, from a day, 1 to 31, or the last of a shorter month; without one day 1
//	1y[@ZONE[:MM-DD]]       years, from a date, 02-29 being the 28th in common years; without one 01-01
//
// A zone is a name of the IANA database, written as there, such as Europe/Zurich. A window without one is of
// UTC. The number is always 1: "2w" has no beginning that everybody would agree on.
//
// # Slices
//
// A slice is an interval of instants, [start, end), in milliseconds since 1970. Slices of a calendar follow
// each other without a gap, and none is empty.
//
// A day, week, month or year begins at the first instant at which the zone's clock shows midnight of its
// first date, or later. So a day whose midnight is left out begins when the clock jumps, and a day whose
// midnight comes twice begins at the first. A date that a zone leaves out altogether has no day. When the
// clock is set back over midnight, the day that has begun goes on.
//
// An hour ends when the clock shows a full hour, and whenever the zone's offset from UTC changes. So an hour
// that comes twice is two slices, one that is left out is none, and where the clock moves by half an hour,
// one slice is shorter.
//
// All time before year 1, and all from year 10000 on (of UTC), is one slice each, to the ends of int64.
//
// # Zones
//
// The zones are a pinned release of the IANA database, compiled into the program (57 KB), so that every
// server that runs this version has the same slices. The system's zones are never read. The first use expands
// the data to 210 KB, and each zone that is asked for is decoded once and kept.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package calendar

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
)

// Errors of Parse.
var (
	ErrSyntax = errors.New("calendar: window is not 1h@ZONE, 1d@ZONE, 1w[@ZONE[:WEEKDAY]], " +
		"1mo[@ZONE[:DAY]] or 1y[@ZONE[:MM-DD]]")
	ErrMany   = errors.New("calendar: number is not 1: windows of the calendar are 1h, 1d, 1w, 1mo and 1y")
	ErrZone   = errors.New("calendar: zone is not a name of the IANA database such as UTC or Europe/Zurich")
	ErrAnchor = errors.New("calendar: beginning is not mon to sun of a week, 1 to 31 of a month, or a date " +
		"MM-DD of a year")
)

// maxText is above the length of every valid window: zones have names of at most 32 bytes.
const maxText = 64

// A Calendar divides time into slices. It does not change, and any number of goroutines can use it. Two
// calendars are the same if their texts are: Parse may return another pointer for the same window.
type Calendar struct {
	unit  *unit
	zone  *zone
	month int // of the first day of a year
	day   int // the first day: of a week, from 0 for Monday; of a month
	text  string
	last  atomic.Pointer[slice] // the one that Slice returned last
}

type slice struct{ startMs, endMs int64 }

// Is reports whether a window is written as one of a calendar, valid or not: it is a number with the unit w,
// mo or y, or it has an '@'. It looks at no more of a window than a valid one can have.
func Is(window []byte) bool {
	window = window[:min(len(window), maxText)]
	if bytes.IndexByte(window, '@') >= 0 {
		return true
	}
	n := numberLen(window)
	name, _, _ := bytes.Cut(window[n:], []byte(":"))
	u := unitOf(name)
	return n > 0 && u != nil && u.alone
}

// numberLen returns how many bytes of a window are its number, which may have a minus.
func numberLen[text []byte | string](s text) int {
	n := 0
	if len(s) > 0 && s[0] == '-' {
		n++
	}
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// parse is Parse without the cache.
func parse(s string) (*Calendar, error) {
	span, place, placed := strings.Cut(s, "@")
	n := numberLen(span)
	u := unitOf(span[n:])
	switch {
	case n == 0 || u == nil || !placed && !u.alone:
		return nil, ErrSyntax
	case span[:n] != "1":
		return nil, ErrMany
	case !placed:
		place = utc
	}
	name, anchor, anchored := strings.Cut(place, ":")
	z := database()[name]
	if z == nil {
		return nil, ErrZone
	}
	c := &Calendar{unit: u, zone: z}
	if !anchored {
		anchor = u.anchor
	}
	if anchored && !u.alone || !u.setAnchor(c, anchor) {
		return nil, ErrAnchor
	}
	c.text = "1" + u.name
	if anchor != u.anchor {
		c.text += "@" + z.name + ":" + anchor
	} else if z.name != utc || !u.alone {
		c.text += "@" + z.name
	}
	return c, nil
}

// String returns the shortest window that has these slices in this zone.
func (c *Calendar) String() string { return c.text }

// A unit is what a calendar divides time into. Its days have numbers, from 1970-01-01 as 0, and so have the
// slices of a calendar: index returns the number of the one that begins in the week, month or year of a day,
// and first the day on which a slice begins. Hours have neither.
type unit struct {
	name      string
	alone     bool   // whether a window may lack a zone, and have an anchor
	anchor    string // where slices begin if a window does not say it
	setAnchor func(c *Calendar, anchor string) bool
	index     func(c *Calendar, day int64) int64
	first     func(c *Calendar, index int64) int64
}

var units = [...]unit{
	{name: "h", setAnchor: noAnchor},
	{name: "d", setAnchor: noAnchor, index: dayIndex, first: dayIndex},
	{name: "w", alone: true, anchor: "mon", setAnchor: setWeekday, index: weekIndex, first: weekFirst},
	{name: "mo", alone: true, anchor: "1", setAnchor: setDay, index: monthIndex, first: monthFirst},
	{name: "y", alone: true, anchor: "01-01", setAnchor: setDate, index: yearIndex, first: yearFirst},
}

func unitOf[text []byte | string](name text) *unit {
	for i := range units {
		if units[i].name == string(name) {
			return &units[i]
		}
	}
	return nil
}

func noAnchor(*Calendar, string) bool { return true }

var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

func setWeekday(c *Calendar, anchor string) bool {
	c.day = slices.Index(weekdays, anchor)
	return c.day >= 0
}

func setDay(c *Calendar, anchor string) bool {
	if len(anchor) == 1 {
		anchor = "0" + anchor
	} else if strings.HasPrefix(anchor, "0") {
		return false
	}
	c.day = twoDigits(anchor)
	return c.day >= 1 && c.day <= 31
}

func setDate(c *Calendar, anchor string) bool {
	month, day, _ := strings.Cut(anchor, "-")
	c.month, c.day = twoDigits(month), twoDigits(day)
	const leapYear = 2000
	return c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= lastDay(leapYear, c.month)
}

// twoDigits returns the value of two digits, -1 for another text.
func twoDigits(s string) int {
	if len(s) != 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return -1
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}
