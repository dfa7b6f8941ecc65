package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCondense(t *testing.T) {
	hits := func(decisions ...string) []hit {
		list := make([]hit, len(decisions))
		for i, d := range decisions {
			list[i].decision = d
		}
		return list
	}
	many := hits(strings.Split(strings.Repeat("allowed ", 40)+"denied denied allowed", " ")...)
	for _, c := range []struct {
		hits []hit
		want string
	}{
		{nil, ""},
		{hits("allowed", "allowed", "denied", "allowed"), "++-+"},
		{hits("allowed", "200", "200", "denied"), "+1 200 x2 -1"},
		{many, "+40 -2 +1"},
	} {
		if got := condense(c.hits); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

var tableRows = []row{
	{flow: "7 rolling", client: "lib 1", ours: "+-", theirs: "+-", verdict: same},
	{
		flow: "8 hash-tag", client: "library 2", ours: "++", theirs: "+-", verdict: different,
		detail: []string{"hit 2", "  zlimit 1 allowed", "  Redis  1 denied"},
	},
}

func TestWriteText(t *testing.T) {
	var got strings.Builder
	flowLayout.writeText(&got, tableRows)
	const want = `flow        client     zlimit  Redis  same or not
7 rolling   lib 1      +-      +-     same
8 hash-tag  library 2  ++      +-     NOT THE SAME

8 hash-tag, library 2: NOT THE SAME
  hit 2
    zlimit 1 allowed
    Redis  1 denied

2 rows, 1 to look at
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestWriteMarkdown(t *testing.T) {
	var got strings.Builder
	flowLayout.writeMarkdown(&got, tableRows)
	const want = "| flow | client | zlimit | Redis | same or not |\n" +
		"|---|---|---|---|---|\n" +
		"| 7 rolling | lib 1 | `+-` | `+-` | same |\n" +
		"| 8 hash-tag | library 2 | `++` | `+-` | NOT THE SAME |\n" +
		"\n8 hash-tag, library 2: NOT THE SAME\n\n```\nhit 2\n  zlimit 1 allowed\n  Redis  1 denied\n```\n" +
		"\n2 rows, 1 to look at\n"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	if s := summary(tableRows[:1]); s != "1 rows, all the same" {
		t.Error(s)
	}
}

// TestMergedRows checks that lines are one only if nothing but the algorithm differs.
func TestMergedRows(t *testing.T) {
	got := merged([][]string{
		{"library", "version", "algorithm", "client", "zlimit", "Redis", "same or not"},
		{"a", "1", "x", "c", "`+`", "`+`", "same"},
		{"a", "1", "y", "c", "`-`", "`-`", "same"},
		{"a", "1", "y", "d", "`-`", "`-`", "same"},
		{"b", "1", "y", "d", "`-`", "`+`", "NOT THE SAME"},
	})
	want := [][]string{
		{"library", "version", "algorithm", "client"},
		{"a", "1", "x, y", "c"}, {"a", "1", "y", "d"}, {"b", "1", "y", "d"},
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q", got)
	}
}
