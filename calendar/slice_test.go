package calendar_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/calendar"
)

const layout = "2006-01-02 15:04:05 -07"

func parse(t testing.TB, window string) *calendar.Calendar {
	t.Helper()
	c, err := calendar.Parse([]byte(window))
	require.NoError(t, err, window)
	return c
}

// parseAnew returns a calendar that has not been asked for a slice, so that it keeps none.
func parseAnew(t testing.TB, window string) *calendar.Calendar {
	c, err := calendar.ParseAnew(window)
	require.NoError(t, err, window)
	return c
}

// TestSlices has the slices that follow each other in a calendar, as their beginnings in local time.
func TestSlices(t *testing.T) {
	for _, c := range []struct {
		reason, window string
		begins         []string
	}{
		{"UTC has no changes", "1d@UTC", []string{"2026-10-24 00:00:00 +00", "2026-10-25 00:00:00 +00"}},
		{"Clocks go back at 03:00: a day of 25 hours", "1d@Europe/Zurich", []string{
			"2026-10-24 00:00:00 +02", "2026-10-25 00:00:00 +02", "2026-10-26 00:00:00 +01",
		}},
		{"The hour from 02:00 comes twice", "1h@Europe/Zurich", []string{
			"2026-10-25 01:00:00 +02", "2026-10-25 02:00:00 +02", "2026-10-25 02:00:00 +01",
			"2026-10-25 03:00:00 +01",
		}},
		{"Clocks go forward at 02:00: a day of 23 hours", "1d@Europe/Zurich", []string{
			"2026-03-29 00:00:00 +01", "2026-03-30 00:00:00 +02", "2026-03-31 00:00:00 +02",
		}},
		{"The hour from 02:00 does not come", "1h@Europe/Zurich", []string{
			"2026-03-29 01:00:00 +01", "2026-03-29 03:00:00 +02", "2026-03-29 04:00:00 +02",
		}},
		{"Midnight does not come: the clock jumps to 01:00", "1d@America/Sao_Paulo", []string{
			"2018-11-03 00:00:00 -03", "2018-11-04 01:00:00 -02", "2018-11-05 00:00:00 -02",
		}},
		{"Midnight comes twice: at 01:00 the clock goes back to it", "1d@America/Havana", []string{
			"2025-11-01 00:00:00 -04", "2025-11-02 00:00:00 -04", "2025-11-03 00:00:00 -05",
		}},
		{"The second hour after that midnight is an hour of its own", "1h@America/Havana", []string{
			"2025-11-02 00:00:00 -04", "2025-11-02 00:00:00 -05", "2025-11-02 01:00:00 -05",
		}},
		{"At 24:00 the clock goes back to 23:00: one midnight, later", "1d@America/Sao_Paulo", []string{
			"2018-02-17 00:00:00 -02", "2018-02-18 00:00:00 -03", "2018-02-19 00:00:00 -03",
		}},
		{"At 00:01 the clock goes back over midnight: the day goes on", "1d@America/St_Johns", []string{
			"2006-10-28 02:30:00 +00", "2006-10-29 02:30:00 +00", "2006-10-30 03:30:00 +00",
		}},
		{"and the hour that has begun ends after a minute, at 02:31 of UTC", "1h@America/St_Johns", []string{
			"2006-10-29 01:30:00 +00", "2006-10-29 02:30:00 +00", "2006-10-29 02:31:00 +00",
			"2006-10-29 03:30:00 +00",
		}},
		{"Samoa has no 30 December 2011", "1d@Pacific/Apia", []string{
			"2011-12-29 00:00:00 -10", "2011-12-31 00:00:00 +14", "2012-01-01 00:00:00 +14",
		}},
		{"A week that lacks a day", "1w@Pacific/Apia", []string{
			"2011-12-26 00:00:00 -10", "2012-01-02 00:00:00 +14",
		}},
		{"A month that would begin on that day begins at its end", "1mo@Pacific/Apia:30", []string{
			"2011-11-30 00:00:00 -10", "2011-12-31 00:00:00 +14", "2012-01-30 00:00:00 +14",
		}},
		{"Two dates of Kwajalein: 21 August 1993 did not come", "1d@Pacific/Kwajalein", []string{
			"1993-08-20 00:00:00 -12", "1993-08-22 00:00:00 +12", "1993-08-23 00:00:00 +12",
		}},
		{"Half an hour back, at 02:00: it ends a slice after 30 minutes", "1h@Australia/Lord_Howe", []string{
			"2026-04-04 14:00:00 +00", "2026-04-04 15:00:00 +00", "2026-04-04 15:30:00 +00",
			"2026-04-04 16:30:00 +00",
		}},
		{"Half an hour forward, at 02:00: 02:30 begins a short hour", "1h@Australia/Lord_Howe", []string{
			"2026-10-03 14:30:00 +00", "2026-10-03 15:30:00 +00", "2026-10-03 16:00:00 +00",
			"2026-10-03 17:00:00 +00",
		}},
		{"Nepal is 5:45 from UTC", "1h@Asia/Kathmandu", []string{
			"2026-01-01 00:15:00 +00", "2026-01-01 01:15:00 +00",
		}},
		{"India is 5:30 from UTC", "1d@Asia/Kolkata", []string{
			"2025-12-31 18:30:00 +00", "2026-01-01 18:30:00 +00",
		}},
		{"Zurich's own time was 34:08 from UTC", "1h@Europe/Zurich", []string{
			"1850-01-01 00:25:52 +00", "1850-01-01 01:25:52 +00",
		}},
		{"Morocco is an hour back in Ramadan, from 15 February 2026", "1d@Africa/Casablanca", []string{
			"2026-02-15 00:00:00 +01", "2026-02-16 00:00:00 +00", "2026-02-17 00:00:00 +00",
		}},
		{"and forward on 22 March", "1h@Africa/Casablanca", []string{
			"2026-03-22 01:00:00 +00", "2026-03-22 03:00:00 +01", "2026-03-22 04:00:00 +01",
		}},
		{"Iran's midnight of 22 March 2022 did not come", "1d@Asia/Tehran", []string{
			"2022-03-20 20:30:00 +00", "2022-03-21 20:30:00 +00", "2022-03-22 19:30:00 +00",
		}},
		{"Iran has had no summer time since", "1y@Asia/Tehran:03-21", []string{
			"2023-03-20 20:30:00 +00", "2024-03-20 20:30:00 +00",
		}},
		{"Day 31 is the last day, and returns after February", "1mo@UTC:31", []string{
			"2026-12-31 00:00:00 +00", "2027-01-31 00:00:00 +00", "2027-02-28 00:00:00 +00",
			"2027-03-31 00:00:00 +00", "2027-04-30 00:00:00 +00", "2027-05-31 00:00:00 +00",
		}},
		{"Day 30 in a leap year", "1mo@UTC:30", []string{
			"2028-01-30 00:00:00 +00", "2028-02-29 00:00:00 +00", "2028-03-30 00:00:00 +00",
		}},
		{"Day 29 in a common year", "1mo@UTC:29", []string{
			"2027-01-29 00:00:00 +00", "2027-02-28 00:00:00 +00", "2027-03-29 00:00:00 +00",
		}},
		{"Day 29 in a leap year", "1mo@UTC:29", []string{
			"2028-01-29 00:00:00 +00", "2028-02-29 00:00:00 +00", "2028-03-29 00:00:00 +00",
		}},
		{"Months have 31, 28, 31 days", "1mo", []string{
			"2027-01-01 00:00:00 +00", "2027-02-01 00:00:00 +00", "2027-03-01 00:00:00 +00",
			"2027-04-01 00:00:00 +00",
		}},
		{"A week over the end of a year", "1w", []string{
			"2026-12-28 00:00:00 +00", "2027-01-04 00:00:00 +00",
		}},
		{"A week from Sunday, with an hour more", "1w@Europe/Zurich:sun", []string{
			"2026-10-18 00:00:00 +02", "2026-10-25 00:00:00 +02", "2026-11-01 00:00:00 +01",
		}},
		{"29 February is the 28th in common years", "1y@UTC:02-29", []string{
			"2027-02-28 00:00:00 +00", "2028-02-29 00:00:00 +00", "2029-02-28 00:00:00 +00",
		}},
		{"1900 was no leap year, 2000 was one", "1y@UTC:02-29", []string{
			"1899-02-28 00:00:00 +00", "1900-02-28 00:00:00 +00", "1901-02-28 00:00:00 +00",
		}},
		{"Days at the end of a leap year, by the rule of a zone", "1d@America/New_York", []string{
			"2048-12-30 00:00:00 -05", "2048-12-31 00:00:00 -05", "2049-01-01 00:00:00 -05",
		}},
		{"Hours there", "1h@Australia/Sydney", []string{
			"2048-12-31 11:00:00 +11", "2048-12-31 12:00:00 +11", "2048-12-31 13:00:00 +11",
		}},
		{"A year over the end of a leap year", "1y@Australia/Sydney:07-01", []string{
			"2048-07-01 00:00:00 +10", "2049-07-01 00:00:00 +10", "2050-07-01 00:00:00 +10",
		}},
		{"Cuba does not go back in 2026: only new releases know it", "1d@America/Havana", []string{
			"2026-11-01 00:00:00 -04", "2026-11-02 00:00:00 -04",
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			cal := parse(t, c.window)
			for i := range c.begins[1:] {
				begin, err := time.Parse(layout, c.begins[i])
				require.NoError(t, err)
				next, err := time.Parse(layout, c.begins[i+1])
				require.NoError(t, err)
				from, to := begin.UnixMilli(), next.UnixMilli()
				soonMs := min(20*60_000, (to-from)/3)
				for _, nowMs := range []int64{from, from + soonMs, from + (to-from)/2, to - soonMs, to - 1} {
					start, end := parseAnew(t, c.window).Slice(nowMs)
					require.Equal(t, begin.UTC(), time.UnixMilli(start).UTC(), "begins")
					require.Equal(t, next.UTC(), time.UnixMilli(end).UTC(), "ends")
				}
				start, end := cal.Slice(from)
				require.Equal(t, []int64{from, to}, []int64{start, end})
			}
		})
	}
}

// TestFarAway has the slices at both ends of int64.
func TestFarAway(t *testing.T) {
	year1 := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	year10000 := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, window := range []string{
		"1h@Asia/Kathmandu", "1d@Asia/Manila", "1w@America/Juneau:sun", "1mo@Pacific/Apia:31", "1y@UTC:07-01",
	} {
		c := parse(t, window)
		for _, nowMs := range []int64{math.MinInt64, math.MinInt64 + 1, year1 - 1} {
			start, end := c.Slice(nowMs)
			require.Equal(t, []int64{math.MinInt64, year1}, []int64{start, end}, window)
		}
		for _, nowMs := range []int64{math.MaxInt64, math.MaxInt64 - 1, year10000} {
			start, end := c.Slice(nowMs)
			require.Equal(t, []int64{year10000, math.MaxInt64}, []int64{start, end}, window)
		}
		start, end := c.Slice(year1)
		require.Equal(t, year1, start, window)
		require.Greater(t, end, year1, window)
		start, end = c.Slice(year10000 - 1)
		require.Less(t, start, year10000, window)
		require.Equal(t, year10000, end, window)
	}
}
