package zlimit_test

import (
	"cmp"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// TestArrows: who reads package engine from its top file down meets what is used below its use, but for less
// than a tenth of the references from file to file.
func TestArrows(t *testing.T) {
	race.OneGoroutine(t)
	c := newChecker(newSources())
	c.inside = "github.com/zlimit/zlimit/engine"
	c.info.Uses = map[*ast.Ident]types.Object{}
	require.NoError(t, c.checkAll("linux", ".", "./engine"))
	found := arrows{}
	for id, object := range c.info.Uses {
		if object.Pkg() == nil || object.Pkg().Path() != c.inside {
			continue
		}
		from, to := c.files.Position(id.Pos()).Filename, c.files.Position(object.Pos()).Filename
		found.add(filepath.Base(from), filepath.Base(to))
	}
	order := found.order()
	require.Greater(t, len(order), 30, "files")
	back := found.back(order)
	require.Less(t, 10*len(back), len(found), "%d of %d arrows run back up:\n%v\nin\n%v",
		len(back), len(found), back, order)
}

// TestArrowsCount: what runs in a circle runs back up once, and what does not never.
func TestArrowsCount(t *testing.T) {
	a := arrows{}
	for _, pair := range []string{"ab", "ac", "bc", "cd", "ed", "aa"} {
		a.add(pair[:1], pair[1:])
	}
	require.Len(t, a, 5)
	require.Empty(t, a.back(a.order()))
	a.add("d", "a")
	require.Equal(t, []arrow{{"d", "a"}}, a.back(a.order()))
	a.add("e", "a")
	a.add("a", "e")
	require.Len(t, a.back(a.order()), 2)
}

// An arrow is a reference from a file to another one.
type arrow struct{ from, to string }

type arrows map[arrow]bool

func (a arrows) add(from, to string) {
	if from != to {
		a[arrow{from, to}] = true
	}
}

// order returns the files so that few arrows run back up: each stands where the fewest of its own do.
func (a arrows) order() (files []string) {
	out := map[string]int{}
	for x := range a {
		out[x.from]++
		out[x.to]--
	}
	files = slices.SortedFunc(maps.Keys(out), func(x, y string) int {
		return cmp.Or(out[y]-out[x], cmp.Compare(x, y))
	})
	for moved := true; moved; {
		moved = false
		for _, f := range slices.Clone(files) {
			i := slices.Index(files, f)
			if to := a.place(files, i); to != i {
				files = slices.Insert(slices.Delete(files, i, i+1), to, f)
				moved = true
			}
		}
	}
	return files
}

// place returns where the file at i is to stand, which is there if no other place is better.
func (a arrows) place(files []string, i int) (best int) {
	best, least := i, 0
	for _, step := range []int{-1, 1} {
		more := 0 // arrows that run back up, than at i
		for j := i + step; j >= 0 && j < len(files); j += step {
			above, below := arrow{files[i], files[j]}, arrow{files[j], files[i]}
			if step > 0 {
				above, below = below, above
			}
			if a[below] {
				more++
			}
			if a[above] {
				more--
			}
			if more < least {
				best, least = j, more
			}
		}
	}
	return best
}

// back returns the arrows that run back up in an order of files.
func (a arrows) back(files []string) (back []arrow) {
	place := map[string]int{}
	for i, f := range files {
		place[f] = i
	}
	for x := range a {
		if place[x.from] > place[x.to] {
			back = append(back, x)
		}
	}
	return back
}
