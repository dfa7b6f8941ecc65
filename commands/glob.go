package commands

// GlobMatch reports whether text matches a pattern of Redis' glob style: * any
// run, ? any byte, [a-z] and [^a-z] classes, \ takes the next byte literally. A
// class that is not closed ends with the pattern. As in Redis, only the empty pattern
// matches the empty text: see NameMatch.
//
// Only the last * is ever tried again, so the work is bounded by the product
// of the two lengths: a pattern of many stars cannot stall the server.
func GlobMatch(pattern []byte, text string) bool {
	if text == "" {
		return len(pattern) == 0
	}
	p, t := 0, 0
	starP, starT := -1, 0 // where to continue after the last *, if a match fails
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			starP, starT = p+1, t
			p++
			continue
		}
		if p < len(pattern) {
			if next, ok := globOne(pattern, p, text[t]); ok {
				p = next
				t++
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starT++
		p, t = starP, starT
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// NameMatch is GlobMatch for commands that list keys or elements: the pattern * matches
// everything, also an empty name.
func NameMatch(pattern []byte, name string) bool {
	return len(pattern) == 1 && pattern[0] == '*' || GlobMatch(pattern, name)
}

// globOne matches one byte against the element of the pattern at p and returns the
// start of the next element.
func globOne(pattern []byte, p int, ch byte) (next int, ok bool) {
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return globClass(pattern, p+1, ch)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, pattern[p] == ch
}

// globClass matches ch against the class whose first byte after [ is at p. Bytes of
// ranges are signed, as C's char is on amd64.
func globClass(pattern []byte, p int, ch byte) (next int, ok bool) {
	not := p < len(pattern) && pattern[p] == '^'
	if not {
		p++
	}
	found := false
	for {
		switch {
		case p >= len(pattern):
			return p, found != not
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			found = found || pattern[p] == ch
		case pattern[p] == ']':
			return p + 1, found != not
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := int8(pattern[p]), int8(pattern[p+2])
			if low > high {
				low, high = high, low
			}
			found = found || low <= int8(ch) && int8(ch) <= high
			p += 2
		default:
			found = found || pattern[p] == ch
		}
		p++
	}
}
