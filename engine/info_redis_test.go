package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine/info"
	"github.com/zlimit/zlimit/oracle"
)

const infoRecording = "testdata/info.txt"

// infoDynamic are the parts of field names that say what has happened.
var infoDynamic = regexp.MustCompile(
	`^(cmdstat_|errorstat_|latency_percentiles_usec_|db|algorithm_|command_|held_|limiter_)[^:]*`)

// infoFields are the sections of an answer of INFO with their fields, in order:
// "# Server", "redis_version", ...
func infoFields(info string) (out []string) {
	for line := range strings.Lines(info) {
		line = strings.TrimSpace(line)
		field, _, isField := strings.Cut(line, ":")
		if prefix := infoDynamic.FindStringSubmatch(field); isField && prefix != nil {
			field = prefix[1] + "*"
		}
		if line != "" && (len(out) == 0 || out[len(out)-1] != field) {
			out = append(out, field)
		}
	}
	return out
}

// infoDifference is how two lists of sections and fields differ.
type infoDifference struct {
	missing, extra []string // "Server gcc_version"
	disorder       string   // the first field that both have and that stands elsewhere
}

func infoDiffer(want, got []string) (d infoDifference) {
	inBoth := func(named, other []string) (shared, alone []string) {
		for _, name := range named {
			if slices.Contains(other, name) {
				shared = append(shared, name)
			} else {
				alone = append(alone, name)
			}
		}
		return shared, alone
	}
	want, got = infoNamed(want), infoNamed(got)
	a, missing := inBoth(want, got)
	b, extra := inBoth(got, want)
	d.missing, d.extra = missing, extra
	for i := range a {
		if a[i] != b[i] {
			d.disorder = fmt.Sprintf("%s stands where Redis has %s", b[i], a[i])
			break
		}
	}
	return d
}

// infoNamed puts the section before the names of its fields.
func infoNamed(fields []string) (out []string) {
	section := ""
	for _, f := range fields {
		if title, ok := strings.CutPrefix(f, "# "); ok {
			section = title
			out = append(out, f)
			continue
		}
		out = append(out, section+" "+f)
	}
	return out
}

// namesOf returns the fields that notes are about: "Server gcc_version".
func namesOf(kinds ...info.NoteKind) map[string]bool {
	out := make(map[string]bool)
	for _, kind := range kinds {
		for _, n := range info.Notes(kind) {
			for _, field := range n.Fields {
				out[n.Section+" "+field] = true
			}
		}
	}
	return out
}

// infoSetup makes every dynamic field appear.
var infoSetup = []string{"SET k v", "SET t v EX 100", "INCR k"}

// TestInfoHasRedisFields compares the fields of each section, and their order, with
// redis-server's. info.Missing and info.Extra explain the differences.
func TestInfoHasRedisFields(t *testing.T) {
	calls, recorded := paragraphs(recording(t, infoRecording, nil,
		func(_ *oracle.Redis, c *effectsClient, old string) string {
			for _, line := range infoSetup {
				c.doLine(t, line)
			}
			calls, fields := paragraphs(old)
			for i, call := range calls {
				fields[i] = strings.Join(infoFields(c.doLine(t, strings.TrimPrefix(call, ">>> "))), "\n")
			}
			return joined(calls, fields)
		}))
	require.NotEmpty(t, calls)
	reasons := namesOf(info.Missing, info.Extra)
	used := map[string]bool{"# Limiter": true}
	for i, call := range calls {
		_, _, s := newServer(t)
		for _, line := range infoSetup {
			do(s, line)
		}
		d := infoDiffer(infoFields(recorded[i]), infoFields(do(s, strings.TrimPrefix(call, ">>> "))))
		require.Empty(t, d.disorder, call)
		for _, d := range slices.Concat(d.missing, d.extra) {
			require.True(t, reasons[d] || d == "# Limiter", "%s: %s differs and has no reason", call, d)
			used[d] = true
		}
	}
	for d := range reasons {
		require.True(t, used[d], "%s does not differ", d)
	}
}

// TestInfoNotesAreOfFields checks that each explained field exists.
func TestInfoNotesAreOfFields(t *testing.T) {
	_, _, s := newServer(t)
	do(s, "SET k v")
	fields := infoNamed(infoFields(do(s, "INFO everything")))
	fields = append(fields, "Replication slave*") // there is none without a replica
	for field := range namesOf(info.Constant) {
		require.Contains(t, fields, field)
	}
}

// TestInfoComparisonFails checks that missing, additional and moved fields are found.
func TestInfoComparisonFails(t *testing.T) {
	redis := []string{"# A", "x", "y", "z", "# B", "x"}
	for _, c := range []struct {
		got  []string
		want infoDifference
	}{
		{[]string{"# A", "x", "y", "z", "# B", "x"}, infoDifference{}},
		{[]string{"# A", "x", "z", "# B", "x"}, infoDifference{missing: []string{"A y"}}},
		{[]string{"# A", "x", "y", "z", "# B"}, infoDifference{missing: []string{"B x"}}},
		{[]string{"# A", "x", "y", "w", "z", "# B", "x"}, infoDifference{extra: []string{"A w"}}},
		{
			[]string{"# A", "x", "z", "y", "# B", "x"},
			infoDifference{disorder: "A z stands where Redis has A y"},
		},
		{
			[]string{"# B", "x", "# A", "x", "y", "z"},
			infoDifference{disorder: "# B stands where Redis has # A"},
		},
	} {
		require.Equal(t, c.want, infoDiffer(redis, c.got), c.got)
	}
	require.Equal(t, []string{"# A", "db*", "x", "cmdstat_*"},
		infoFields("# A\r\ndb0:keys=1\r\ndb3:keys=1\r\nx:1\r\n\r\ncmdstat_config|get:calls=1\r\n"))
}
