package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/policy"
)

// TestNamesOfPoliciesThatAreGone: names made of values survive a reload as long as their policy is counted by
// them.
func TestNamesOfPoliciesThatAreGone(t *testing.T) {
	registry := new(policy.Registry)
	load := func(first, second string) *policy.Set {
		set, err := policy.Read([]policy.File{{Name: "f", Data: []byte(
			"domain: d\ndescriptors:\n" +
				"- {key: " + first + ", detailed_metric: true, rate_limit: {unit: day}}\n" +
				"- {key: " + second + ", rate_limit: {unit: day}}\n",
		)}}, registry, rl.CheckTerm)
		require.NoError(t, err)
		return set
	}
	names := func() (all []string) {
		counts, _ := registry.Detailed(10)
		for _, c := range counts {
			all = append(all, c.Name())
		}
		return all
	}
	call(load("a", "b"), "d a x")
	require.Equal(t, []string{"d.a_x"}, names())
	registry.Find([]byte("d.a_x")).Deny()

	call(load("a", "c"), "d a y")
	require.Equal(t, []string{"d.a_x", "d.a_y"}, names())
	require.Equal(t, int64(1), registry.Find([]byte("d.a_x")).Tally().Denied)

	load("b", "a")
	require.Empty(t, names())
	require.Nil(t, registry.Find([]byte("d.a_x")))
}
