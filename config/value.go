package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// value is the value of one directive. Values are never changed in place.
type value struct {
	text   string   // as CONFIG GET shows it
	num    int64    // KindBool (0 or 1), KindInt, KindMemory, KindOctal
	words  []string // KindEvents: one word of all letters
	limits [outputBufferClasses]OutputBufferLimit
	keys   []KeyLimit // KindKeyLimits
}

// Redis' texts for invalid values.
//
//nolint:revive,staticcheck // Redis' texts
var (
	errNotBool          = errors.New("argument must be 'yes' or 'no'")
	errNotInt           = errors.New("argument couldn't be parsed into an integer")
	errNotMemory        = errors.New("argument must be a memory value")
	errOverPercent      = errors.New("percentage argument must be less or equal to 100")
	errNotPercent       = errors.New("argument must be a memory or percent value")
	errNotOctal         = errors.New("argument couldn't be parsed as an octal number")
	errNotEvents        = errors.New("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
	errNotSave          = errors.New("Invalid save parameters")
	errTooManyAddresses = errors.New("Too many bind addresses specified.")
	errHasNUL           = errors.New("argument must not contain a NUL byte")
	errMasterPort       = errors.New("Invalid master port")
	errHostname         = errors.New("Hostnames may only contain alphanumeric characters, hyphens or dots")
	errLongHostname     = errors.New("Hostnames must be less than 256 characters")
	errTitle            = errors.New("template format is invalid or contains unknown variables")
	errSaveNoSave       = errors.New("shutdown options SAVE and NOSAVE can't be used simultaneously")
	errWordsNumber      = errors.New("wrong number of arguments")
)

// takesWords reports whether a value of the kind consists of any number of words
// rather than exactly one.
func (k Kind) takesWords() bool {
	switch k {
	case KindList, KindSave, KindOutputBuffer, KindPercentiles, KindKeyLimits, KindPrefixes, KindMaster,
		KindShutdown:
		return true
	}
	return false
}

// parse parses a value. old is the directive's current value: if a file may have
// several lines of the directive, they accumulate.
func (d *Directive) parse(args []string, old value) (value, error) {
	switch d.Kind {
	case KindList:
		if d.Max > 0 && int64(len(args)) > d.Max {
			return value{}, errTooManyAddresses
		}
		if len(args) == 1 && args[0] == "" {
			args = nil
		}
		return value{text: strings.Join(args, " "), words: slices.Clone(args)}, nil
	case KindSave:
		return parseSave(args, old)
	case KindOutputBuffer:
		return parseOutputBuffer(args, old)
	case KindKeyLimits:
		return parseKeyLimits(args, old)
	case KindPrefixes:
		return parsePrefixes(args, old)
	case KindPercentiles:
		return parsePercentiles(d.Name, args)
	case KindMaster:
		return parseMaster(args)
	case KindShutdown:
		return d.parseShutdown(args)
	}
	if len(args) != 1 {
		return value{}, errWordsNumber
	}
	arg := args[0]
	switch d.Kind {
	case KindBool:
		return parseBool(arg)
	case KindInt, KindMemory, KindOctal:
		return d.parseNumber(arg)
	case KindEnum:
		return d.parseEnum(arg)
	case KindEvents:
		return parseEvents(arg)
	case KindFileName:
		if strings.ContainsAny(arg, `/\`) {
			return value{}, errors.New(d.Name + " can't be a path, just a filename")
		}
	case KindPath:
		if strings.Contains(arg, "\x00") {
			return value{}, errHasNUL
		}
	case KindDir:
		return parseDir(arg, old)
	}
	if d.Valid != nil {
		if err := d.Valid(arg); err != nil {
			return value{}, err
		}
	}
	return value{text: arg}, nil
}

func parseBool(arg string) (value, error) {
	switch {
	case asciiEqual(arg, "yes"):
		return value{text: "yes", num: 1}, nil
	case asciiEqual(arg, "no"):
		return value{text: "no"}, nil
	}
	return value{}, errNotBool
}

func (d *Directive) parseEnum(arg string) (value, error) {
	for _, v := range slices.Concat(d.Values, d.Later) {
		if asciiEqual(arg, v) {
			return value{text: v}, nil
		}
	}
	return value{}, errors.New("argument(s) must be one of the following: " + strings.Join(d.Values, ", "))
}

// parseShutdown parses one or more options of SHUTDOWN.
func (d *Directive) parseShutdown(args []string) (value, error) {
	has := make(map[string]bool)
	for _, arg := range args {
		v, err := d.parseEnum(arg)
		if err != nil {
			return value{}, err
		}
		has[v.text] = true
	}
	if has["save"] && has["nosave"] {
		return value{}, errSaveNoSave
	}
	words := slices.DeleteFunc(slices.Clone(d.Values), func(v string) bool { return !has[v] })
	if len(words) == 0 {
		return d.parseEnum("")
	}
	return value{text: strings.Join(words, " ")}, nil
}

// titleVariables are the variables of a title. Those that are false are empty where Redis checks a title.
var titleVariables = map[string]bool{
	"title": false, "listen-addr": true, "server-mode": false, "port": true, "tls-port": true,
	"unixsocket": true, "config-file": true,
}

// validTitle returns an error unless Redis accepts a template of a title, which must not make an empty one.
func validTitle(template string) error {
	if !showsTitle(template) {
		return errTitle
	}
	return nil
}

func showsTitle(template string) bool {
	shown := false
	for template != "" {
		text, rest, braced := strings.Cut(template, "{")
		shown = shown || strings.Trim(text, " ") != ""
		if !braced {
			return shown
		}
		if strings.HasPrefix(rest, "{") { // an escaped one
			shown, template = true, rest[1:]
			continue
		}
		name, rest, closed := strings.Cut(rest, "}")
		value, known := titleVariables[name]
		if !closed || !known {
			return false
		}
		shown, template = shown || value, rest
	}
	return shown
}

func (d *Directive) parseNumber(arg string) (value, error) {
	if d.Percent {
		if v, ok, err := parsePercent(arg); ok {
			return v, err
		}
	}
	n, inRange, err := d.Kind.number(arg)
	if err != nil && d.Percent {
		return value{}, errNotPercent
	}
	if err != nil {
		return value{}, err
	}
	base := 10
	if d.Kind == KindOctal {
		base = 8
	}
	if !inRange || n < d.Min || n > d.Max {
		return value{}, fmt.Errorf("argument must be between %s and %s inclusive",
			strconv.FormatInt(d.Min, base), strconv.FormatInt(d.Max, base))
	}
	if d.Clamp[1] != 0 {
		n = min(max(n, d.Clamp[0]), d.Clamp[1])
	}
	return value{text: strconv.FormatInt(n, base), num: n}, nil
}

// number parses arg as the kind requires. inRange is false if it is a number beyond
// the range of every directive.
func (k Kind) number(arg string) (n int64, inRange bool, err error) {
	switch k {
	case KindMemory:
		n, inRange, ok := parseMemory(arg)
		if !ok {
			return 0, false, errNotMemory
		}
		return n, inRange, nil
	case KindOctal:
		if arg == "" {
			return 0, true, nil // accepted by Redis
		}
		n, err := strconv.ParseInt(arg, 8, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, false, errNotOctal
		}
		return n, err == nil, nil
	}
	// Integers have one spelling: no plus sign, no leading zero.
	n, err = strconv.ParseInt(arg, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != arg {
		return 0, false, errNotInt
	}
	return n, true, nil
}

// memoryUnits are those of Redis: without a b they are decimal.
var memoryUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1000, "kb": 1 << 10,
	"m": 1000 * 1000, "mb": 1 << 20,
	"g": 1000 * 1000 * 1000, "gb": 1 << 30,
}

// parseMemory parses a number of bytes. A unit alone is 0, as in Redis. If the
// number overflows an int64, inRange is false and n is math.MaxInt64.
func parseMemory(arg string) (n int64, inRange, ok bool) {
	digits := len(arg) - len(strings.TrimLeft(arg, "0123456789"))
	unit, known := memoryUnits[asciiLower(arg[digits:])]
	if !known || digits >= 128 {
		return 0, false, false
	}
	if digits > 0 {
		var err error
		if n, err = strconv.ParseInt(arg[:digits], 10, 64); err != nil {
			return math.MaxInt64, false, true // only digits: out of range
		}
	}
	if n > math.MaxInt64/unit {
		return math.MaxInt64, false, true
	}
	return n * unit, true, true
}

// parseSave parses save points and appends them to those of earlier lines. An empty
// word clears them.
func parseSave(args []string, old value) (value, error) {
	if len(args) == 0 || len(args) == 1 && args[0] == "" {
		return value{}, nil
	}
	if len(args)%2 != 0 {
		return value{}, errNotSave
	}
	words := slices.Clone(old.words)
	for i := 0; i < len(args); i += 2 {
		seconds, err1 := strconv.ParseInt(args[i], 10, 64)
		changes, err2 := strconv.ParseInt(args[i+1], 10, 64)
		if err1 != nil || err2 != nil || seconds < 1 || changes < 0 {
			return value{}, errNotSave
		}
		words = append(words, strconv.FormatInt(seconds, 10), strconv.FormatInt(changes, 10))
	}
	return value{text: strings.Join(words, " "), words: words}, nil
}

// parseMaster parses a host and a port, or NO ONE.
func parseMaster(args []string) (value, error) {
	switch {
	case len(args) == 0, len(args) == 1 && args[0] == "":
		return value{}, nil
	case len(args) != 2:
		return value{}, errWordsNumber
	case strings.EqualFold(args[0], "no") && strings.EqualFold(args[1], "one"):
		return value{}, nil
	}
	if port, err := strconv.Atoi(args[1]); err != nil || port < 0 || port > 65535 {
		return value{}, errMasterPort
	}
	return value{text: strings.Join(args, " "), words: slices.Clone(args)}, nil
}
