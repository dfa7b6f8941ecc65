package main

import (
	"slices"
	"testing"
)

// TestCompareLibrary checks that only a library's remaining times may differ, by one
// second.
func TestCompareLibrary(t *testing.T) {
	const reference = "client lib 1 on client 2\nflow gcra\n" +
		"1 allowed remaining=4 retry=-1 reset=720\n" +
		"2 denied remaining=0 retry=720 reset=3600\n" +
		"3 crowd allowed=50 denied=950\nend\n"
	for _, c := range []struct {
		changed string
		differ  []int
	}{
		{
			"1 allowed remaining=4 retry=-1 reset=721\n" +
				"2 denied remaining=0 retry=719 reset=3600\n" +
				"3 crowd allowed=50 denied=950\n",
			nil,
		},
		{
			"1 allowed remaining=3 retry=-1 reset=720\n" +
				"2 denied remaining=0 retry=718 reset=3600\n" +
				"3 crowd allowed=51 denied=949\n",
			[]int{1, 2, 3},
		},
		{
			"1 allowed remaining=4 retry=0 reset=720\n" +
				"2 denied remaining=0 reset=720 retry=3600\n" +
				"3 crowd allowed=50 denied=950\n",
			[]int{1, 2},
		},
	} {
		changed := read(t, "client lib 1 on client 2\nflow gcra\n"+c.changed+"end\n").sections[0].hits
		checkNumbers(t, compare(changed, read(t, reference).sections[0].hits), c.differ)
	}
}

// TestLibraryThatNeverDenies checks that lines that are not decisions of a call do not
// hide that a limiter never denies.
func TestLibraryThatNeverDenies(t *testing.T) {
	const text = "client lib 1 on client 2\nflow gcra\n1 allowed\n2 allowed\n" +
		"3 broken error=none\n4 crowd allowed=50 denied=950\n5 crowd-unpromised limit=50\nend\n"
	o := outcome{transcript: read(t, text)}
	rows := clientRows(client{name: "lib", expected: []string{"gcra"}}, o, o)
	if len(rows) != 1 || rows[0].verdict != notCrossed {
		t.Errorf("got %+v", rows)
	}
}

func TestLibraryLayout(t *testing.T) {
	for _, c := range []struct {
		r    row
		want []string
	}{
		{
			row{
				flow: "- gcra", client: "my lib 1.2 on a client 3 on another 4", ours: "+", theirs: "-",
				verdict: different,
			},
			[]string{"my lib", "1.2", "gcra", "a client 3 on another 4", "+", "-", "NOT THE SAME"},
		},
		{
			row{flow: "-", client: "lib", verdict: notRun},
			[]string{"lib", "", "-", "", "", "", "COULD NOT RUN"},
		},
	} {
		if got := libraryLayout.cells(c.r); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestLibrariesArePrepared checks that every library is installed by a preparation and
// asked for its algorithms. Otherwise its absence would go unnoticed.
func TestLibrariesArePrepared(t *testing.T) {
	for _, c := range allLibraries() {
		if !slices.ContainsFunc(libraryPreparations("."),
			func(p preparation) bool { return p.name == c.preparation }) {
			t.Errorf("%s: nothing prepares %s", c.name, c.preparation)
		}
		if len(c.expected) == 0 {
			t.Errorf("%s: no algorithm is expected", c.name)
		}
	}
}
