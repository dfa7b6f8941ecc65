package rl

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
)

// TestHoldKeys tests the names of a hold's keys that commands find in their arguments.
func TestHoldKeys(t *testing.T) {
	b := strings.Repeat("b", maxID)
	for call, want := range map[string]string{
		"rl.reserve a 1 1 1 HOLD id Id b":              "a a:hold:{a}:b a:hold:b",
		"rl.reserve a 1 1 1 ID b HOLD 1":               "a a:hold:{a}:b a:hold:b",
		"rl.reserve a 1 1 1 ALGO GCRA 1 ID b HOLD 1":   "a a:hold:{a}:b a:hold:b",
		"rl.reserve {a}c 1 1 1 ID b HOLD 1":            "{a}c {a}c:hold:b",
		"rl.reserve a}c 1 1 1 ID b HOLD 1":             "a}c a}c:hold:b",
		"rl.reserve a 1 1 1 HOLD b HOLD 1":             "a",
		"rl.reserve a 1 1 1 HOLD b ID " + b:            "a a:hold:{a}:" + b + " a:hold:" + b,
		"rl.reserve a 1 1 1 HOLD b ID b" + b:           "a",
		"rl.settle a b 1":                              "a a:hold:{a}:b a:hold:b",
		"rl.cancel a b":                                "a a:hold:{a}:b a:hold:b",
		"rl.mreserve 2 a c TERM 1 1 TERM 1 1 id b":     "a c a:hold:{a}:b a:hold:b",
		"rl.mreserve 2 a c TERM 1 1 TERM HOLD id id b": "a c a:hold:{a}:b a:hold:b",
		"rl.mreserve 17 a c TERM 1 1 TERM 1 1 id b":    "",
		"rl.msettle 2 {a} {a}c b 1 1":                  "{a} {a}c {a}:hold:b",
		"rl.msettle 2 a c":                             "a c",
		"rl.msettle 3 a c":                             "",
		"rl.mcancel 1 a b":                             "a a:hold:{a}:b a:hold:b",
	} {
		var args [][]byte
		for _, word := range strings.Fields(call) {
			args = append(args, []byte(word))
		}
		i := slices.IndexFunc(rlHoldRows, func(row commands.Command) bool {
			return row.Name == string(args[0])
		})
		var keys []string
		for _, key := range rlHoldRows[i].AppendKeys(nil, args) {
			keys = append(keys, string(key))
		}
		require.Equal(t, want, strings.Join(keys, " "), call)
	}
}

// TestHasTerms tests which calls of RL.MALLOW have terms: those whose key is called TERM have none.
func TestHasTerms(t *testing.T) {
	for call, want := range map[string]bool{
		"1 a TERM 1 1":                                  true,
		"1 a 1 1":                                       false,
		"2 a 5 term 1 1 TERM 1 1":                       true,
		"2 a 5 TERM 1 1":                                true,
		"3 a 5 1s TERM 1 1 TERM 1 1 TERM 1 1":           true,
		"3 a 5 1s TERM 1 1 c 1 1":                       false,
		"3 a 5 1s TERM 1 1 term 1 1":                    false,
		"3 a 5 1s TERM 1 1 c 1 1 COST 2 PEEK":           false,
		"6 a 5 1s b 5 1s TERM 1 1 c 1 1 d 1 1 e 1 1":    false,
		"6 a 5 1s b 5 1s TERM 1 1 Term 1 1 d 1 1 e 1 1": false,
		"3 a 5 1s TERM 1 1":                             true,
		"9223372036854775807 a 5 1s TERM 1 1":           false,
		"0 TERM 1 1":                                    false,
		"-1 TERM 1 1":                                   false,
		"x TERM 1 1":                                    false,
	} {
		args := [][]byte{[]byte("rl.mallow")}
		for _, word := range strings.Fields(call) {
			args = append(args, []byte(word))
		}
		require.Equal(t, want, HasTerms(args), call)
	}
}
