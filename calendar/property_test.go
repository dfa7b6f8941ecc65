package calendar_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/calendar"
	"github.com/zlimit/zlimit/race"
)

// anchored returns a window of a zone at random.
func anchored(r *rand.Rand, zone string) string {
	switch r.IntN(5) {
	case 0:
		return "1h@" + zone
	case 1:
		return "1d@" + zone
	case 2:
		return "1w@" + zone + ":" + []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}[r.IntN(7)]
	case 3:
		return fmt.Sprintf("1mo@%s:%d", zone, r.IntN(31)+1)
	}
	date := time.Date(2000, 1, 1+r.IntN(366), 0, 0, 0, 0, time.UTC)
	return "1y@" + zone + ":" + date.Format("01-02")
}

// TestSlicesFollowEachOther asks for slices in every zone, mostly at instants that people know.
func TestSlicesFollowEachOther(t *testing.T) {
	race.OneGoroutine(t)
	r := rand.New(rand.NewPCG(1, 2))
	year1 := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, zone := range calendar.Names() {
		for range 60 {
			c := parseAnew(t, anchored(r, zone))
			nowMs := r.Int64N(2_000_000_000_000*2) - 2_000_000_000_000
			if r.IntN(10) == 0 {
				nowMs = year1 + r.Int64N(9_000*366*86_400_000)
			}
			start, end := c.Slice(nowMs)
			require.LessOrEqual(t, start, nowMs, "%v %d", c, nowMs)
			require.Less(t, nowMs, end, "%v %d", c, nowMs)
			fresh := parseAnew(t, c.String())
			for _, other := range []int64{start, end - 1, start + r.Int64N(end-start)} {
				start2, end2 := fresh.Slice(other)
				require.Equal(t, []int64{start, end}, []int64{start2, end2}, "%v %d and %d", c, nowMs, other)
				fresh = parseAnew(t, c.String())
			}
			next, after := fresh.Slice(end)
			require.Equal(t, end, next, "%v %d", c, nowMs)
			require.Greater(t, after, next)
			_, before := fresh.Slice(start - 1)
			require.Equal(t, start, before, "%v %d", c, nowMs)
		}
	}
}

// TestBySteps compares with what a look at the clock every minute finds.
func TestBySteps(t *testing.T) {
	race.OneGoroutine(t)
	const minutes = 9 * 24 * 60
	for zone, from := range map[string]string{
		"Europe/Zurich": "2026-10-22", "America/Sao_Paulo": "2018-11-01", "America/Havana": "2025-10-28",
		"Pacific/Apia": "2011-12-26", "Australia/Lord_Howe": "2026-04-01", "America/St_Johns": "2006-10-27",
		"Africa/Casablanca": "2026-02-11", "Asia/Tehran": "2022-03-18", "Asia/Kathmandu": "1985-12-28",
		"America/Scoresbysund": "2024-03-28", "America/New_York": "2048-12-27",
		"Antarctica/Troll": "2048-03-25",
	} {
		begin, err := time.ParseInLocation("2006-01-02", from, calendar.Location(zone))
		require.NoError(t, err)
		for _, unit := range []string{"h", "d", "w", "mo", "y"} {
			window := "1" + unit + "@" + zone
			wantStart, end := parse(t, window).Slice(begin.UnixMilli())
			last := begin
			newest := last.Format(time.DateOnly) // the latest date that the clock has shown
			for i := range minutes {
				now := begin.Add(time.Duration(i) * time.Minute)
				_, offset := now.Zone()
				_, lastOffset := last.Zone()
				date := now.Format(time.DateOnly)
				var begins bool
				switch unit {
				case "h":
					begins = offset != lastOffset || now.Hour() != last.Hour()
				case "d":
					begins = date > newest
				case "w":
					begins = date > newest && weekOf(date) != weekOf(newest)
				case "mo":
					begins = date > newest && date[:7] != newest[:7]
				case "y":
					begins = date > newest && date[:4] != newest[:4]
				}
				if begins {
					wantStart = now.UnixMilli()
					require.Equal(t, wantStart, end, "%s at %v: not where another ended", window, now)
				}
				newest = max(newest, date)
				last = now
				var start int64
				start, end = parseAnew(t, window).Slice(now.UnixMilli())
				if start != wantStart || end <= now.UnixMilli() {
					t.Fatalf("%s at %v: [%d, %d), want %d", window, now, start, end, wantStart)
				}
			}
		}
	}
}

// weekOf returns the Monday before a date.
func weekOf(date string) string {
	d, _ := time.Parse(time.DateOnly, date)
	return d.AddDate(0, 0, -(int(d.Weekday())+6)%7).Format(time.DateOnly)
}

// TestEveryZone decodes all zones, so that the file is not damaged.
func TestEveryZone(t *testing.T) {
	require.Equal(t, "2026f", calendar.Release())
	names := calendar.Names()
	require.Len(t, names, 597)
	for _, name := range names {
		require.Equal(t, name, calendar.Location(name).String())
	}
	for _, name := range []string{"UTC", "GMT0", "Etc/GMT+5", "US/Pacific", "Asia/Calcutta", "Europe/Kyiv"} {
		require.Contains(t, names, name)
	}
}

// TestClockHasNoSay decodes a zone while the system's clock is in December 2022. Ciudad Juarez changed its
// offset on 30 November 2022, in the middle of a period of its rule for later years. Package time remembers
// the offset of the clock's own period, and would take it for the days before as well.
func TestClockHasNoSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(time.Date(2022, 12, 15, 0, 0, 0, 0, time.UTC)))
		at := time.Date(2022, 11, 10, 0, 0, 0, 0, time.UTC).Unix()
		require.Equal(t, -6*time.Hour, calendar.OffsetAnew("America/Ciudad_Juarez", at))
	})
}
