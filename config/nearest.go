package config

// Nearest returns the name of a directive or of an option of zlimit-server that Unknown may be a misspelling
// of, or "" if none is close.
func (e *FileError) Nearest() string {
	unknown := asciiLower(e.Unknown)
	best, fewest := "", len(unknown)/3+1 // a third of the letters may be wrong
	consider := func(name string) {
		if n := edits(unknown, name); n < fewest {
			best, fewest = name, n
		}
	}
	for i := range table {
		if table[i].effective() {
			consider(table[i].Name)
		}
	}
	for _, option := range programOptions {
		consider(option[0])
	}
	return best
}

// maxEdits bounds the length of the names that edits compares.
const maxEdits = 64

// edits returns how many letters must be inserted, removed or replaced, or neighbors swapped, to turn a into
// b. It is the optimal string alignment distance, by a table of len(a) rows.
func edits(a, b string) int {
	if len(a) > maxEdits || len(b) > maxEdits {
		return maxEdits
	}
	var d [maxEdits + 1][maxEdits + 1]int // d[i][j] is the distance of a[:i] and b[:j]
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
