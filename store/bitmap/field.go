package bitmap

// Uint returns the unsigned integer of up to 64 bits at bit at. Bits past the end of the string are 0.
func Uint(b []byte, at int64, width int) (v uint64) {
	for width > 0 {
		skip, take := piece(at, width)
		c := byte(0)
		if i := at >> 3; i < int64(len(b)) {
			c = b[i]
		}
		v = v<<take | uint64(c<<skip>>(8-take))
		at += int64(take)
		width -= take
	}
	return v
}

// PutUint writes the low bits of v at bit at. The string must be long enough.
func PutUint(b []byte, at int64, width int, v uint64) {
	for width > 0 {
		skip, take := piece(at, width)
		mask := byte(0xff) >> skip &^ (0xff >> (skip + take))
		width -= take
		b[at>>3] = b[at>>3]&^mask | byte(v>>width<<(8-skip-take))&mask
		at += int64(take)
	}
}

// piece returns the offset of a field in its first byte, and the number of its bits in that byte.
func piece(at int64, width int) (skip, take int) {
	skip = int(at & 7)
	return skip, min(8-skip, width)
}

// A Field is an integer within a string: signed with 1 to 64 bits, or unsigned with 1 to 63.
type Field struct {
	Signed bool
	Width  int
}

// Get returns the field at bit at.
func (f Field) Get(b []byte, at int64) int64 { return f.wrap(int64(Uint(b, at, f.Width))) }

// Put writes a value that Fit or Add has returned.
func (f Field) Put(b []byte, at, v int64) { PutUint(b, at, f.Width, uint64(v)) }

// Overflow is the treatment of a value that does not fit a Field.
type Overflow uint8

// The arguments of BITFIELD's OVERFLOW.
const (
	Wrap Overflow = iota // the low bits
	Sat                  // the nearest value that fits
	Fail                 // no write
)

// Fit returns the value to write for v; ok is false if nothing is to be written. As in Redis, two more kinds
// of numbers are too large: negative ones in an unsigned field; and in a signed field of less than 64 bits
// those so low that their distance from the greatest value overflows an int64.
func (f Field) Fit(v int64, o Overflow) (fitted int64, ok bool) {
	low, high := f.bounds()
	above := v > high || !f.Signed && v < 0 || f.Signed && f.Width < 64 && high-v < 0
	return f.limit(v, above, !above && v < low, o)
}

// Add returns the value to write for the sum of old and by; ok is false if nothing is to be written.
func (f Field) Add(old, by int64, o Overflow) (sum int64, ok bool) {
	low, high := f.bounds()
	sum = old + by
	above := by > 0 && (sum < old || sum > high)
	below := by < 0 && (sum > old || sum < low)
	return f.limit(sum, above, below, o)
}

func (f Field) limit(v int64, above, below bool, o Overflow) (int64, bool) {
	low, high := f.bounds()
	switch {
	case !above && !below:
		return v, true
	case o == Fail:
		return 0, false
	case o == Wrap:
		return f.wrap(v), true
	case above:
		return high, true
	}
	return low, true
}

// bounds returns the least and the greatest value of a field.
func (f Field) bounds() (low, high int64) {
	if f.Signed {
		high = int64(1)<<(f.Width-1) - 1
		return -high - 1, high
	}
	return 0, int64(1)<<f.Width - 1
}

// wrap returns the low bits of v as a value of the field.
func (f Field) wrap(v int64) int64 {
	unused := 64 - f.Width
	if f.Signed {
		return v << unused >> unused
	}
	return int64(uint64(v) << unused >> unused)
}
