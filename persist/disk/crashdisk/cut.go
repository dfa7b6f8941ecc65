package crashdisk

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
)

const sector = 512

// edit applies an edit.
func (n *node) edit(e edit) {
	n.edits = append(n.edits, e)
	n.data = e.on(n.data)
}

// on returns bytes after an edit.
func (e edit) on(b []byte) []byte {
	b = resize(b, e.size)
	copy(b[min(e.off, int64(len(b))):], e.data)
	return b
}

// resize returns b with another length, extended by zeros.
func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func (n *node) makeSafe() {
	// Not simply data: what a failed Sync has dropped stays dropped.
	for _, e := range n.edits {
		n.safe = e.on(n.safe)
	}
	n.edits = nil
}

// left returns what a power cut may leave of a file.
func (n *node) left(rng *rand.Rand) []byte {
	safe := slices.Clone(n.safe)
	if len(n.edits) == 0 {
		return safe
	}
	switch rng.IntN(6) {
	case 0: // nothing reached the disk
		return safe
	case 1: // everything did
		return n.after(len(n.edits))
	case 2: // some edits, in order, and a part of the next
		k := rng.IntN(len(n.edits))
		got := n.after(k)
		if e := n.edits[k]; len(e.data) > 0 {
			part := e.data[:rng.IntN(len(e.data)+1)]
			got = edit{off: e.off, data: part, size: max(e.off+int64(len(part)), int64(len(got)))}.on(got)
		}
		return got
	case 3: // everything but a sector
		return n.sectors(rng, func(i, count int) int {
			if i == count-1-rng.IntN(count) {
				return rng.IntN(len(n.edits) + 1)
			}
			return len(n.edits)
		})
	case 4: // the length is ahead of the bytes
		k := rng.IntN(len(n.edits) + 1)
		return n.sectors(rng, func(int, int) int { return k })
	default: // each sector by itself
		return n.sectors(rng, func(int, int) int { return rng.IntN(len(n.edits) + 1) })
	}
}

// after returns the file after k edits.
func (n *node) after(k int) []byte {
	b := slices.Clone(n.safe)
	for _, e := range n.edits[:k] {
		b = e.on(b)
	}
	return b
}

// sectors returns the file with each sector as it was after the number of edits that
// pick chooses, and with the length after any of the edits.
func (n *node) sectors(rng *rand.Rand, pick func(i, count int) int) []byte {
	size := int64(len(n.safe))
	if k := rng.IntN(len(n.edits) + 2); k > 0 {
		size = n.edits[min(k, len(n.edits))-1].size // the newest has twice the chance
	}
	versions := make(map[int][]byte)
	out := make([]byte, size)
	count := (int(size) + sector - 1) / sector
	for i := range count {
		k := pick(i, count)
		if versions[k] == nil {
			versions[k] = n.after(k)
		}
		if v := versions[k]; i*sector < len(v) {
			copy(out[i*sector:min((i+1)*sector, len(out))], v[i*sector:])
		}
	}
	return out
}

// PowerCut returns a disk, switched on again, that a power cut now may leave.
func (d *Disk) PowerCut(rng *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.safe.clone()
	mode := rng.IntN(4)
	first := rng.IntN(len(d.changes) + 1)
	for i, c := range d.changes {
		// None of the changes, all, the first ones, or each at random.
		if mode == 1 || (mode == 2 && i < first) || (mode == 3 && rng.IntN(2) == 0) {
			found.apply(c)
		}
	}
	out := New(rng.Uint64())
	out.live.dirs, out.safe.dirs = found.dirs, maps.Clone(found.dirs)
	left := make(map[*node]*node)
	for _, name := range found.names() { // a fixed order, so that seeds reproduce
		n := found.files[name]
		if !found.dirs[path.Dir(name)] {
			continue // its directory was lost
		}
		if left[n] == nil {
			data := n.left(rng)
			left[n] = &node{data: data, safe: slices.Clone(data)}
		}
		out.live.files[name], out.safe.files[name] = left[n], left[n]
	}
	return out
}
