package commands_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
)

// TestCases runs testdata/cases, in the format of package scenario, against a keyspace without sessions. The
// only directive is rl-log-max-units.
func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/cases/*.cases", func(t *testing.T, s scenario.Section) *scenario.Runner {
		b := newBench()
		if len(s.Directives) > 0 {
			require.Equal(t, "--rl-log-max-units", s.Directives[0])
			var err error
			b.ctx.Settings.RLLogMaxUnits, err = strconv.ParseInt(s.Directives[1], 10, 64)
			require.NoError(t, err)
		}
		c := scenario.Answering(func(args [][]byte) []byte {
			b.ctx.Reset()
			reply := b.table.Call(&b.ctx, args)
			return resp.Append(nil, &reply, b.ctx.Proto)
		})
		return &scenario.Runner{Dial: func(string) (scenario.Client, error) { return c, nil }}
	})
}

// TestRefusals tests the errors of testdata/refusals.cases. fuzzCall checks that a call that fails changes
// nothing, whatever the key holds.
func TestRefusals(t *testing.T) {
	f, err := scenario.ReadFile("testdata/refusals.cases")
	require.NoError(t, err)
	for _, s := range f.Sections {
		for i := range s.Steps {
			step := &s.Steps[i]
			want, ok := step.Want()
			require.True(t, ok, step.Line)
			var words []string
			for _, arg := range step.Args {
				words = append(words, string(arg))
			}
			for state := range states {
				_, reply, _ := fuzzCall(t, uint8(state), state%2 == 0, words)
				require.Equal(t, want, reply.Str(), step.Place(&s))
			}
		}
	}
}
