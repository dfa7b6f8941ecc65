package miniredis

import "strconv"

// The functions below convert replies and pass errors through.

func text(reply any, err error) (string, error) {
	s, _ := reply.(string)
	return s, err
}

func number(reply any, err error) (int, error) {
	n, _ := reply.(int64)
	return int(n), err
}

func yes(reply any, err error) (bool, error) { return reply == int64(1), err }

func float(reply any, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	s, _ := reply.(string)
	f, _ := strconv.ParseFloat(s, 64) // nil, for a missing member, is 0
	return f, nil
}

func words(reply any) []string {
	elems, _ := reply.([]any)
	list := make([]string, len(elems))
	for i, e := range elems {
		list[i], _ = e.(string)
	}
	return list
}

// anys converts arguments of a command.
func anys(first ...any) func(rest []string) []any {
	return func(rest []string) []any {
		for _, r := range rest {
			first = append(first, r)
		}
		return first
	}
}
