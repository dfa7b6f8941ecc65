package calendar

import (
	"math"
	"time"
)

const (
	secondMs    = 1000
	hourSeconds = 3600
	daySeconds  = 24 * hourSeconds
)

// Slices lie between the beginnings of these years of UTC.
var (
	year1Ms     = dayOf(1, 1, 1) * daySeconds * secondMs
	year10000Ms = dayOf(10_000, 1, 1) * daySeconds * secondMs
)

// Slice returns the slice that contains an instant, as the instant at which it begins and the one at which
// the next one begins. The last slice of all contains its end, the largest int64.
func (c *Calendar) Slice(nowMs int64) (startMs, endMs int64) {
	last := c.last.Load()
	if last == nil || nowMs < last.startMs || nowMs >= last.endMs {
		last = c.slice(nowMs)
		c.last.Store(last)
	}
	return last.startMs, last.endMs
}

func (c *Calendar) slice(nowMs int64) *slice {
	switch {
	case nowMs < year1Ms:
		return &slice{math.MinInt64, year1Ms}
	case nowMs >= year10000Ms:
		return &slice{year10000Ms, math.MaxInt64}
	}
	now := floorDiv(nowMs, secondMs)
	var start, end int64
	if c.unit.index == nil {
		start, end = c.hour(now)
	} else {
		start, end = c.days(now)
	}
	return &slice{max(start*secondMs, year1Ms), min(end*secondMs, year10000Ms)}
}

// days returns the slice of whole days that contains an instant.
func (c *Calendar) days(now int64) (start, end int64) {
	offset, _ := c.zone.period(now)
	day := floorDiv(now+offset, daySeconds)
	index := c.unit.index(c, day)
	if c.unit.first(c, index) > day {
		index--
	}
	start = c.begin(index)
	// The clock may have shown the next slice's first day already, before it was set back.
	for {
		index++
		end = c.begin(index)
		if end > now {
			return start, end
		}
		start = end
	}
}

// begin returns the first instant at which the zone's clock shows the midnight at which a slice begins, or
// later.
func (c *Calendar) begin(index int64) int64 {
	midnight := c.unit.first(c, index) * daySeconds
	// No zone has ever been a day from UTC: here the clock shows less.
	at := midnight - 26*hourSeconds
	for {
		offset, end := c.zone.period(at)
		if at = max(at, midnight-offset); at < end {
			return at
		}
		at = end
	}
}

// hour returns the hour of the zone's clock that contains an instant.
func (c *Calendar) hour(now int64) (start, end int64) {
	offset, _ := c.zone.period(now)
	start = now - floorMod(now+offset, hourSeconds)
	end = c.zone.change(now, start+hourSeconds)
	for {
		change := c.zone.change(start, now+1)
		if change > now {
			return start, end
		}
		start = change
	}
}

func dayIndex(_ *Calendar, day int64) int64 { return day }

const thursday = 3 // 1970-01-01, in days after Monday

func weekIndex(c *Calendar, day int64) int64 { return floorDiv(day+thursday-int64(c.day), 7) }

func weekFirst(c *Calendar, index int64) int64 { return index*7 - thursday + int64(c.day) }

func monthIndex(_ *Calendar, day int64) int64 {
	year, month, _ := dateOf(day)
	return int64(year)*12 + int64(month) - 1
}

func monthFirst(c *Calendar, index int64) int64 {
	return dayIn(int(floorDiv(index, 12)), int(floorMod(index, 12))+1, c.day)
}

func yearIndex(_ *Calendar, day int64) int64 {
	year, _, _ := dateOf(day)
	return int64(year)
}

func yearFirst(c *Calendar, index int64) int64 { return dayIn(int(index), c.month, c.day) }

// dayIn returns a day of a month, or its last if it has fewer.
func dayIn(year, month, day int) int64 { return dayOf(year, month, min(day, lastDay(year, month))) }

// lastDay returns how many days a month has.
func lastDay(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// dayOf returns the number of a date's day.
func dayOf(year, month, day int) int64 {
	return floorDiv(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix(), daySeconds)
}

func dateOf(day int64) (year int, month time.Month, dayOfMonth int) {
	return time.Unix(day*daySeconds, 0).UTC().Date()
}

func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

func floorMod(a, b int64) int64 { return (a%b + b) % b }
