package words

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slowWords is sdssplitargs as a state table.
func slowWords(s string) (words []string, ok bool) {
	const between, plain, double, single, closed = 0, 1, 2, 3, 4
	state, word := between, ""
	for i := 0; i < len(s); i++ {
		rest := s[i:]
		space := strings.ContainsRune(" \t\n\v\f\r", rune(s[i]))
		switch state {
		case closed:
			if !space {
				return nil, false
			}
			state = between
		case between:
			if !space {
				state, word = plain, ""
				i--
			}
		case plain:
			switch {
			case s[i] == '"':
				state = double
			case s[i] == '\'':
				state = single
			case space && s[i] != '\v' && s[i] != '\f':
				words, state = append(words, word), between
			default:
				word += rest[:1]
			}
		case double:
			switch {
			case s[i] == '"':
				words, state = append(words, word), closed
			case s[i] == '\\' && len(rest) > 1:
				i++
				if len(rest) > 3 && rest[1] == 'x' {
					if v, err := strconv.ParseUint(rest[2:4], 16, 8); err == nil {
						word += string([]byte{byte(v)})
						i += 2
						continue
					}
				}
				unescape := strings.NewReplacer("n", "\n", "r", "\r", "t", "\t", "b", "\b", "a", "\a")
				word += unescape.Replace(rest[1:2])
			default:
				word += rest[:1]
			}
		case single:
			switch {
			case s[i] == '\'':
				words, state = append(words, word), closed
			case strings.HasPrefix(rest, `\'`):
				word += "'"
				i++
			default:
				word += rest[:1]
			}
		}
	}
	if state == plain {
		words = append(words, word)
	}
	return words, state != double && state != single
}

func texts(words [][]byte) []string {
	s := make([]string, len(words))
	for i, w := range words {
		s[i] = string(w)
	}
	return s
}

// TestSplitStaysInPlace checks that no word reaches past itself in place, and that an
// append to one does not reach the next.
func TestSplitStaysInPlace(t *testing.T) {
	line := []byte(`"\x61\x62" 'c\'' d""`)
	words, ok := Split(line, nil)
	require.True(t, ok)
	require.Equal(t, []string{"ab", "c'", "d"}, texts(words))
	for _, w := range words {
		_ = append(w, "overwritten"...)
	}
	require.Equal(t, []string{"ab", "c'", "d"}, texts(words))
}

// FuzzSplit compares the words of a line with the reference and checks that decoding stays inside the line.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`a "b\x41\n" 'c\''`, `"`, `a"b`, "a\vb \fc", `""''`, `"\x4`, `"\x4"`, `"\xG1\xaF"`, `"\q\"\\"`, `"a\`,
		`'a\\'b'`, `a"b c" d`, "'a'\vb", "a\x00\"\\\x00\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		want, ok := slowWords(string(line))
		guarded := append(bytes.Clone(line), "guard"...)
		got, gotOK := Split(guarded[:len(line)], nil)
		require.Equal(t, ok, gotOK)
		require.True(t, bytes.HasSuffix(guarded, []byte("guard")))
		if ok {
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, want[i], string(got[i]))
			}
		}
	})
}

// FuzzQuote checks that Split reads what Quote and Spell wrote.
func FuzzQuote(f *testing.F) {
	f.Add("a \"b\\ \x00\xff", "'")
	f.Add("", "plain")
	f.Fuzz(func(t *testing.T, a, b string) {
		words, ok := Split([]byte(Quote(a)+" "+Quote(b)), nil)
		require.True(t, ok)
		require.Equal(t, []string{a, b}, texts(words))

		words, ok = Split([]byte(Spell(a)+" "+Spell(b)), nil)
		require.True(t, ok)
		require.Equal(t, []string{a, b}, texts(words))
	})
}
