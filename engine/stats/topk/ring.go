package topk

import "unsafe"

// A Ring counts the keys of a stream whose elements have an instant, for the whole
// stream and for its last minute, ten minutes and hour. An element is added to one
// Sketch, that of the present slot of time. A slot that ends is merged into the sum of
// the whole stream and kept, in fewer entries, while a window needs it. Slots of the
// next coarser level are made from those of the finer one.
//
// If the instants step back by more than a slot, what was kept for windows is
// forgotten. The zero value is not usable: see NewRing.
type Ring struct {
	present *Sketch
	slot    int64 // number of the present slot: its start in units of SlotMs
	began   bool  // slot is set
	whole   *Sketch
	levels  [len(levels)][]closed // oldest first
	kept    int64                 // bytes of the sketches of levels
}

// A closed is a slot of time that has ended.
type closed struct {
	slot   int64 // its start, in units of SlotMs
	sketch *Sketch
}

// SlotMs is the length of the shortest slots in milliseconds.
const SlotMs = 10_000

// levels are the lengths of slots in units of SlotMs, each a multiple of the one before,
// and how many closed ones are kept.
var levels = [...]struct {
	length int64
	keep   int
}{{1, 6}, {6, 10}, {60, 6}}

// MaxWindowMs is the longest window that a Ring answers for.
const MaxWindowMs = 3_600_000

const (
	// capacity is how many entries a Ring has for the present slot, and as many for the
	// whole stream. At least half of them remain when entries are dropped.
	capacity = 256
	// keptEntries is how many entries a closed slot has.
	keptEntries = 64
)

// MaxEntries is the most entries that a Ring has in all.
const MaxEntries = 2*capacity + (6+10+6)*keptEntries

// NewRing returns an empty Ring.
func NewRing() *Ring { return &Ring{present: New(capacity), whole: New(capacity)} }

// Add adds n to the count of a key, given with its Hash.
func (r *Ring) Add(nowMs int64, hash uint64, db int, name []byte, n int64, last [2]int64) {
	r.Advance(nowMs)
	r.present.Add(hash, db, name, n, last)
}

// Advance ends the present slot if nowMs is in another one.
func (r *Ring) Advance(nowMs int64) {
	slot := floorDiv(nowMs, SlotMs)
	switch {
	case slot == r.slot && r.began:
		return
	case !r.began:
		r.slot, r.began = slot, true
		return
	case slot == r.slot-1:
		return // the clock stepped back a little
	}
	r.whole.Merge(r.present)
	if slot < r.slot {
		r.levels, r.kept = [len(levels)][]closed{}, 0
	} else {
		r.close(slot)
	}
	r.present.Reset()
	r.slot = slot
}

// close keeps the present slot, and those of coarser levels that end with it. next is the
// slot that begins.
func (r *Ring) close(next int64) {
	if r.present.Total() > 0 {
		r.keep(0, r.slot, r.present)
	}
	for i := 1; i < len(levels); i++ {
		length := levels[i].length
		start := floorDiv(r.slot, length) * length
		if next < start+length {
			break
		}
		sum := New(0)
		for _, c := range r.levels[i-1] {
			if c.slot >= start {
				sum.Merge(c.sketch)
			}
		}
		if sum.Total() > 0 {
			r.keep(i, start, sum)
		}
	}
}

// keep appends a slot to a level.
func (r *Ring) keep(level int, slot int64, s *Sketch) {
	kept := r.levels[level]
	if len(kept) == levels[level].keep {
		r.kept -= kept[0].sketch.Bytes()
		copy(kept, kept[1:])
		kept = kept[:len(kept)-1]
	}
	c := closed{slot, s.compacted(keptEntries)}
	r.kept += c.sketch.Bytes()
	r.levels[level] = append(kept, c)
}

// Whole returns a Sketch of the whole stream, which the caller may change.
func (r *Ring) Whole() *Sketch {
	sum := New(0)
	sum.Merge(r.whole)
	sum.Merge(r.present)
	return sum
}

// Window returns a Sketch of the elements in a window that ends at nowMs, which the
// caller may change, and the start of the first slot in it: a window begins with a slot.
// windowMs is at most MaxWindowMs.
func (r *Ring) Window(nowMs, windowMs int64) (sum *Sketch, fromMs int64) {
	r.Advance(nowMs)
	sum = New(0)
	level := 0
	for windowMs > levels[level].length*int64(levels[level].keep)*SlotMs {
		level++
	}
	length := levels[level].length
	from := floorDiv(floorDiv(nowMs-windowMs, SlotMs), length) * length
	fromMs = from * SlotMs
	for i := level; ; i-- {
		for _, c := range r.levels[i] {
			if c.slot >= from {
				sum.Merge(c.sketch)
			}
		}
		if i == 0 {
			break
		}
		// What this level does not have yet is in the finer ones.
		from = max(from, floorDiv(r.slot, levels[i].length)*levels[i].length)
	}
	sum.Merge(r.present)
	return sum, fromMs
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Entries returns how many entries the Ring has in all, at most MaxEntries.
func (r *Ring) Entries() int {
	n := r.present.Len() + r.whole.Len()
	for _, level := range r.levels {
		for _, c := range level {
			n += c.sketch.Len()
		}
	}
	return n
}

// Bytes returns the memory that r takes. A name that several slots have counts for each.
func (r *Ring) Bytes() int64 {
	n := int64(unsafe.Sizeof(*r)) + r.present.Bytes() + r.whole.Bytes() + r.kept
	for _, level := range r.levels {
		n += int64(cap(level)) * int64(unsafe.Sizeof(closed{}))
	}
	return n
}
