package acl

import (
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// A selector is a set of rules about commands, keys and channels. A call is permitted if
// one of its user's selectors permits all of it.
type selector struct {
	commands    *Commands
	allCommands bool // every command, those of the future too
	allKeys     bool
	allChannels bool
	permitted   bits
	firstArgs   map[int][]string // by command: it is permitted with these first arguments
	keys        []keyPattern
	channels    []string
}

// A keyPattern permits access to the keys that match it.
type keyPattern struct {
	glob   string
	access commands.KeyAccess
}

const readsAndWrites = commands.ReadsKey | commands.WritesKey

func newSelector(cs *Commands, allChannels bool) *selector {
	return &selector{commands: cs, permitted: cs.newBits(), allChannels: allChannels}
}

func (s *selector) clone() *selector {
	c := *s
	c.permitted, c.keys = slices.Clone(s.permitted), slices.Clone(s.keys)
	c.channels = slices.Clone(s.channels)
	c.firstArgs = nil
	for number, args := range s.firstArgs {
		c.setFirstArgs(number, slices.Clone(args))
	}
	return &c
}

// selectorRules are the rules that are a word.
var selectorRules = map[string]func(s *selector){
	"allkeys":       (*selector).permitAllKeys,
	"~*":            (*selector).permitAllKeys,
	"resetkeys":     func(s *selector) { s.allKeys, s.keys = false, nil },
	"allchannels":   (*selector).permitAllChannels,
	"&*":            (*selector).permitAllChannels,
	"resetchannels": func(s *selector) { s.allChannels, s.channels = false, nil },
	"allcommands":   func(s *selector) { s.setAll(true) },
	"+@all":         func(s *selector) { s.setAll(true) },
	"nocommands":    func(s *selector) { s.setAll(false) },
	"-@all":         func(s *selector) { s.setAll(false) },
}

func (s *selector) permitAllKeys()     { s.allKeys, s.keys = true, nil }
func (s *selector) permitAllChannels() { s.allChannels, s.channels = true, nil }

// apply applies one rule, which is not empty. If it returns an error, it has changed
// nothing.
func (s *selector) apply(rule string) error {
	if fn := selectorRules[asciiLower(rule)]; fn != nil {
		fn(s)
		return nil
	}
	switch operand := rule[1:]; rule[0] {
	case '~':
		return s.addKeys(operand, readsAndWrites)
	case '%':
		return s.addKeysWithAccess(operand)
	case '&':
		return s.addChannels(operand)
	case '+', '-':
		if strings.HasPrefix(operand, "@") {
			return s.setCategory(operand[1:], rule[0] == '+')
		}
		if rule[0] == '-' {
			return s.forbid(operand)
		}
		return s.permit(operand)
	}
	return errSyntax
}

// addKeysWithAccess applies %R~pattern and its like; text begins behind the %.
func (s *selector) addKeysWithAccess(text string) error {
	if s.allKeys {
		return errAllKeys
	}
	access := commands.KeyAccess(0)
	for i := 0; i < len(text); i++ {
		switch bit := accessLetters[text[i]]; {
		case bit != 0 && access&bit == 0:
			access |= bit
		case text[i] == '~' && access != 0:
			return s.addKeys(text[i+1:], access)
		default:
			return errSyntax
		}
	}
	if access == 0 {
		return errSyntax
	}
	return s.addKeys("", access)
}

var accessLetters = [256]commands.KeyAccess{
	'R': commands.ReadsKey, 'r': commands.ReadsKey,
	'W': commands.WritesKey, 'w': commands.WritesKey,
}

func (s *selector) addKeys(glob string, access commands.KeyAccess) error {
	if s.allKeys {
		return errAllKeys
	}
	if hasSpace(glob) {
		return errSyntax
	}
	for i := range s.keys {
		if s.keys[i].glob == glob {
			s.keys[i].access |= access
			return nil
		}
	}
	s.keys = append(s.keys, keyPattern{glob, access})
	return nil
}

func (s *selector) addChannels(glob string) error {
	if s.allChannels {
		return errAllChannels
	}
	if hasSpace(glob) {
		return errSyntax
	}
	if !slices.Contains(s.channels, glob) {
		s.channels = append(s.channels, glob)
	}
	return nil
}

// hasSpace reports whether text has a character that C's isspace accepts, or a NUL.
func hasSpace(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r\x00") }

func (s *selector) setAll(on bool) {
	s.permitted.fill(on)
	s.allCommands, s.firstArgs = on, nil
}

// set permits or forbids a command and its subcommands.
func (s *selector) set(c *command, on bool) {
	s.permitted.set(c.number, on)
	for _, sub := range c.subs {
		s.permitted.set(sub.number, on)
	}
	s.allCommands = s.allCommands && on
	delete(s.firstArgs, c.number)
}

func (s *selector) forbid(name string) error {
	c := s.commands.lookup(name)
	if c == nil {
		return errUnknownName
	}
	s.set(c, false)
	return nil
}

// permit applies a rule with a command, a subcommand, or a command and its first
// argument.
func (s *selector) permit(name string) error {
	at := strings.LastIndexByte(name, '|')
	if at < 0 {
		c := s.commands.lookup(name)
		if c == nil {
			return errUnknownName
		}
		s.set(c, true)
		return nil
	}
	c, arg := s.commands.lookup(name[:at]), name[at+1:]
	switch {
	case c == nil:
		return errUnknownName
	case c.container != nil:
		return errSubArgument
	case arg == "" || hasSpace(arg): // Redis accepts white space and cannot read it again
		return errSyntax
	case len(c.subs) == 0:
		s.permitWith(c, arg)
		return nil
	}
	sub := s.commands.lookup(name)
	if sub == nil {
		return errUnknownName
	}
	s.set(sub, true)
	return nil
}

// permitWith permits a command with a first argument.
func (s *selector) permitWith(c *command, arg string) {
	have := s.firstArgs[c.number]
	for _, a := range have {
		if asciiLower(a) == asciiLower(arg) {
			return
		}
	}
	s.setFirstArgs(c.number, append(have, arg))
}

func (s *selector) setFirstArgs(number int, args []string) {
	if s.firstArgs == nil {
		s.firstArgs = make(map[int][]string)
	}
	s.firstArgs[number] = args
}

func (s *selector) setCategory(name string, on bool) error {
	category := commands.CategorySetOf(asciiLower(name))
	if category == 0 {
		return errUnknownName
	}
	for _, c := range s.commands.all {
		if c.categories.Has(category) {
			s.set(c, on)
		}
	}
	return nil
}

// unlimited reports whether the selector permits every call.
func (s *selector) unlimited() bool { return s.allCommands && s.allKeys && s.allChannels }
