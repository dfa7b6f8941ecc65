package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// parseDir reads the name of a directory, which must exist: files are going to
// be kept there. A relative one starts at old, as where redis-server changes
// into one directory after the other.
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
		return value{}, errors.New(capital(err.Error()))
	case !info.IsDir():
		return value{}, errors.New("Not a directory") //nolint:staticcheck // the C library's text
	}
	return value{text: dir}, nil
}

// capital turns one of Go's texts for a system's error into that of the C
// library, which begins with a capital.
func capital(text string) string {
	if text == "" || text[0] < 'a' || 'z' < text[0] {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// parsePercent reads a share of maxmemory. ok is false where arg is none.
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

// parsePercentiles reads numbers from 0 to 100; none at all is fine.
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
