package rl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
)

// TestHoldKeys tests where RL.RESERVE finds the id that names the hold's key.
func TestHoldKeys(t *testing.T) {
	for options, want := range map[string]string{
		"HOLD id Id b":                       "a:hold:b",
		"ID b HOLD 1":                        "a:hold:b",
		"HOLD b HOLD 1":                      "",
		"ID " + strings.Repeat("b", maxID):   "a:hold:" + strings.Repeat("b", maxID),
		"ID " + strings.Repeat("b", maxID+1): "",
	} {
		row := commands.Command{Keys: holdKeys(reserveID)}
		var args [][]byte
		for _, word := range strings.Fields("rl.reserve a 1 1 1 " + options) {
			args = append(args, []byte(word))
		}
		keys := row.AppendKeys(nil, args)
		require.Equal(t, "a", string(keys[0]))
		name := ""
		for _, key := range keys[1:] {
			name = string(key)
		}
		require.Equal(t, want, name, options)
	}
}
