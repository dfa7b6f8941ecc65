package calendar_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/calendar"
	"github.com/zlimit/zlimit/race"
)

// windows are the valid ones, with their canonical texts.
var windows = map[string]string{
	"1h@UTC": "1h@UTC", "1d@UTC": "1d@UTC", "1w": "1w", "1mo": "1mo", "1y": "1y",
	"1w@UTC": "1w", "1w@UTC:mon": "1w", "1w@UTC:sun": "1w@UTC:sun", "1w@Asia/Tokyo:mon": "1w@Asia/Tokyo",
	"1mo@UTC:1": "1mo", "1mo@UTC:31": "1mo@UTC:31", "1mo@Etc/GMT+5:9": "1mo@Etc/GMT+5:9",
	"1y@UTC:01-01": "1y", "1y@UTC:02-29": "1y@UTC:02-29", "1y@GMT0:12-31": "1y@GMT0:12-31",
	"1d@America/Port-au-Prince":                 "1d@America/Port-au-Prince",
	"1h@America/Argentina/ComodRivadavia":       "1h@America/Argentina/ComodRivadavia",
	"1y@America/Argentina/ComodRivadavia:12-31": "1y@America/Argentina/ComodRivadavia:12-31",
	"1d@EST5EDT": "1d@EST5EDT",
}

// faults are windows that Parse refuses, by their errors. Those of ErrSyntax are not written as a calendar's
// if length says so.
var faults = []struct {
	err     error
	length  bool
	windows []string
}{
	{calendar.ErrSyntax, true, []string{
		"", "1", "1h", "1d", "60000", "1ms", "1m", "1W", "1mon", "1 w", "w",
	}},
	{calendar.ErrSyntax, false, []string{
		"1w:mon", "@", "@UTC", "1@UTC", "1m@UTC", "1D@UTC", " 1d@UTC", "+1d@UTC", "1d @UTC",
		"1d\x00@UTC",
	}},
	{calendar.ErrMany, false, []string{
		"2w", "-1w", "0mo", "01d@UTC", "12mo@UTC", "99999999999999999999999999y",
	}},
	{calendar.ErrZone, false, []string{
		"1d@", "1d@utc", "1d@Local", "1d@Factory", "1d@posixrules", "1d@Europe", "1d@Europe/",
		"1d@../etc/passwd", "1d@/etc/localtime", "1d@Europe/Zurich\x00", "1d@Europe/Zurich ",
		"1d@UTC@UTC", "1w@:mon",
	}},
	{calendar.ErrAnchor, false, []string{
		"1h@UTC:", "1d@UTC:1", "1w@UTC:", "1w@UTC:Mon", "1w@UTC:1", "1w@UTC:mon:tue", "1mo@UTC:",
		"1mo@UTC:0", "1mo@UTC:01", "1mo@UTC:32", "1mo@UTC:-1", "1mo@UTC:x", "1mo@UTC:100", "1y@UTC:",
		"1y@UTC:1-1", "1y@UTC:01", "1y@UTC:0101", "1y@UTC:00-01", "1y@UTC:13-01", "1y@UTC:02-30",
		"1y@UTC:04-31", "1y@UTC:01-00", "1y@UTC:01-01-",
	}},
}

func TestParse(t *testing.T) {
	for window, canonical := range windows {
		require.Equal(t, canonical, parse(t, window).String(), window)
		require.Equal(t, canonical, parse(t, canonical).String(), window)
		require.True(t, calendar.Is([]byte(window)), window)
	}
	for _, f := range faults {
		for _, window := range append(f.windows, f.windows...) { // an error is no entry of the cache
			c, err := calendar.Parse([]byte(window))
			require.Nil(t, c, "%q", window)
			require.ErrorIs(t, err, f.err, "%q", window)
			require.Equal(t, f.length, !calendar.Is([]byte(window)), "%q", window)
		}
	}
}

// TestParseLong refuses what is long without work or memory in proportion.
func TestParseLong(t *testing.T) {
	const size = 1 << 20
	for _, window := range []string{
		strings.Repeat("1", size), strings.Repeat("\x00", size), "1d@" + strings.Repeat("A", size),
		"1d@UTC" + strings.Repeat(":", size), strings.Repeat("@", size),
		"1mo@UTC:" + strings.Repeat("0", size),
	} {
		data := []byte(window)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			_, err := calendar.Parse(data)
			if err != calendar.ErrSyntax { //nolint:errorlint // the value itself; ErrorIs would allocate
				t.Error(err)
			}
			calendar.Is(data)
		}))
	}
	require.True(t, calendar.Is([]byte("1d@"+strings.Repeat("A", size))))
	require.False(t, calendar.Is([]byte(strings.Repeat("A", size)+"@")), "it has looked at all of it")
}

// TestParseKeepsNothing overwrites what was parsed.
func TestParseKeepsNothing(t *testing.T) {
	window := []byte("1w@Asia/Seoul:tue")
	c, err := calendar.Parse(window)
	require.NoError(t, err)
	copy(window, "1w@Asia/Tokyo:wed")
	require.Equal(t, "1w@Asia/Seoul:tue", c.String())
	require.Equal(t, "1w@Asia/Tokyo:wed", parse(t, string(window)).String())
	require.Equal(t, "1w@Asia/Seoul:tue", parse(t, "1w@Asia/Seoul:tue").String())
}

// TestKnownAllocatesNothing: Parse and Slice stand on the path of every call.
func TestKnownAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	window := []byte("1mo@Europe/Zurich:31")
	known := parse(t, string(window))
	known.Slice(1_800_000_000_000)
	require.Same(t, known, parse(t, string(window)))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c, err := calendar.Parse(window)
		if err != nil {
			t.Error(err)
			return
		}
		c.Slice(1_800_000_000_001)
	}))
}

// TestManyWindows parses far more windows than the cache holds, from several goroutines, and always gets the
// calendar that was asked for.
func TestManyWindows(t *testing.T) {
	zones := calendar.Names()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 20_000 {
				month, day := i%12+1, (i+g)%28+1
				window := fmt.Sprintf("1y@%s:%02d-%02d", zones[i%len(zones)], month, day)
				c, err := calendar.Parse([]byte(window))
				if err != nil || month+day > 2 && c.String() != window {
					t.Errorf("%s: %v %v", window, c, err)
					return
				}
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, calendar.CacheLen(), 1024)
	require.Greater(t, calendar.CacheLen(), 512)
	for day := 1; day < 29; day++ { // a new window finds a place
		window := fmt.Sprintf("1mo@Europe/Oslo:%d", day)
		first := parse(t, window)
		require.Same(t, first, parse(t, window))
	}
}

func FuzzParse(f *testing.F) {
	for window := range windows {
		f.Add([]byte(window), int64(1_800_000_000_000))
	}
	for _, fault := range faults {
		for _, window := range fault.windows {
			f.Add([]byte(window), int64(-1))
		}
	}
	f.Fuzz(func(t *testing.T, window []byte, nowMs int64) {
		c, err := calendar.Parse(window)
		if err != nil {
			require.Nil(t, c)
			return
		}
		require.True(t, calendar.Is(window))
		again := parse(t, c.String())
		require.Equal(t, c.String(), again.String())
		start, end := c.Slice(nowMs)
		require.LessOrEqual(t, start, nowMs)
		require.True(t, nowMs < end || nowMs == end && end == 1<<63-1)
		start2, end2 := again.Slice(nowMs)
		require.Equal(t, []int64{start, end}, []int64{start2, end2})
	})
}

func BenchmarkParse(b *testing.B) {
	window := []byte("1mo@Europe/Zurich:31")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := calendar.Parse(window); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseUnknown(b *testing.B) {
	window := []byte("1mo@Europe/Zurich:31")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := calendar.ParseAnew(string(window)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSlice(b *testing.B) {
	c := parse(b, "1mo@Europe/Zurich:31")
	b.ReportAllocs()
	for b.Loop() {
		c.Slice(1_800_000_000_000)
	}
}

func BenchmarkSliceAnother(b *testing.B) {
	c := parse(b, "1d@Europe/Zurich")
	b.ReportAllocs()
	nowMs := int64(1_800_000_000_000)
	for b.Loop() {
		nowMs += 86_400_000
		c.Slice(nowMs)
	}
}
