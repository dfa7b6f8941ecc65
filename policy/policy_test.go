package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
)

func read(files ...string) (*policy.Set, error) {
	var in []policy.File
	for i, data := range files {
		in = append(in, policy.File{Name: string(rune('a'+i)) + ".yaml", Data: []byte(data)})
	}
	return policy.Read(in, new(policy.Registry), rl.CheckTerm)
}

func mustRead(t *testing.T, files ...string) *policy.Set {
	t.Helper()
	set, err := read(files...)
	require.NoError(t, err)
	return set
}

// call returns what RL.CHECK with these arguments becomes.
func call(set *policy.Set, args string) string { return rewritten(set, split("RL.CHECK "+args)) }

func rewritten(set *policy.Set, words [][]byte) string {
	return strings.Replace(joined(set.Rewrite(new(policy.Matcher), words)), "RL.CHECK 0 ERROR", "!", 1)
}

func split(line string) (words [][]byte) {
	for _, w := range strings.Fields(line) {
		words = append(words, []byte(strings.ReplaceAll(w, "~", "")))
	}
	return words
}

// edge returns the file of testdata that most tests call.
func edge(t testing.TB) string {
	t.Helper()
	file, err := os.ReadFile("testdata/edge.yaml")
	require.NoError(t, err)
	return string(file)
}

// TestCalls runs testdata/*.cases: what RL.CHECK becomes, or its error behind "!".
func TestCalls(t *testing.T) {
	set := mustRead(t, edge(t))
	scenario.Play(t, "testdata/*.cases", func(*testing.T, scenario.Section) *scenario.Runner {
		c := scenario.AnsweringText(func(args [][]byte) string { return rewritten(set, args) })
		return &scenario.Runner{Dial: func(string) (scenario.Client, error) { return c, nil }}
	})
	require.Equal(t, "! no policies are loaded: see the directive rl-policies", call(nil, "edge ip x"))
	set.RefusesUnknown = true
	require.Equal(t, `! no file of rl-policies has this domain: "other"`, call(set, "other ip x"))
}

func TestAllShareOneSlot(t *testing.T) {
	set := mustRead(t, "domain: a_b\ncount: all\ndescriptors:\n- key: ip\n"+
		"  rate_limit: {unit: second, requests_per_unit: 1}\n- key: t\n  limits: [{limit: 1, window: 1s}]\n"+
		"  concurrency: {max: 1, lease: 1s}\n")
	m := new(policy.Matcher)
	d, limits, err := set.Resolve(m, []byte("a_b"), []policy.Descriptor{
		{Entries: []policy.Entry{{Key: []byte("ip"), Value: []byte("{x}")}}, Hits: 1},
		{Entries: []policy.Entry{{Key: []byte("t"), Value: []byte("y")}}, Hits: 2},
		{
			Entries: []policy.Entry{{Key: []byte("t"), Value: []byte("z")}}, Hits: 3,
			Override: &policy.Override{Requests: 9, Unit: policy.Week},
		},
		{Entries: []policy.Entry{{Key: []byte("none"), Value: []byte("z")}}, Hits: 3},
	})
	require.NoError(t, err)
	require.Equal(t, "RL.CHECK 4 {a_b}_ip_%7Bx%7D_second {a_b}_t_y {a_b}_t_y:slots {a_b}_t_z_week "+
		"TERM 1 1s ALGO FIXED COST 1 POLICY a_b.ip TERM 1 1s ALGO LOG COST 2 POLICY a_b.t "+
		"TERM SLOTS 1 LEASE 1s TERM 9 604800s ALGO FIXED COST 3 POLICY a_b.t_z FULL ID i",
		joined(m.Call(d, limits, policy.Options{Full: true, ID: []byte("i")})))
}

func joined(words [][]byte) string {
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = string(w)
	}
	return strings.Join(text, " ")
}

func TestReplaces(t *testing.T) {
	set := mustRead(t, `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: second, requests_per_unit: 1, name: base}
  - key: b
    rate_limit: {unit: second, requests_per_unit: 9, name: big, replaces: [{name: base}]}
`)
	m := new(policy.Matcher)
	entry := func(key string) policy.Descriptor {
		return policy.Descriptor{Entries: []policy.Entry{{Key: []byte(key), Value: []byte("v")}}, Hits: 1}
	}
	_, limits, err := set.Resolve(m, []byte("d"), []policy.Descriptor{entry("a"), entry("b")})
	require.NoError(t, err)
	require.False(t, limits[0].Decides())
	require.True(t, limits[1].Decides())
	_, limits, err = set.Resolve(m, []byte("d"), []policy.Descriptor{entry("a")})
	require.NoError(t, err)
	require.True(t, limits[0].Decides())
}

func TestResolveRefuses(t *testing.T) {
	set := mustRead(t, edge(t))
	resolve := func(ds ...policy.Descriptor) error {
		_, _, err := set.Resolve(new(policy.Matcher), []byte("edge"), ds)
		return err
	}
	require.ErrorIs(t, resolve(), policy.ErrDescriptors)
	require.ErrorIs(t, resolve(make([]policy.Descriptor, policy.MaxDescriptors+1)...), policy.ErrDescriptors)
	require.NoError(t, resolve(make([]policy.Descriptor, policy.MaxDescriptors)...))
	require.ErrorIs(t, resolve(policy.Descriptor{Entries: make([]policy.Entry, policy.MaxEntries+1)}),
		policy.ErrDescriptors)
	require.ErrorIs(t, resolve(policy.Descriptor{Override: &policy.Override{}}), policy.ErrUnit)
	require.ErrorIs(t, resolve(policy.Descriptor{Override: &policy.Override{Unit: 8}}), policy.ErrUnit)
}

// TestNames has what decisions are counted under.
func TestNames(t *testing.T) {
	set := mustRead(t, `
domain: d
descriptors:
  - key: plain
    value: p*
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: detailed
    detailed_metric: true
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: shared
    value: s*
    share_threshold: true
    detailed_metric: true
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: metric
    value_to_metric: true
    descriptors:
      - key: below
        rate_limit: {unit: second, requests_per_unit: 1}
`)
	name := func(args string) string {
		_, after, _ := strings.Cut(call(set, args), " POLICY ")
		return strings.Fields(after)[0]
	}
	require.Equal(t, "d.plain_p*", name("d plain p1"))
	require.Equal(t, "d.detailed_x", name("d detailed x"))
	require.Equal(t, "d.detailed_", name("d detailed ~"))
	require.Equal(t, "d.shared_s*", name("d shared s1"))
	require.Equal(t, "d.metric_v.below", name("d metric v below w"))
	for i := range policy.MaxDetailed {
		name(fmt.Sprintf("d detailed %d", i))
	}
	require.Equal(t, "d.detailed", name("d detailed beyond"))
	require.Equal(t, "d.detailed_7", name("d detailed 7"))
	_, missed := set.Registry().Detailed(0)
	require.Equal(t, int64(4), missed, "three names were there before the loop, and one is beyond it")
}

func TestCountsOutliveReload(t *testing.T) {
	registry := new(policy.Registry)
	load := func(file string) *policy.Set {
		set, err := policy.Read([]policy.File{{Name: "f", Data: []byte(file)}}, registry, rl.CheckTerm)
		require.NoError(t, err)
		return set
	}
	limit := "\n    rate_limit: {unit: second, requests_per_unit: 1}"
	set := load("domain: d\ndescriptors:\n  - key: a" + limit + "\n  - key: b" + limit)
	set.Find("d.a").Counts().Allow(5)
	set.Find("d.b").Counts().Deny()
	set = load("domain: d\ndescriptors:\n  - key: c" + limit + "\n  - key: a" + limit)
	require.Equal(t, policy.Tally{Allowed: 1, Units: 5}, set.Find("d.a").Counts().Tally())
	require.Zero(t, set.Find("d.c").Counts().Tally())
	require.Nil(t, registry.Find([]byte("d.b")))
}

// TestErrors has what files are refused for, with the line: see testdata/errors.txt.
func TestErrors(t *testing.T) {
	text, err := os.ReadFile("testdata/errors.txt")
	require.NoError(t, err)
	for _, c := range append(strings.Split(string(text), "\n== ")[1:], "a.yaml:\n"+deep(40)) {
		want, file, _ := strings.Cut(c, "\n")
		_, err := read(file)
		var failed *policy.ReadError
		require.ErrorAs(t, err, &failed, file)
		require.True(t, strings.HasPrefix(err.Error(), want), "%s:\n%s", file, err)
	}
	_, err = read("domain: d\n", "domain: d\n")
	require.EqualError(t, err, "b.yaml:1: duplicate domain 'd' in config file")
}

// deep returns a file whose descriptors are nested.
func deep(levels int) string {
	var b strings.Builder
	b.WriteString("domain: d\n")
	for i := range levels {
		b.WriteString(strings.Repeat("  ", i) + "descriptors:\n" + strings.Repeat("  ", i) + "- key: k\n")
	}
	return b.String()
}

// TestBombs reads files that stand for far more than their size.
func TestBombs(t *testing.T) {
	race.OneGoroutine(t)
	var b strings.Builder
	b.WriteString("domain: d\nx0: &x0 [{key: a}]\n")
	for i := 1; i < 40; i++ {
		nine := strings.Repeat(fmt.Sprintf("{descriptors: *x%d},", i-1), 9)
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(nine, ","))
	}
	_, err := read(strings.ReplaceAll(b.String(), "x0: ", "descriptors: "))
	require.Error(t, err)
	b.Reset()
	b.WriteString("domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day}\n" +
		"  descriptors: &l0\n  - key: a\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "- key: k%d\n  descriptors: &l%d\n", i, i)
		for j := range 9 {
			fmt.Fprintf(&b, "  - key: x%d\n    descriptors: *l%d\n", j, i-1)
		}
	}
	_, err = read(b.String())
	require.ErrorContains(t, err, "elements")
}

func TestWarnings(t *testing.T) {
	set := mustRead(t, "domain: d\nunit: day\ndescriptors:\n- key: a\n  requests_per_unit: 5\n"+
		"  rate_limit: {unit: day, requests_per_unit: 1, value: x}\n")
	require.Equal(t, []string{
		"a.yaml:2: unit has no effect in the root",
		"a.yaml:5: requests_per_unit has no effect in a descriptor",
		"a.yaml:6: value has no effect in rate_limit",
	}, set.Warnings())
}

// TestYAML has what YAML offers beside plain mappings and lists.
func TestYAML(t *testing.T) {
	set := mustRead(t, "domain: d\ndescriptors:\n- key: a\n  rate_limit: &l {unit: day, "+
		"requests_per_unit: 0x10}\n"+
		"- key: b\n  rate_limit:\n    <<: *l\n    unit: hour\n- key: c\n  rate_limit: *l\n"+
		"- key: 12\n  value: true\n  rate_limit: *l\n- key: e\n  rate_limit: null\n  descriptors: ~\n"+
		"- key: f\n  value: x\n  value: y\n  rate_limit: *l\n  shadow_mode: yes\n")
	var all []string
	for _, p := range set.Policies() {
		all = append(all, fmt.Sprintf("%s %d %s %v", p.Name, p.Requests, p.Unit, p.Shadow))
	}
	require.Equal(t, []string{
		"d.a 16 day false", "d.b 16 hour false", "d.c 16 day false", "d.12_true 16 day false",
		"d.f_y 16 day true",
	}, all)
}

func TestResetOfUnits(t *testing.T) {
	for _, c := range []struct {
		unit policy.Unit
		sec  int64
		want int64
	}{
		{policy.Second, 7, 1},
		{policy.Minute, 60, 60},
		{policy.Minute, 119, 1},
		{policy.Month, 30*86_400 - 1, 1},
		{policy.Year, 0, 365 * 86_400},
	} {
		require.Equal(t, c.want, c.unit.SecondsUntilReset(c.sec*1_000_000+999_999))
	}
}

// many returns a file of n descriptors, as many of them wildcards.
func many(n int) string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	for i := range n / 2 {
		fmt.Fprintf(&b, "- key: user\n  value: v%d\n  rate_limit: {unit: day, requests_per_unit: 1}\n", i)
		fmt.Fprintf(&b, "- key: path\n  value: /p%d/*\n  rate_limit: {unit: day, requests_per_unit: 1}\n", i)
	}
	return b.String()
}

// TestCallsAllocateNothing of a plain descriptor, once the scratch space has grown.
func TestCallsAllocateNothing(t *testing.T) {
	set := mustRead(t, many(100))
	m := new(policy.Matcher)
	for _, args := range []string{"d user v7", "d path /p7/x", "d user none"} {
		words := split("RL.CHECK " + args)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			set.Rewrite(m, words)
		}), args)
	}
}

// BenchmarkRewrite makes calls under 10,000 policies.
func BenchmarkRewrite(b *testing.B) {
	set, err := read(many(10_000))
	require.NoError(b, err)
	m := new(policy.Matcher)
	for _, args := range []string{"d user v4999", "d path /p4999/x", "d user none"} {
		words := split("RL.CHECK " + args)
		b.Run(strings.ReplaceAll(args, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Rewrite(m, words)
			}
		})
	}
}

// FuzzRead reads any file: it fails with a ReadError, or every policy can be called.
func FuzzRead(f *testing.F) {
	f.Add(edge(f))
	f.Add("domain: d\ndescriptors: &a\n- key: k\n  descriptors: *a\n")
	f.Add("a: &a {<<: *a}\n")
	f.Add("? {a: b}\n: c\n")
	f.Fuzz(func(t *testing.T, file string) {
		set, err := read(file)
		if err != nil {
			var failed *policy.ReadError
			require.ErrorAs(t, err, &failed)
			return
		}
		for _, p := range set.Policies() {
			require.NotEmpty(t, p.Name)
			require.NotNil(t, set.Find(p.Name))
		}
	})
}
