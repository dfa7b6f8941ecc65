package main

import "strings"

// sortOrder accepts another order if Redis walks a hash table (OBJECT ENCODING, right before, returned it):
// of a set that is not sorted, and of elements of a set or sorted set that are equal by a pattern, or up to a
// NUL byte. With LIMIT the elements may differ as well.
func sortOrder(s comparison) string {
	encoding := "hashtable" // without it the generator sends nothing that depends on the order
	if s.before != nil {
		encoding = s.before.text
	}
	unsorted, alpha, by, limit, get := false, false, false, false, false
	for i := 2; i < len(s.args); i++ {
		switch strings.ToUpper(s.args[i]) {
		case "BY":
			if i++; i < len(s.args) {
				by = true
				unsorted = unsorted || !strings.Contains(s.args[i], "*")
			}
		case "GET":
			i, get = i+1, true
		case "STORE":
			i++
		case "ALPHA":
			alpha = true
		case "LIMIT":
			i, limit = i+2, true
		}
	}
	switch {
	case unsorted && encoding != "hashtable":
		return "different order"
	case !unsorted && (!alpha || encoding != "hashtable" && encoding != "skiplist" && encoding != "listpack"):
		return "different order"
	case limit && (by || get):
		return sameOuterShape(s)
	case !by && !get:
		return sameUpToNUL(s)
	}
	return sameElements(s)
}

// sameUpToNUL requires the same elements as far as C's strcoll compares them.
func sameUpToNUL(s comparison) string {
	if d := sameOuterShape(s); d != "" {
		return d
	}
	for i := range s.ref.elems {
		a, _, _ := strings.Cut(s.ref.elems[i].text, "\x00")
		b, _, _ := strings.Cut(s.ours.elems[i].text, "\x00")
		if a != b {
			return "different order"
		}
	}
	return ""
}

// sameOuterShape requires the same kind of reply and number of elements.
func sameOuterShape(s comparison) string {
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of elements"
	}
	return sameKind(s)
}
