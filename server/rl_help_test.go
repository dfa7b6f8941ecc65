package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamplesOfRLHelp runs the example of every command that has one, in the order of
// RL.HELP and backwards, and finds it in the reply.
func TestExamplesOfRLHelp(t *testing.T) {
	srv := start(t, "--bind", "127.0.0.1", "--rl-doctor", "yes")
	w := dialRL(t, srv)
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

// TestRLHelp checks the shape of the reply, also of renamed commands, and wrong arity.
func TestRLHelp(t *testing.T) {
	srv := start(t, "--bind", "127.0.0.1", "--rename-command", "RL.INFO", "state",
		"--rename-command", "INCREX", "")
	w := dialRL(t, srv)
	require.NoError(t, w.send(wordsOf(t, "RL.HELP")))
	reply, err := w.readReply()
	require.NoError(t, err)
	lines := elements(t, reply)
	require.Equal(t, []string{
		"Commands that Redis does not have, with an example each:",
		"CL.THROTTLE key max_burst count period [quantity]",
		"    Admits count requests in period seconds, and max_burst more at once, by the generic cell rate " +
			"algorithm.",
		"    Example: CL.THROTTLE api:42 15 30 60",
	}, lines[:4])
	text := strings.Join(lines, "\n")
	require.Contains(t, text, "\nSTATE key\n")
	require.Contains(t, text, "\n    Example: STATE user:42")
	require.NotContains(t, text, "RL.INFO")
	require.NotContains(t, text, "INCREX")
	require.NoError(t, w.send(wordsOf(t, "RL.HELP x")))
	reply, err = w.readReply()
	require.NoError(t, err)
	require.Equal(t, "ERR wrong number of arguments for 'rl.help' command", showReply(t, reply))
}
