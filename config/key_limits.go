package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// KeyLimit is how many keys may be created whose names begin with a prefix.
type KeyLimit struct {
	Prefix string // not empty; any bytes
	Keys   int64  // at least 0
}

var (
	errKeyLimitWords  = errors.New("argument must be pairs of a prefix and a number of keys")
	errKeyLimitPrefix = errors.New("prefix must not be empty")
	errKeyLimitNumber = errors.New("number of keys must be an integer from 0 to 9223372036854775807")
)

// parseKeyLimits parses pairs of a prefix and a number, and appends them to those of earlier lines. An empty
// word clears them.
func parseKeyLimits(args []string, old value) (value, error) {
	if len(args) == 0 || len(args) == 1 && args[0] == "" {
		return value{}, nil
	}
	if len(args)%2 != 0 {
		return value{}, errKeyLimitWords
	}
	limits := append([]KeyLimit(nil), old.keys...)
	seen := make(map[string]bool)
	for _, l := range limits {
		seen[l.Prefix] = true
	}
	for i := 0; i < len(args); i += 2 {
		prefix := args[i]
		keys, inRange, err := KindInt.number(args[i+1])
		switch {
		case prefix == "":
			return value{}, errKeyLimitPrefix
		case err != nil || !inRange || keys < 0:
			return value{}, errKeyLimitNumber
		case seen[prefix]:
			return value{}, fmt.Errorf("prefix %s is given twice", words.Quote(prefix))
		}
		seen[prefix] = true
		limits = append(limits, KeyLimit{prefix, keys})
	}
	spelled := keyLimitWords(limits)
	for i := range spelled {
		spelled[i] = words.Spell(spelled[i])
	}
	return value{text: strings.Join(spelled, " "), keys: limits}, nil
}

// keyLimitWords returns the words that parseKeyLimits parses.
func keyLimitWords(limits []KeyLimit) (all []string) {
	for _, l := range limits {
		all = append(all, l.Prefix, strconv.FormatInt(l.Keys, 10))
	}
	return all
}

// splitQuoted splits a value of CONFIG SET as a line of a file, so that a word in quotes may contain any
// byte.
func splitQuoted(text string) ([]string, error) {
	if strings.Contains(text, "\x00") {
		return nil, errHasNUL
	}
	args, err := splitLine(text)
	if err != nil {
		return nil, errKeyLimitQuotes
	}
	return args, nil
}

var errKeyLimitQuotes = errors.New("unbalanced quotes")

// KeyLimits returns a KindKeyLimits directive, or nil if it is empty. The caller must not change it.
func (c *Config) KeyLimits(name string) []KeyLimit { return c.get(name, KindKeyLimits).keys }
