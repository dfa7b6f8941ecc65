package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// TestCases runs testdata/cases, in the format of package scenario, over sockets of a server.
func TestCases(t *testing.T) {
	files, err := scenario.Glob("testdata/cases/*.cases")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				t.Parallel()
				dial, setClock := startForTest(t, s.Directives...)
				for _, fault := range runSection(s, s.Protocol, dial, setClock).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}
