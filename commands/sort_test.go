package commands

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

func itemsOf(texts []string) []sortItem {
	items := make([]sortItem, len(texts))
	for i, text := range texts {
		items[i] = sortItem{element: strconv.Itoa(i), text: []byte(text)}
	}
	return items
}

// TestSortRange compares random ranges with the result of sorting everything.
func TestSortRange(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		texts := make([]string, 1+rnd.IntN([]int{6, 8, 60, 500}[rnd.IntN(4)]))
		for i, values := 0, 1+rnd.IntN(2*len(texts)); i < len(texts); i++ {
			texts[i] = strconv.Itoa(rnd.IntN(values))
		}
		if rnd.IntN(3) == 0 {
			slices.Sort(texts)
		}
		first := rnd.IntN(len(texts))
		end := first + rnd.IntN(len(texts)-first+1)
		v := &sortVector{items: itemsOf(texts), alpha: true, by: true, desc: rnd.IntN(2) == 0}
		v.sortRange(first, end)
		slices.Sort(texts)
		if v.desc {
			slices.Reverse(texts)
		}
		got := []string{}
		for _, item := range v.items[first:end] {
			got = append(got, string(item.text))
		}
		require.Equal(t, texts[first:end], got, "range [%d, %d)", first, end)
		seen := map[string]bool{}
		for _, item := range v.items {
			require.False(t, seen[item.element], "duplicate item")
			seen[item.element] = true
		}
	}
}

// TestSortRangeHostile tests that crafted input cannot make the quicksort quadratic.
// The adversary creates the input during the sort: items not compared yet are greater
// than all others (McIlroy, A Killer Adversary for Quicksort, 1999).
func TestSortRangeHostile(t *testing.T) {
	const n = 20_000
	adversary := newAdversary(n)
	v := &sortVector{items: make([]sortItem, n), alpha: true, by: true}
	for i := range v.items {
		v.items[i] = sortItem{element: strconv.Itoa(i), text: []byte{}}
	}
	s := rangeSorter{v.items, adversary.compare, 0, n - 1}
	s.sort(0, n, maxSortDepth(n))
	require.Less(t, adversary.comparisons, 60*n*15)
}

type adversary struct {
	values      []int
	gas         int
	solid       int
	candidate   int
	comparisons int
}

func newAdversary(n int) *adversary {
	a := &adversary{values: make([]int, n), gas: n}
	for i := range a.values {
		a.values[i] = n
	}
	return a
}

func (a *adversary) compare(x, y sortItem) int {
	a.comparisons++
	i, _ := strconv.Atoi(x.element)
	j, _ := strconv.Atoi(y.element)
	if a.values[i] == a.gas && a.values[j] == a.gas {
		freeze := j
		if i == a.candidate {
			freeze = i
		}
		a.values[freeze] = a.solid
		a.solid++
	}
	switch {
	case a.values[i] == a.gas:
		a.candidate = i
	case a.values[j] == a.gas:
		a.candidate = j
	}
	return a.values[i] - a.values[j]
}

func TestSortPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		"#":        "itself",
		"#\x00*":   "itself",
		"":         "none",
		"k":        "none",
		"k\x00*":   "none",
		"*":        "|",
		"a*b":      "a|b",
		"a*b*":     "a|b*",
		"a*->f":    "a|->f",
		"a*->":     "a|->",
		"a*b->->":  "a|b->->",
		"a->*":     "a->|",
		"a*\x00->": "a|\x00->",
		"*->\x00":  "|->\x00",
		"*->f\x00": "|->f\x00",
		"#*":       "#|",
	} {
		p := parseSortPattern([]byte(pattern))
		got := "none"
		switch {
		case p.element:
			got = "itself"
		case p.field != nil:
			got = string(p.prefix) + "|" + string(p.suffix) + "->" + string(p.field)
		case p.hasStar:
			got = string(p.prefix) + "|" + string(p.suffix)
		}
		require.Equal(t, want, got, "%q", pattern)
	}
}

// TestSortShards tests that the shards of all keys that the handler reads and writes
// are locked, whatever the options.
func TestSortShards(t *testing.T) {
	table := testTable()
	row, readOnly := table.Lookup([]byte("sort")), table.Lookup([]byte("sort_ro"))
	shards := func(keys ...string) (set store.ShardSet) {
		for _, k := range keys {
			set |= store.ShardOf([]byte(k))
		}
		return set
	}
	for call, want := range map[string]store.ShardSet{
		"k":                              shards("k"),
		"k desc limit 0 5 get #":         shards("k"),
		"k by nosort get x":              shards("k"),
		"k store d":                      shards("k", "d"),
		"k store d store e":              shards("k", "e"),
		"k by w_*":                       store.AllShards,
		"k get # get *->f":               store.AllShards,
		"k by w_* nosuch":                shards("k"), // fails
		"k store limit alpha store d":    store.AllShards,
		"k store store store d":          shards("k", "d"),
		"k limit store d by x store get": shards("k", "get"),
	} {
		got := row.Shards(words(append([]string{"sort"}, strings.Fields(call)...)...))
		require.Equal(t, want, got&want, call)
		require.Equal(t, want == store.AllShards, got == store.AllShards, call)
	}
	require.Equal(t, shards("k"), readOnly.Shards(words("sort_ro", "k", "alpha")))
	require.Equal(t, store.AllShards, readOnly.Shards(words("sort_ro", "k", "get", "x*")))

	// With random options, the destination that the handler writes is locked.
	rnd := rand.New(rand.NewPCG(1, 1))
	options := []string{"store", "limit", "by", "get", "asc", "alpha", "0", "1", "d", "store"}
	for range 100_000 {
		args := words("sort", "k")
		for range rnd.IntN(8) {
			args = append(args, []byte(options[rnd.IntN(len(options))]))
		}
		at := sortDestination(args)
		require.Less(t, at, len(args))
		q, refusal := parseSort(args, true, sortErrors{})
		if !refusal.IsError() && q.destination != 0 {
			require.NotZero(t, row.Shards(args)&store.ShardOf(args[q.destination]), "%q", args)
		}
	}
}
