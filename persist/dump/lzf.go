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
	for len(in) > 0 {
		control := int(in[0])
		in = in[1:]
		if control < 32 {
			n := control + 1
			if n > len(in) || uint64(len(out)+n) > size {
				return nil, ErrFormat
			}
			out = append(out, in[:n]...)
			in = in[n:]
			continue
		}
		n := control >> 5
		if n == 7 {
			if len(in) == 0 {
				return nil, ErrFormat
			}
			n += int(in[0])
			in = in[1:]
		}
		if len(in) == 0 {
			return nil, ErrFormat
		}
		from := len(out) - (control&31<<8 | int(in[0])) - 1
		in = in[1:]
		if n += 2; from < 0 || uint64(len(out)+n) > size {
			return nil, ErrFormat
		}
		for i := range n { // may overlap what it writes
			out = append(out, out[from+i])
		}
	}
	if uint64(len(out)) != size {
		return nil, ErrFormat
	}
	return out, nil
}
