package acl

import (
	"math"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/words"
)

// Flags returns the user's flags, as ACL GETUSER shows them.
func (r *Rules) Flags() []string {
	flags := []string{"off"}
	if r.enabled {
		flags[0] = "on"
	}
	if r.anyone {
		flags = append(flags, "nopass")
	}
	switch r.sanitize {
	case sanitizeSkip:
		flags = append(flags, "skip-sanitize-payload")
	case sanitizePayload:
		flags = append(flags, "sanitize-payload")
	}
	return flags
}

// Passwords returns the hashes of the passwords.
func (r *Rules) Passwords() []string { return slices.Clone(r.passwords) }

// A Selector is the description of a selector as ACL GETUSER shows it.
type Selector struct{ Commands, Keys, Channels string }

// Selectors returns the descriptions of the selectors. The first is the user's own.
func (r *Rules) Selectors() []Selector {
	out := make([]Selector, len(r.selectors))
	for i, s := range r.selectors {
		out[i] = Selector{s.describeCommands(), s.describeKeys(), s.describeChannels()}
	}
	return out
}

// String returns the rules that make a new user equal to this one, as ACL LIST shows
// them.
func (r *Rules) String() string {
	parts := r.Flags()
	for _, hash := range r.passwords {
		parts = append(parts, "#"+hash)
	}
	parts = append(parts, r.selectors[0].String())
	for _, s := range r.selectors[1:] {
		parts = append(parts, s.inParentheses())
	}
	return strings.Join(parts, " ")
}

// ConfigLine returns the user as a line of a configuration file.
func (u *User) ConfigLine() string {
	parts := strings.Split(u.Line(), " ")
	for i := range parts {
		parts[i] = words.Spell(parts[i])
	}
	return strings.Join(parts, " ")
}

// inParentheses returns the rule that adds the selector. A word with a quote is quoted, which Redis reads but
// does not write, and so is one that ends in a parenthesis, which would end the selector.
func (s *selector) inParentheses() string {
	parts := strings.Split(s.String(), " ")
	for i, part := range parts {
		if strings.ContainsAny(part, `"'`) || strings.HasSuffix(part, ")") {
			parts[i] = words.Quote(part)
		}
	}
	return "(" + strings.Join(parts, " ") + ")"
}

func (s *selector) String() string {
	parts := make([]string, 0, 4)
	if keys := s.describeKeys(); keys != "" {
		parts = append(parts, keys)
	}
	if !s.allChannels {
		parts = append(parts, "resetchannels")
	}
	if channels := s.describeChannels(); channels != "" {
		parts = append(parts, channels)
	}
	return strings.Join(append(parts, s.describeCommands()), " ")
}

func (s *selector) describeKeys() string {
	// No pattern may follow "~*", which "%RW~*" is written as.
	if s.allKeys || slices.Contains(s.keys, keyPattern{"*", readsAndWrites}) {
		return "~*"
	}
	parts := make([]string, len(s.keys))
	for i, p := range s.keys {
		parts[i] = accessPrefixes[p.access] + p.glob
	}
	return strings.Join(parts, " ")
}

var accessPrefixes = map[commands.KeyAccess]string{
	readsAndWrites: "~", commands.ReadsKey: "%R~", commands.WritesKey: "%W~",
}

func (s *selector) describeChannels() string {
	if s.allChannels {
		return "&*"
	}
	parts := make([]string, len(s.channels))
	for i, glob := range s.channels {
		parts[i] = "&" + glob
	}
	return strings.Join(parts, " ")
}

// describeCommands returns rules that permit exactly the selector's commands. The rules
// by which it was made are not kept. As in Redis, they are approximated by categories,
// the best first, and completed by single commands. The commands that Redis lacks do not
// influence the choice among Redis' categories, so that the same rules have the same
// description here and there.
func (s *selector) describeCommands() string {
	additive := !s.permitted.has(s.commands.future())
	made := newSelector(s.commands, false) // by the rules so far
	left := s.clone()                      // what they do not explain yet
	sign, inverse := "+", "-"
	rules := []string{"-@all"}
	if !additive {
		sign, inverse = "-", "+"
		rules[0] = "+@all"
		made.setAll(true)
	}
	for _, redis := range []bool{true, false} {
		applied := map[string]bool{}
		for best := ""; ; applied[best] = true {
			if best = left.bestCategory(additive, redis, applied); best == "" {
				break
			}
			rules = append(rules, sign+"@"+best)
			_ = made.setCategory(best, sign == "+")
			_ = left.setCategory(best, inverse == "+")
		}
	}
	for _, c := range s.commands.inOrder() {
		on := s.permitted.has(c.number)
		if on != made.permitted.has(c.number) {
			if on {
				rules = append(rules, "+"+c.name)
			} else {
				rules = append(rules, "-"+c.name)
			}
			made.set(c, on)
		}
		if !on {
			for _, arg := range s.firstArgs[c.number] {
				rules = append(rules, "+"+c.name+"|"+arg)
			}
		}
	}
	return strings.Join(rules, " ")
}

// bestCategory returns the category in which the fewest commands are as implied, and of
// several the one in which the most are not; "" if in none the latter are more. It looks
// at the categories and commands of Redis, or at our own categories.
func (s *selector) bestCategory(additive, redis bool, applied map[string]bool) (best string) {
	fewest, most := math.MaxInt, 0
	for i, name := range commands.Categories {
		if applied[name] || redis != (name != commands.RateLimitCategory) {
			continue
		}
		category := commands.CategorySet(1) << i
		same, different := 0, 0
		for _, c := range s.commands.all {
			switch {
			case !c.categories.Has(category) || redis && !c.redis:
			case s.permitted.has(c.number) == additive:
				same++
			default:
				different++
			}
		}
		if same > different && (different < fewest || different == fewest && same > most) {
			best, fewest, most = name, different, same
		}
	}
	return best
}

// inOrder returns the commands sorted by name, each before its subcommands.
func (cs *Commands) inOrder() []*command {
	sorted := slices.Clone(cs.all)
	slices.SortFunc(sorted, func(a, b *command) int {
		return slices.Compare(strings.Split(a.name, "|"), strings.Split(b.name, "|"))
	})
	return sorted
}
