package words

import (
	"fmt"
	"strings"
)

// Spell returns word unchanged if Split reads it back so, and quoted otherwise.
func Spell(word string) string {
	if plain(word) {
		return word
	}
	return Quote(word)
}

// plain reports whether a word needs no quotes.
func plain(word string) bool {
	for i := range len(word) {
		ch := word[i]
		if ch <= ' ' || ch > '~' || strings.IndexByte(`"'\`, ch) >= 0 {
			return false
		}
	}
	return word != ""
}

// Quote returns word in double quotes, so that Split reads it back. It follows Redis'
// sdscatrepr.
func Quote(word string) string { return string(AppendQuoted(nil, []byte(word))) }

// AppendQuoted appends what Quote returns.
func AppendQuoted(b, word []byte) []byte {
	b = append(b, '"')
	for _, ch := range word {
		switch at := strings.IndexByte("\\\"\n\r\t\a\b", ch); {
		case at >= 0:
			b = append(b, '\\', `\"nrtab`[at])
		case ch < ' ' || ch > '~':
			b = fmt.Appendf(b, `\x%02x`, ch)
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
