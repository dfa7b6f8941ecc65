package server_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// rlStep is one command at one instant.
type rlStep struct {
	atMs  int64  // since startNowMs
	line  string // the command, quoted as redis-cli does
	want  string // the reply as formatted by scenario.Show
	place string // file and line
}

type rlScenario struct {
	name  string
	topic string   // the name of its file
	flags []string // directives of the server
	steps []rlStep
}

// rlScenarios reads testdata/rl and the cases of algorithms: commands with their replies, and when.
func rlScenarios(t *testing.T) (all []rlScenario) {
	t.Helper()
	files, err := scenario.Glob("testdata/rl/*.cases")
	require.NoError(t, err)
	ofAlgorithms, err := scenario.Glob("../commands/rl/testdata/*.cases")
	require.NoError(t, err)
	for _, f := range append(files, ofAlgorithms...) {
		for _, s := range f.Sections {
			topic := strings.TrimSuffix(filepath.Base(f.Path), ".cases")
			one := rlScenario{name: s.Title, topic: topic, flags: s.Directives}
			atMs := int64(0)
			for i := range s.Steps {
				step := &s.Steps[i]
				want, ok := step.Want()
				switch {
				case step.Action == scenario.At:
					atMs = step.Value
				case step.Action == scenario.Clock:
					atMs = step.Value - startNowMs
				case step.Action == scenario.Command && ok:
					one.steps = append(one.steps, rlStep{atMs, step.Line, want, step.Place(&s)})
				default:
					require.Fail(t, "no command with a reply", "%s: %s", step.Place(&s), step.Line)
				}
			}
			require.False(t, slices.ContainsFunc(all, func(o rlScenario) bool { return o.name == one.name }),
				"%s: second scenario %q", f.Path, one.name)
			all = append(all, one)
		}
	}
	return all
}
