package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamplesOfRLHelp runs the example of every command that has one, in the order of
// RL.HELP and backwards, and finds it in the reply.
func TestExamplesOfRLHelp(t *testing.T) {
	srv := start(t, "--bind", "127.0.0.1", "--rl-doctor", "yes",
		"--rl-policies", "testdata/policies/edge.yaml")
	w := connect(t, srv)
	call := func(line string) string {
		require.NoError(t, w.send(wordsOf(t, line)))
		reply, err := w.readReply()
		require.NoError(t, err)
		return showReply(t, reply)
	}
	help := call("RL.HELP")
	var examples []string
	for _, c := range srv.Engine().Table().All() {
		if c.Group == "rate-limit" && !c.ArityOK(1) {
			require.NotEmpty(t, c.Example, c.Name)
		}
		if c.Example == "" && c.Group != "rate-limit" {
			continue
		}
		examples = append(examples, strings.TrimSuffix(strings.ToUpper(c.Name)+" "+c.Example, " "))
		require.Contains(t, help, strings.TrimSuffix(strings.ToUpper(c.Name)+" "+c.Syntax, " "))
		require.Contains(t, help, "    "+c.Summary+"     Example: "+examples[len(examples)-1])
	}
	require.Greater(t, len(examples), 14)
	for i := range examples {
		for _, line := range []string{examples[i], examples[len(examples)-1-i]} {
			got := call(line)
			require.NotRegexp(t, `^[A-Z]+ `, strings.TrimPrefix(got, "[Commands"), line)
		}
	}
	require.Regexp(t, `^ERR limit `, call("RL.ALLOW user:42 -1 1m"), "an error is noticed")
}
