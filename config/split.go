package config

import (
	"errors"
	"fmt"
	"strings"
)

var errUnbalanced = errors.New("Unbalanced quotes in configuration line") //nolint:staticcheck // Redis' text

// splitLine cuts a line of a configuration file into its words. A word that
// begins with " ends at the next one and knows \n \r \t \b \a \xHH and, for
// any other byte, that byte; one that begins with ' knows only \'. After the
// closing quote comes a space or the end. Quotes elsewhere in a word open a
// quoted part in the same way.
func splitLine(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, spaces)
		if line == "" || line[0] == 0 {
			return words, nil
		}
		word, rest, ok := firstWord(line)
		if !ok {
			return nil, errUnbalanced
		}
		words, line = append(words, word), rest
	}
}

// spaces are what isspace says yes to.
const spaces = " \t\n\v\f\r"

// firstWord takes the word at the start of line; ok is false where a quote is
// not closed, or something follows it.
func firstWord(line string) (word, rest string, ok bool) {
	var b []byte
	for i := 0; i < len(line); i++ {
		switch ch := line[i]; {
		case ch == 0 || strings.IndexByte(" \t\n\r", ch) >= 0:
			return string(b), line[i:], true
		case ch == '"' || ch == '\'':
			part, after, closed := quoted(line[i+1:], ch)
			if !closed || after != "" && after[0] != 0 && strings.IndexByte(spaces, after[0]) < 0 {
				return "", "", false
			}
			return string(append(b, part...)), after, true
		default:
			b = append(b, ch)
		}
	}
	return string(b), "", true
}

// quoted reads up to the closing quote. after is what follows it.
func quoted(s string, quote byte) (part []byte, after string, closed bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return part, s[i+1:], true
		case s[i] == 0:
			return nil, "", false
		case s[i] == '\\' && quote == '"' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2]) && isHex(s[i+3]):
			part = append(part, unhex(s[i+2])<<4|unhex(s[i+3]))
			i += 3
		case s[i] == '\\' && quote == '"' && i+1 < len(s):
			i++
			part = append(part, unescape(s[i]))
		case s[i] == '\\' && quote == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
			part = append(part, '\'')
		default:
			part = append(part, s[i])
		}
	}
	return nil, "", false
}

func unescape(ch byte) byte {
	switch ch {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return ch
}

func isHex(ch byte) bool {
	return '0' <= ch && ch <= '9' || 'a' <= ch && ch <= 'f' || 'A' <= ch && ch <= 'F'
}

func unhex(ch byte) byte {
	switch {
	case ch <= '9':
		return ch - '0'
	case ch <= 'F':
		return ch - 'A' + 10
	}
	return ch - 'a' + 10
}

// quote writes a word so that splitLine reads it back.
func quote(word string) string {
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
