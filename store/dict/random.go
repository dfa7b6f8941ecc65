package dict

// chainCap is the length up to which Random treats chains exactly uniformly. With at most two nodes a bucket
// on average, a given chain is longer with a probability below 10^-9.
const chainCap = 16

// randomTries bounds Random: in the sparsest table a try fails with a probability of about 31/32, so all fail
// once in 10^14 calls.
const randomTries = 1024

// Random returns a node, or nil if the table is empty. All nodes have the same probability while no chain is
// longer than 16 nodes (beyond that, the nodes of such a chain have 16/length of it). rnd(n) must return a
// uniform number below n. It takes 16 to 32 tries on average, each of which reads one bucket.
//
// A random node of a random bucket would favor nodes in short chains, so a bucket is accepted with a
// probability of length/16, and drawn again otherwise.
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
	// rnd repeats itself, or a loop over All has deleted nearly everything: use the first node from here on.
	for ; ; i = (i + 1) % d.n {
		if n := d.segs[i>>segBits][i&segMask]; n != nil {
			return n
		}
	}
}

// Sample appends the nodes of consecutive buckets to dst, beginning at bucket at modulo their
// number, until it has appended k of them or seen all, and returns dst. Chains are taken whole, so
// there may be some more than k. The buckets are neighbours in memory, and no read waits for the
// one before it: in a large table that is a fraction of the time of k calls of Random, but nodes of
// longer chains are not as likely as others.
func (d *Dict[V]) Sample(dst []*Node[V], at uint64, k int) []*Node[V] {
	if d.n == 0 {
		return dst
	}
	want := len(dst) + k
	i := at % d.n
	for left := d.n; left > 0 && len(dst) < want; left-- {
		for n := d.segs[i>>segBits][i&segMask]; n != nil; n = n.next {
			dst = append(dst, n)
		}
		if i++; i == d.n {
			i = 0
		}
	}
	return dst
}
