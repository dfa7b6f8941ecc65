package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsAreSane(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range rows() {
		require.NotContains(t, names, r.name)
		names[r.name] = true
		require.Regexp(t, `^[a-z0-9-]+$`, r.name)
		require.NotEmpty(t, r.about, r.name)
		require.GreaterOrEqual(t, r.floor, 0.0, r.name)
		require.True(t, r.measure != nil || len(r.sides) > 1, "%s: nothing to compare", r.name)
		if r.connections > 0 {
			sane(t, &r)
		}
	}
}

// TestDocumentsNameRows checks the rows of the commands in documents.
func TestDocumentsNameRows(t *testing.T) {
	command, found := regexp.MustCompile(`--row\s+'?([a-z0-9*,-]+)`), 0
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		pages, err := filepath.Glob("../" + pattern)
		require.NoError(t, err)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, match := range command.FindAllStringSubmatch(string(text), -1) {
				_, err := choose(match[1], false)
				require.True(t, err == nil || match[1] == "interpreted-16", "%s: %v", page, err) // ADR 21
				found++
			}
		}
	}
	require.Greater(t, found, 15)
}

// sane checks a row that is a closed loop.
func sane(t *testing.T, r *row) {
	require.Positive(t, r.keys, r.name)
	require.Less(t, r.keys, uint64(probeKey), r.name)
	require.Positive(t, r.quota.limit, r.name)
	require.False(t, r.decides && !r.renew && r.span == 0 && !r.keep,
		"%s: a row that admits must keep admitting", r.name)
	require.Less(t, int64(r.fillTimes+2*r.span), r.quota.limit+1, "%s: keys fill up", r.name)
	require.Equal(t, len(r.fill) > 0, r.fillTimes > 0, r.name)
	for _, c := range r.sides[1:] {
		require.Equal(t, len(r.sides) > 2, c.suffix != "", "%s: each comparison has a name", r.name)
	}
	for i, c := range r.sides {
		require.NotEmpty(t, c.flow, r.name)
		verdicts := 0
		for _, s := range c.flow {
			require.NotEmpty(t, s.commands, r.name)
			require.GreaterOrEqual(t, len(s.replies), len(s.commands), "%s: every reply has a line at least",
				r.name)
			for _, l := range s.replies {
				require.False(t, strings.HasPrefix(l.text, "-"), "%s: no row expects an error", r.name)
				if l.rest == verdict || l.rest == below || l.rest == within {
					verdicts++
				}
			}
		}
		require.Equal(t, r.decidesOn(c), verdicts == 1, "%s: %d verdicts in a flow of side %d", r.name,
			verdicts, i)
		for _, s := range assemble(c.flow, r.pipeline, r.quota).steps {
			require.NotContains(t, strings.ReplaceAll(string(s.buf), "{"+keyPrefix, ""), "{",
				"%s: a placeholder that nobody knows", r.name)
		}
	}
}

func TestTarget(t *testing.T) {
	r := row{floor: 3}
	require.InDelta(t, 3, r.targetOf(contender{}, false), 0)
	require.InDelta(t, 1.5, r.targetOf(contender{}, true), 0)
	r.quickFloor = 1
	require.InDelta(t, 3, r.targetOf(contender{}, false), 0)
	require.InDelta(t, 1, r.targetOf(contender{}, true), 0)
	require.InDelta(t, 12, r.targetOf(contender{suffix: "-script", floor: 12}, false), 0)
	require.Zero(t, r.targetOf(contender{joins: true, suffix: "-old"}, false))
}

func TestChoose(t *testing.T) {
	names := func(list string, quick bool) (out []string) {
		chosen, err := choose(list, quick)
		require.NoError(t, err)
		for _, r := range chosen {
			out = append(out, r.name)
		}
		return out
	}
	require.Len(t, names("*", false), len(rows()))
	require.NotContains(t, names("", false), "always-1", "it writes gigabytes")
	require.Equal(t, []string{"ping-16", "allow-1", "allow-16", "gateway"}, names("", true))
	require.Equal(t, []string{"zadd-16", "ping-1", "cost-1", "cost-100", "cost-10000", "cost-1000000"},
		names("zadd-16, ping-1,cost-*", true))
	_, err := choose("ping-2", false)
	require.ErrorContains(t, err, `"ping-2"`)
	_, err = choose("ping-[", false)
	require.ErrorContains(t, err, "pattern")
}
