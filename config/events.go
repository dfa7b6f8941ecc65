package config

import "strings"

// The letters of notify-keyspace-events, in the order of CONFIG GET. There are no
// events of Redis' classes streams (t) and modules (d).
const (
	eventsOfA     = "g$lshzxetd" // the meaning of A
	eventsBesideA = "n"          // shown only without A, as in Redis 7.0
	eventsBehindA = "KEm"
)

// parseEvents parses classes of keyspace events: letters in any order, repeated or
// not, up to the end or a NUL byte.
func parseEvents(arg string) (value, error) {
	arg, _, _ = strings.Cut(arg, "\x00")
	if strings.Trim(arg, "A"+eventsOfA+eventsBesideA+eventsBehindA) != "" {
		return value{}, errNotEvents
	}
	given := strings.ReplaceAll(arg, "A", eventsOfA)
	all := filterLetters(given, eventsOfA)
	text, beside := all, filterLetters(given, eventsBesideA)
	if all == eventsOfA {
		text = "A"
	} else {
		text += beside
	}
	behind := filterLetters(given, eventsBehindA)
	return value{text: text + behind, words: []string{all + beside + behind}}, nil
}

// filterLetters returns the letters that text contains.
func filterLetters(text, letters string) string {
	var out strings.Builder
	for _, letter := range letters {
		if strings.ContainsRune(text, letter) {
			out.WriteRune(letter)
		}
	}
	return out.String()
}

// Events returns the letters of a KindEvents directive, each once, with A expanded.
func (c *Config) Events(name string) string {
	return strings.Join(c.get(name, KindEvents).words, "")
}
