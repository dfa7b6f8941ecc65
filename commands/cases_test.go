package commands_test

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
)

// TestCases runs testdata/cases, in the format of package scenario, against a keyspace without sessions. The
// only directive is rl-log-max-units.
func TestCases(t *testing.T) {
	files, err := scenario.Glob("testdata/cases/*.cases")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				c := &benchClient{bench: newBench()}
				if len(s.Directives) > 0 {
					require.Equal(t, "--rl-log-max-units", s.Directives[0])
					c.ctx.Settings.RLLogMaxUnits, err = strconv.ParseInt(s.Directives[1], 10, 64)
					require.NoError(t, err)
				}
				r := scenario.Runner{Dial: func(string) (scenario.Client, error) { return c, nil }}
				for _, fault := range r.Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// A benchClient is a bench as a client of scenarios.
type benchClient struct {
	*bench
	out []byte
}

func (c *benchClient) Send(args [][]byte) error {
	c.ctx.Reset()
	reply := c.table.Call(&c.ctx, args)
	c.out = resp.Append(nil, &reply, c.ctx.Proto)
	return nil
}

func (c *benchClient) Reply() (reply []byte, err error) {
	reply, err = scenario.ReadReply(bufio.NewReader(bytes.NewReader(c.out)), nil)
	c.out = c.out[len(reply):]
	return reply, err
}

func (c *benchClient) SendRaw([]byte) error  { return errors.ErrUnsupported }
func (c *benchClient) Rest() ([]byte, error) { return nil, errors.ErrUnsupported }
func (c *benchClient) Unread() []byte        { return c.out }
func (c *benchClient) Close() error          { return nil }

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
