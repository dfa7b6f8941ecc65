package main

import (
	"slices"
	"sort"
	"strings"
)

// aclCommands compares ACL GETUSER and ACL LIST with the single commands of a rule list in
// any order. Commands that only zlimit has are left out: Redis' rules cannot name them, and
// ours have to where a category is not permitted as a whole. So are key patterns beside "~*",
// which Redis writes after %RW~* although it refuses to read them there.
func aclCommands(s comparison) string {
	if s.ref.kind != s.ours.kind || s.ref.null != s.ours.null || len(s.ref.elems) != len(s.ours.elems) {
		return "different shape"
	}
	if sortedRules(s.ref.text) != sortedRules(s.ours.text) {
		return "different rules"
	}
	for i := range s.ref.elems {
		if d := aclCommands(comparison{ref: s.ref.elems[i], ours: s.ours.elems[i]}); d != "" {
			return d
		}
	}
	return ""
}

// sortedRules sorts the single commands of each selector, which stand at its end.
func sortedRules(text string) string {
	parts := strings.Split(text, "(")
	for i, part := range parts {
		words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(part), ")"))
		kept := words[:0]
		allKeys := slices.Contains(words, "~*")
		for _, w := range words {
			if allKeys && w != "~*" && strings.HasPrefix(strings.TrimLeft(w, "%RW"), "~") {
				continue
			}
			if name := strings.TrimLeft(w, "+-"); !onlyOurs[name] && !strings.HasPrefix(name, "rl.") {
				kept = append(kept, w)
			}
		}
		first := 0
		for j, w := range kept {
			if strings.HasPrefix(w, "+@") || strings.HasPrefix(w, "-@") {
				first = j + 1
			}
		}
		sort.Strings(kept[first:])
		parts[i] = strings.Join(kept, " ")
	}
	return strings.Join(parts, "(")
}

// onlyOurs are the commands and the category that Redis 7.0 does not have, beside rl.*.
var onlyOurs = func() map[string]bool {
	out := map[string]bool{}
	const unknown = "@ratelimit cl.throttle client|no-touch client|setinfo increx waitaof"
	for _, name := range strings.Fields(unknown) {
		out[name] = true
	}
	return out
}()
