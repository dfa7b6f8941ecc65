package dict

// chainCap bounds the chains among which Random is exactly uniform. With at
// most two nodes a bucket on average, a given chain is longer with a
// probability below 10^-9.
const chainCap = 16

// randomTries bounds Random: a try misses with a probability of about 31/32 at
// the sparsest, so that the last resort is taken once in 10^14 calls.
const randomTries = 1024

// Random returns a node, each with the same probability as long as no chain is
// longer than 16 nodes (beyond that, the nodes of such a chain have 16/length
// of it), or nil when the table is empty. rnd(n) must return a uniform number
// below n. It takes 16 to 32 tries on average, each of them reading one bucket.
//
// A random bucket followed by a random node of its chain would prefer nodes
// that are alone; so a bucket is kept with a probability of
// length/16 and drawn again otherwise.
func (d *Dict[V]) Random(rnd func(n uint64) uint64) *Node[V] {
	if d.count == 0 {
		return nil
	}
	var i uint64
	for range randomTries {
		i = rnd(d.n)
		first := d.segs[i>>segBits][i&segMask]
		if first == nil {
			continue
		}
		length := uint64(0)
		for n := first; n != nil; n = n.next {
			length++
		}
		keep := rnd(chainCap)
		if keep >= length {
			continue
		}
		if length > chainCap {
			keep = rnd(length)
		}
		n := first
		for ; keep > 0; keep-- {
			n = n.next
		}
		return n
	}
	// A rnd that repeats itself, or a loop over All that has deleted nearly
	// everything: take the first node from here on.
	for ; ; i = (i + 1) % d.n {
		if n := d.segs[i>>segBits][i&segMask]; n != nil {
			return n
		}
	}
}
