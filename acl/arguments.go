package acl

import "strings"

// mergeSelectors joins the words of each selector that is spread over several: "(+get"
// and "~a)" become "(+get ~a)".
func mergeSelectors(words []string) ([]string, error) {
	var merged []string
	start := -1
	for i, word := range words {
		switch {
		case start < 0 && strings.HasPrefix(word, "(") && !strings.HasSuffix(word, ")"):
			start = i
		case start < 0:
			merged = append(merged, word)
		case strings.HasSuffix(word, ")"):
			merged = append(merged, strings.Join(words[start:i+1], " "))
			start = -1
		}
	}
	if start >= 0 {
		return nil, &UnmatchedError{words[start]}
	}
	return merged, nil
}
