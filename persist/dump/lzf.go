package dump

// Three bytes of LZF repeat at most this many; so many times its size can an
// input grow.
const longestRepeat = 264

// Decompress undoes LZF. The result must have exactly the size given.
//
// A control byte below 32 says how many literal bytes follow, less one. Any
// other is a repetition: its three high bits are the length less two, with 7
// meaning that a byte with the rest of the length follows; its five low bits
// and the next byte are how far back it begins, less one.
func Decompress(in []byte, size uint64) ([]byte, error) {
	if size > uint64(len(in))*longestRepeat {
		return nil, ErrFormat
	}
	out := make([]byte, 0, size)
	err := lzfSteps(in, size, func(literals []byte, back, n int) {
		out = append(out, literals...)
		from := len(out) - back
		for i := range n { // may overlap what it writes
			out = append(out, out[from+i])
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CheckLZF is Decompress without the result.
func CheckLZF(in []byte, size uint64) error {
	return lzfSteps(in, size, func([]byte, int, int) {})
}

// lzfSteps calls do for each step: with literals, or with how far back a
// repetition of n bytes begins. What do gets is good: it stays within size and
// within what was there.
func lzfSteps(in []byte, size uint64, do func(literals []byte, back, n int)) error {
	done := uint64(0)
	for len(in) > 0 {
		control := int(in[0])
		in = in[1:]
		if control < 32 {
			n := control + 1
			if n > len(in) || done+uint64(n) > size {
				return ErrFormat
			}
			do(in[:n], 0, 0)
			in = in[n:]
			done += uint64(n)
			continue
		}
		n := control >> 5
		if n == 7 {
			if len(in) == 0 {
				return ErrFormat
			}
			n += int(in[0])
			in = in[1:]
		}
		if len(in) == 0 {
			return ErrFormat
		}
		back := (control&31<<8 | int(in[0])) + 1
		in = in[1:]
		if n += 2; uint64(back) > done || done+uint64(n) > size {
			return ErrFormat
		}
		do(nil, back, n)
		done += uint64(n)
	}
	if done != size {
		return ErrFormat
	}
	return nil
}
