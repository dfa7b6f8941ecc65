package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// TestRulesNameEachCommandOnce checks that no command of the table is also one of those
// that only Redis has.
func TestRulesNameEachCommandOnce(t *testing.T) {
	race.OneGoroutine(t)
	e, _, s := newServer(t)
	for _, c := range e.Table().All() {
		require.Equal(t, "OK", do(s, "ACL SETUSER u reset +@slow +@fast -"+c.FullName()))
		list := do(s, "ACL LIST")
		seen := map[string]bool{}
		for rule := range strings.FieldsSeq(strings.Trim(list[strings.Index(list, "user u "):], "[]")) {
			require.False(t, seen[rule], "%s in %s", rule, list)
			seen[rule] = true
		}
	}
}

// TestRulesNameEachCommand: a rule with a command's name allows it.
func TestRulesNameEachCommand(t *testing.T) {
	e, _, s := newServer(t)
	for _, c := range e.Table().All() {
		require.Equal(t, "OK", do(s, "ACL SETUSER u reset +"+c.FullName()))
		reply := do(s, "ACL DRYRUN u "+strings.ReplaceAll(c.FullName(), "|", " "))
		require.NotContains(t, reply, "no permissions to run")
	}
}
