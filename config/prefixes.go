package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// maxPrefixes is the most words of a KindPrefixes directive.
const maxPrefixes = 64

var errPrefixEmpty = errors.New("prefix must not be empty")

// parsePrefixes parses the beginnings of names, and appends them to those of earlier lines. An empty word
// clears them.
func parsePrefixes(args []string, old value) (value, error) {
	if len(args) == 0 || len(args) == 1 && args[0] == "" {
		return value{}, nil
	}
	all := slices.Clone(old.words)
	for _, prefix := range args {
		switch {
		case prefix == "":
			return value{}, errPrefixEmpty
		case slices.Contains(all, prefix):
			return value{}, fmt.Errorf("prefix %s is given twice", words.Quote(prefix))
		case len(all) == maxPrefixes:
			return value{}, fmt.Errorf("there must be at most %d prefixes", maxPrefixes)
		}
		all = append(all, prefix)
	}
	spelled := make([]string, len(all))
	for i := range all {
		spelled[i] = words.Spell(all[i])
	}
	return value{text: strings.Join(spelled, " "), words: all}, nil
}
