package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zlimit/zlimit/words"
)

// DefaultName is the name of the user that connections have until they authenticate.
const DefaultName = "default"

// A User has a name, passwords and rules. Its methods may be called concurrently.
type User struct {
	name        string
	rules       atomic.Pointer[Rules]
	restriction atomic.Pointer[Rules] // rules, or nil if they permit everything
	deleted     atomic.Bool
}

// Rules are what a user may do, and the passwords. They do not change.
type Rules struct {
	enabled   bool
	anyone    bool     // nopass: every password is right
	sanitize  sanitize // only shown
	passwords []string // SHA-256 in hexadecimal digits
	selectors []*selector
}

// sanitize says which of the flags about payloads of RESTORE a user shows. They have no
// effect: payloads are always validated whole.
type sanitize uint8

const (
	sanitizeUnset sanitize = iota
	sanitizeSkip
	sanitizePayload
)

// Name returns the user's name.
func (u *User) Name() string { return u.name }

// Rules returns the present rules.
func (u *User) Rules() *Rules { return u.rules.Load() }

// Restriction returns the present rules, or nil if the user may do everything.
func (u *User) Restriction() *Rules { return u.restriction.Load() }

// Deleted reports whether the user does not exist any more.
func (u *User) Deleted() bool { return u.deleted.Load() }

func (u *User) set(r *Rules) {
	u.rules.Store(r)
	if slices.ContainsFunc(r.selectors, (*selector).unlimited) {
		r = nil
	}
	u.restriction.Store(r)
}

// newRules returns the rules of a user who was just created: off, and nothing is
// permitted.
func newRules(cs *Commands, allChannels bool) *Rules {
	return &Rules{selectors: []*selector{newSelector(cs, allChannels)}}
}

// everything returns the rules of a user who may do everything without a password.
func everything(cs *Commands) *Rules {
	root := newSelector(cs, true)
	root.setAll(true)
	root.permitAllKeys()
	return &Rules{enabled: true, anyone: true, selectors: []*selector{root}}
}

func (r *Rules) clone() *Rules {
	c := *r
	c.passwords = slices.Clone(r.passwords)
	c.selectors = make([]*selector, len(r.selectors))
	for i, s := range r.selectors {
		c.selectors[i] = s.clone()
	}
	return &c
}

// userRules are the rules about the user that are a word.
var userRules = map[string]func(r *Rules){
	"on":                    func(r *Rules) { r.enabled = true },
	"off":                   func(r *Rules) { r.enabled = false },
	"nopass":                func(r *Rules) { r.anyone, r.passwords = true, nil },
	"resetpass":             func(r *Rules) { r.anyone, r.passwords = false, nil },
	"sanitize-payload":      func(r *Rules) { r.sanitize = sanitizePayload },
	"skip-sanitize-payload": func(r *Rules) { r.sanitize = sanitizeSkip },
	"clearselectors":        func(r *Rules) { r.selectors = r.selectors[:1] },
}

// apply applies one rule, and is for rules that nobody else has yet. allChannels says
// that new selectors permit all channels.
func (r *Rules) apply(rule string, allChannels bool) error {
	if rule == "" {
		return nil
	}
	word := asciiLower(rule)
	if fn := userRules[word]; fn != nil {
		fn(r)
		return nil
	}
	root := r.selectors[0]
	switch operand := rule[1:]; {
	case word == "reset":
		*r = *newRules(root.commands, allChannels)
		r.sanitize = sanitizePayload
		return nil
	case rule[0] == '>':
		r.addPassword(Hash(operand))
		return nil
	case rule[0] == '#':
		if !isHash(operand) {
			return errBadHash
		}
		r.addPassword(operand)
		return nil
	case rule[0] == '<':
		return r.removePassword(Hash(operand))
	case rule[0] == '!':
		if !isHash(operand) {
			return errBadHash
		}
		return r.removePassword(operand)
	case rule[0] == '(' && strings.HasSuffix(rule, ")"):
		return r.addSelector(strings.TrimSuffix(operand, ")"), allChannels)
	}
	return root.apply(rule)
}

func (r *Rules) addPassword(hash string) {
	if !slices.Contains(r.passwords, hash) {
		r.passwords = append(r.passwords, hash)
	}
	r.anyone = false
}

func (r *Rules) removePassword(hash string) error {
	i := slices.Index(r.passwords, hash)
	if i < 0 {
		return errNoPassword
	}
	r.passwords = slices.Delete(r.passwords, i, i+1)
	return nil
}

func (r *Rules) addSelector(text string, allChannels bool) error {
	s := newSelector(r.selectors[0].commands, allChannels)
	rules, ok := words.Split([]byte(text), nil)
	if !ok {
		rules = nil // as in Redis
	}
	for _, rule := range rules {
		if len(rule) == 0 {
			return errSyntax
		}
		if err := s.apply(string(rule)); err != nil {
			return err
		}
	}
	r.selectors = append(r.selectors, s)
	return nil
}

// Open reports whether the user is enabled and needs no password.
func (r *Rules) Open() bool { return r.enabled && r.anyone }

// On reports whether the user may log in.
func (r *Rules) On() bool { return r.enabled }

// NoPassword reports whether every password is right.
func (r *Rules) NoPassword() bool { return r.anyone }

// accepts reports whether a password, given by its hash, is right and the user enabled.
// It takes the same time whichever password is wrong where.
func (r *Rules) accepts(hash string) bool {
	found := 0
	for _, p := range r.passwords {
		found |= subtle.ConstantTimeCompare([]byte(p), []byte(hash))
	}
	return r.enabled && (r.anyone || found == 1)
}

// Hash returns the SHA-256 of a password in hexadecimal digits.
func Hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func isHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}
