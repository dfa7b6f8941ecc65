package doctor

// Sizes of patterns and of the names of clients in findings.
const maxPattern, maxLabel = 64, 64

// appendPattern appends the pattern of a key: parts that differ from one user, address or
// slice of time to the next are replaced by *. These are runs of digits, words of digits
// and letters in turns (hashes, tokens, the parts of a UUID), long words with a digit, and
// words that are not ASCII. Stars that only '.', '-', '_' or ':' separates are one, so that
// addresses are. Words of letters stay.
func appendPattern(dst, key []byte) []byte {
	start := len(dst)
	for i := 0; i < len(key) && len(dst)-start <= maxPattern; {
		n := wordLen(key[i:])
		if n == 0 {
			if key[i] == '*' { // of KEYS
				dst = appendStar(dst, start)
			} else {
				dst = append(dst, key[i])
			}
			i++
			continue
		}
		dst = appendWord(dst, start, key[i:i+n])
		i += n
	}
	if len(dst)-start > maxPattern {
		return append(dst[:start+maxPattern], "..."...)
	}
	return dst
}

// wordLen returns the length of the letters, digits and bytes beyond ASCII at the start of
// b.
func wordLen(b []byte) int {
	for i, ch := range b {
		if !isLetter(ch) && ch-'0' > 9 && ch < 0x80 {
			return i
		}
	}
	return len(b)
}

func isLetter(ch byte) bool { return ch|0x20 >= 'a' && ch|0x20 <= 'z' }

// appendWord appends the pattern of a word.
func appendWord(dst []byte, start int, word []byte) []byte {
	digits, runs, beyond := 0, 0, false
	for i, ch := range word {
		switch {
		case ch >= 0x80:
			beyond = true
		case ch-'0' <= 9:
			digits++
			if i == 0 || word[i-1]-'0' > 9 {
				runs++
			}
		}
	}
	const longWord = 16
	switch {
	case beyond, runs > 1, digits > 0 && len(word) >= longWord,
		isHexAfterStar(dst[start:], word, digits > 0):
		return appendStar(dst, start)
	case digits == 0:
		return append(dst, word...)
	}
	for i, ch := range word {
		if ch-'0' > 9 {
			dst = append(dst, ch)
		} else if i == 0 || word[i-1]-'0' > 9 {
			if i == 0 {
				dst = appendStar(dst, start)
			} else {
				dst = append(dst, '*') // after a letter
			}
		}
	}
	return dst
}

// isHexAfterStar reports whether a word goes on with what a star stands for: it is a part
// of a UUID, or one with a digit of an IPv6 address.
func isHexAfterStar(before, word []byte, digit bool) bool {
	if len(word) < 4 && !digit || starBefore(before) < 0 || !digit && before[len(before)-1] != '-' {
		return false
	}
	for _, ch := range word {
		if ch-'0' > 9 && ch|0x20 > 'f' {
			return false
		}
	}
	return true
}

// appendStar appends *, or nothing if at most two separators are between it and another
// one.
func appendStar(dst []byte, start int) []byte {
	if n := len(dst); n > start && dst[n-1] == '*' {
		return dst
	}
	if at := starBefore(dst[start:]); at >= 0 {
		return dst[:start+at+1]
	}
	return append(dst, '*')
}

// starBefore returns where the star is that is followed by one or two separators and the
// end, or -1.
func starBefore(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-3; i-- {
		switch b[i] {
		case '*':
			if i < len(b)-1 {
				return i
			}
			return -1
		case '.', '-', '_', ':':
		default:
			return -1
		}
	}
	return -1
}

// cut returns the first bytes of a client's name.
func cut(name string) string {
	if len(name) > maxLabel {
		return name[:maxLabel] + "..."
	}
	return name
}
