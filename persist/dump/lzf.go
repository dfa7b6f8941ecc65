package dump

// longestRepeat is the most that three bytes of LZF can repeat, and thus bounds how
// much an input can grow.
const longestRepeat = 264

// Decompress undoes LZF. The result must have exactly the size given.
//
// A control byte below 32 is the number of literal bytes that follow, less one. Any
// other is a repetition. Its three high bits are the length less two; 7 means that a
// byte with the rest of the length follows. Its five low bits and the next byte are the
// distance back to its start, less one.
func Decompress(in []byte, size uint64) ([]byte, error) {
	if size > uint64(len(in))*longestRepeat {
		return nil, ErrFormat
	}
	out := make([]byte, 0, size)
	err := lzfSteps(in, size, func(literals []byte, back, n int) {
		out = append(out, literals...)
		from := len(out) - back
		for i := range n { // source and target may overlap
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

// lzfSteps calls do for each step with literals, or with the distance back and length
// of a repetition. The arguments are valid: within size and within the output so far.
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
