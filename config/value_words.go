package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// parseDir parses the name of a directory, which must exist. A relative one is
// joined to old, as if redis-server changed into one directory after the other.
func parseDir(arg string, old value) (value, error) {
	if strings.Contains(arg, "\x00") {
		return value{}, errHasNUL
	}
	dir := arg
	if !filepath.IsAbs(dir) && old.text != "" {
		dir = filepath.Join(old.text, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		var cause *os.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return value{}, errors.New(capitalize(err.Error()))
	case !info.IsDir():
		return value{}, errors.New("Not a directory") //nolint:staticcheck // the C library's text
	}
	return value{text: dir}, nil
}

// capitalize converts Go's text of a system error to the C library's, which begins
// with a capital letter.
func capitalize(text string) string {
	if text == "" || text[0] < 'a' || 'z' < text[0] {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// parsePercent parses a percentage of maxmemory. ok is false if arg is not one.
func parsePercent(arg string) (v value, ok bool, err error) {
	digits, ok := strings.CutSuffix(arg, "%")
	if !ok {
		return value{}, false, nil
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || n < 0:
		return value{}, true, errNotPercent
	case n > 100:
		return value{}, true, errOverPercent
	}
	if n == 0 {
		return value{text: "0"}, true, nil
	}
	return value{text: strconv.FormatInt(n, 10) + "%", num: -n}, true, nil
}

// parsePercentiles parses numbers from 0 to 100, possibly none.
func parsePercentiles(name string, args []string) (value, error) {
	var words []string
	for _, arg := range args {
		if arg == "" && len(args) == 1 {
			break
		}
		f, err := strconv.ParseFloat(arg, 64)
		switch {
		case err != nil:
			return value{}, errors.New("Invalid " + name + " parameters") // Redis' text
		case !(0 <= f && f <= 100):
			return value{}, fmt.Errorf("%s parameters should sit between [0.0,100.0]", name)
		}
		words = append(words, strconv.FormatFloat(f, 'f', -1, 64))
	}
	return value{text: strings.Join(words, " "), words: words}, nil
}
