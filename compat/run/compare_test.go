package main

import (
	"strings"
	"testing"
)

const reference = `client lib 1.2.3
flow commands-seconds
1000 allowed zcard=1 ttl=60
1000 allowed zcard=1 ttl=60
2000 denied zcard=1 ttl=59
3000 denied zcard=1 ttl=-1
end
`

func read(t *testing.T, text string) transcript {
	t.Helper()
	got, err := readTranscript(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCompare changes one thing of the reference in each case. Cases with differing
// hits must fail.
func TestCompare(t *testing.T) {
	cases := []struct {
		name     string
		old, new string
		differ   []int // numbers of the hits that differ
	}{
		{"unchanged", "", "", nil},
		{"a decision changed", "2000 denied", "2000 allowed", []int{3}},
		{"ttl one less", "ttl=59", "ttl=58", nil},
		{"ttl one more", "ttl=59", "ttl=60", nil},
		{"ttl two less", "ttl=59", "ttl=57", []int{3}},
		{"ttl two more", "ttl=59", "ttl=61", []int{3}},
		{"no expiry is not an expiry at once", "ttl=-1", "ttl=0", []int{4}},
		{"no key is not no expiry", "ttl=-1", "ttl=-2", []int{4}},
		{"ttl is not a number", "ttl=59", "ttl=?", []int{3}},
		{"a different field, by one", "denied zcard=1 ttl=59", "denied zcard=2 ttl=59", []int{3}},
		{"a different name", "zcard=1 ttl=59", "count=1 ttl=59", []int{3}},
		{"ttl under another name", "ttl=59", "left=60", []int{3}},
		{"a field missing", " ttl=59", "", []int{3}},
		{"a different instant", "3000 denied", "3001 denied", []int{4}},
		{"a hit missing at the end", "3000 denied zcard=1 ttl=-1\n", "", []int{4}},
		{"a hit missing in the middle", "2000 denied zcard=1 ttl=59\n", "", []int{3, 4}},
		{"an extra hit", "end", "4000 denied\nend", []int{5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(reference, c.old, c.new, 1)
			if c.old != "" && changed == reference {
				t.Fatal("the case changes nothing")
			}
			a, b := read(t, changed).sections[0].hits, read(t, reference).sections[0].hits
			checkNumbers(t, compare(a, b), c.differ)
			checkNumbers(t, compare(b, a), c.differ)
		})
	}
}

func checkNumbers(t *testing.T, differences []difference, want []int) {
	t.Helper()
	if len(differences) != len(want) {
		t.Fatalf("got %v, want hits %v", differences, want)
	}
	for i, d := range differences {
		if d.number != want[i] {
			t.Errorf("difference %d is hit %d, want %d", i, d.number, want[i])
		}
		if d.ours == d.theirs {
			t.Errorf("hit %d: both sides are printed as %q", d.number, d.ours)
		}
	}
}

func TestReadTranscript(t *testing.T) {
	got := read(t, "client lib 1.2.3\nflow a\n1 allowed\nend\nflow b\n-5 reply:int(1) x= y=a=b\nend\n")
	if got.client != "lib 1.2.3" || len(got.sections) != 2 {
		t.Fatalf("got %+v", got)
	}
	if hit := got.sections[1].hits[0].String(); hit != "-5 reply:int(1) x= y=a=b" {
		t.Errorf("got %q", hit)
	}
	one, err := readTranscript(strings.NewReader("client lib 1\n1 allowed\nend\n"), "rolling")
	if s, ok := one.section("rolling"); err != nil || !ok || !s.complete || len(s.hits) != 1 {
		t.Errorf("got %+v, %v", one, err)
	}
	const text = "client lib 1\nflow a\n1 allowed\nflow b\n1 allowed\nend\n"
	broken, err := readTranscript(strings.NewReader(text), "")
	if err != nil || broken.sections[0].complete || !broken.sections[1].complete {
		t.Errorf("a flow without its end: got %+v, %v", broken, err)
	}
}

func TestReadTranscriptRefuses(t *testing.T) {
	for _, text := range []string{
		"",
		"client \n",
		"1 allowed\nend\n",
		"client lib 1\n1 allowed\nend\n",
		"client lib 1\nflow a\n1 allowed\nend\n2 allowed\n",
		"client lib 1\nflow a\nend\nend\n",
		"client lib 1\nflow a\nend\nflow a\nend\n",
		"client lib 1\nflow a\n12:00 INFO started\nend\n",
		"client lib 1\nflow a\n1\nend\n",
		"client lib 1\nflow a\n1  allowed\nend\n",
		"client lib 1\nflow a\n1 allowed now\nend\n",
		"client lib 1\nflow a\n1 allowed =2\nend\n",
		"client lib 1\nflow a\n9223372036854775808 allowed\nend\n",
	} {
		if got, err := readTranscript(strings.NewReader(text), ""); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}
