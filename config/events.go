package config

import "strings"

// The letters of notify-keyspace-events, in the order in which CONFIG GET shows
// them. Streams (t) and modules (d) are classes of Redis that nothing here belongs
// to.
const (
	eventsOfA     = "g$lshzxetd" // what A stands for
	eventsBesideA = "n"          // shown only where A is not, as in Redis 7.0
	eventsBehindA = "KEm"
)

// parseEvents reads classes of keyspace events: letters in any order, once or more,
// to the end or to a NUL byte.
func parseEvents(arg string) (value, error) {
	arg, _, _ = strings.Cut(arg, "\x00")
	if strings.Trim(arg, "A"+eventsOfA+eventsBesideA+eventsBehindA) != "" {
		return value{}, errNotEvents
	}
	given := strings.ReplaceAll(arg, "A", eventsOfA)
	all := lettersIn(given, eventsOfA)
	text, beside := all, lettersIn(given, eventsBesideA)
	if all == eventsOfA {
		text = "A"
	} else {
		text += beside
	}
	behind := lettersIn(given, eventsBehindA)
	return value{text: text + behind, words: []string{all + beside + behind}}, nil
}

// lettersIn returns the letters of order that text has.
func lettersIn(text, order string) string {
	var out strings.Builder
	for _, letter := range order {
		if strings.ContainsRune(text, letter) {
			out.WriteRune(letter)
		}
	}
	return out.String()
}

// Events returns the letters of a KindEvents directive, each once; A is spelled
// out.
func (c *Config) Events(name string) string {
	return strings.Join(c.get(name, KindEvents).words, "")
}
