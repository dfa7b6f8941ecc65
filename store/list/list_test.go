package list

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store/alloc"
)

// check requires that l equals want and that the invariants in doc.go hold.
func check(t testing.TB, want []string, l *List) {
	t.Helper()
	require.Empty(t, faults(l))
	require.Equal(t, len(want), l.Len())
	got := make([]string, 0, len(want))
	l.Ascend(0, func(e string) bool { got = append(got, e); return true })
	require.True(t, slices.Equal(want, got), "%q, not %q", got, want)
}

// faults returns the broken invariants of a list.
func faults(l *List) (wrong []string) {
	sum, bytes := 0, int64(0)
	var before *chunk
	for c := l.head; c != nil; c = c.next {
		if c.prev != before {
			wrong = append(wrong, "prev and next disagree")
		}
		if c.len() == 0 || c.len() > maxChunk || len(c.array) > maxChunk {
			wrong = append(wrong, "a chunk is empty or too large")
		}
		inner := before != nil && before.prev != nil && c.next != nil
		if inner && before.len()+c.len() <= mergeMax {
			wrong = append(wrong, "two neighbours should be merged")
		}
		for i, e := range c.array {
			if (i < int(c.lo) || i >= int(c.hi)) && e != "" {
				wrong = append(wrong, "an element outside the window is kept alive")
			}
			bytes += alloc.Bytes(len(e))
		}
		bytes += chunkBytes + arrayBytes(len(c.array))
		sum += c.len()
		before = c
	}
	if l.tail != before || sum != l.length {
		wrong = append(wrong, "tail or length are wrong")
	}
	if l.bytes != bytes {
		wrong = append(wrong, "bytes are wrong")
	}
	return wrong
}

func TestFaultsAreDetected(t *testing.T) {
	for what, corrupt := range map[string]func(l *List){
		"length": func(l *List) { l.length++ },
		"bytes":  func(l *List) { l.bytes += 8 },
		"empty":  func(l *List) { l.head.next.dropBack(l.head.next.len()) },
		"back":   func(l *List) { l.tail.prev = nil },
		"tail":   func(l *List) { l.tail = l.head },
		"small": func(l *List) {
			for c := l.head; c != nil; c = c.next {
				l.length -= c.len() - 1
				c.dropBack(c.len() - 1)
			}
		},
		"alive": func(l *List) { l.tail.hi--; l.length-- },
	} {
		t.Run(what, func(t *testing.T) {
			l, _ := filled(6 * maxChunk)
			require.Empty(t, faults(l))
			corrupt(l)
			require.NotEmpty(t, faults(l))
		})
	}
}

// filled returns a list of n elements, and its model.
func filled(n int) (*List, []string) {
	l, model := &List{}, []string{}
	for i := range n {
		e := strconv.Itoa(i)
		l.PushBack([]byte(e))
		model = append(model, e)
	}
	return l, model
}

// modelRemove is Remove on a slice.
func modelRemove(model []string, elem string, limit int, fromBack bool) ([]string, int) {
	if limit == 0 {
		limit = len(model)
	}
	if fromBack {
		model = slices.Clone(model)
		slices.Reverse(model)
		out, n := modelRemove(model, elem, limit, false)
		slices.Reverse(out)
		return out, n
	}
	var out []string
	n := 0
	for _, e := range model {
		if e == elem && n < limit {
			n++
			continue
		}
		out = append(out, e)
	}
	return out, n
}

// step runs one operation, chosen by op and two numbers, on the list and the model.
func step(t testing.TB, l *List, model []string, op byte, a, b int) []string {
	elem := strconv.Itoa(a % 7)
	n := len(model)
	switch op % 12 {
	case 0, 1:
		l.PushFront([]byte(elem))
		return slices.Insert(model, 0, elem)
	case 2, 3:
		l.PushBack([]byte(elem))
		return append(model, elem)
	case 4:
		e, ok := l.PopFront()
		require.Equal(t, n > 0, ok)
		if ok {
			require.Equal(t, model[0], e)
			return model[1:]
		}
	case 5:
		e, ok := l.PopBack()
		require.Equal(t, n > 0, ok)
		if ok {
			require.Equal(t, model[n-1], e)
			return model[:n-1]
		}
	case 6:
		i := a % (n + 1)
		l.Insert(i, []byte(elem))
		return slices.Insert(model, i, elem)
	case 7:
		if n > 0 {
			l.Set(b%n, []byte(elem))
			model[b%n] = elem
		}
	case 8:
		if n > 0 {
			require.Equal(t, model[b%n], l.At(b%n))
		}
	case 9:
		limit := b % 5
		out, want := modelRemove(model, elem, limit, b&8 != 0)
		require.Equal(t, want, l.Remove([]byte(elem), limit, b&8 != 0))
		return out
	case 10:
		// Small cuts, so that lists grow.
		from, to := min(a%3, n), max(n-b%3, 0)
		l.Trim(from, to)
		if from >= to {
			return nil
		}
		return model[from:to]
	case 11:
		var down []string
		from := b%(n+1) - 1
		l.Descend(from, func(e string) bool { down = append(down, e); return len(down) < 200 })
		want := slices.Clone(model[:from+1])
		slices.Reverse(want)
		require.True(t, slices.Equal(want[:min(len(want), 200)], down))
	}
	return model
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		l, model := &List{}, []string(nil)
		growth := seed % 4 // how often pushes and insertions are repeated
		for round := range 1500 {
			op, a, b := byte(r.Uint32()), r.IntN(1<<20), r.IntN(1<<20)
			times := 1
			if op%12 < 4 || op%12 == 6 {
				times += int(growth)
			}
			for range times {
				model = step(t, l, model, op, a, b)
			}
			if round%50 == 0 {
				check(t, model, l)
			}
		}
		check(t, model, l)
	}
}

func FuzzAgainstModel(f *testing.F) {
	f.Add([]byte{0, 1, 2, 6, 3, 4, 9, 0, 1}, uint16(300))
	f.Fuzz(func(t *testing.T, ops []byte, size uint16) {
		l, model := filled(int(size % 1000))
		for i := 0; i+2 < len(ops) && i < 3000; i += 3 {
			model = step(t, l, model, ops[i], int(ops[i+1])*37, int(ops[i+2])*11)
		}
		check(t, model, l)
	})
}

// Memory follows what is left after Remove.
func TestRemoveLeavesFewChunks(t *testing.T) {
	const n = 100 * maxChunk
	l := &List{}
	for i := range n {
		e := []byte("x")
		if i%maxChunk == 0 {
			e = []byte("keep")
		}
		l.PushBack(e)
	}
	require.Equal(t, n-100, l.Remove([]byte("x"), 0, false))
	chunks := 0
	for c := l.head; c != nil; c = c.next {
		chunks++
	}
	require.LessOrEqual(t, chunks, 5)
	require.Empty(t, faults(l))
}

// A queue of a few elements stays in one small chunk, and allocates only the elements.
func TestQueueStaysSmall(t *testing.T) {
	l, elem := &List{}, []byte("an element")
	for range 3 {
		l.PushBack(elem)
	}
	allocs := testing.AllocsPerRun(10_000, func() {
		l.PushBack(elem)
		l.PopFront()
	})
	require.LessOrEqual(t, allocs, 1.0)
	require.Same(t, l.head, l.tail)
	require.LessOrEqual(t, len(l.head.array), 8)
}

func TestKeep(t *testing.T) {
	for _, n := range []int{1, 5, 127, 128, 129, 1000} {
		for _, from := range []int{0, 1, n / 2, n - 1, n} {
			for _, to := range []int{0, 1, n / 2, n - 1, n} {
				l, model := filled(n)
				l.Trim(from, to)
				want := []string(nil)
				if from < to {
					want = model[from:to]
				}
				check(t, want, l)
			}
		}
	}
}
