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
func Quote(word string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		switch ch := word[i]; ch {
		case '\\', '"':
			b.WriteByte('\\')
			b.WriteByte(ch)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\a':
			b.WriteString(`\a`)
		case '\b':
			b.WriteString(`\b`)
		default:
			if ch < ' ' || ch > '~' {
				fmt.Fprintf(&b, `\x%02x`, ch)
			} else {
				b.WriteByte(ch)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
