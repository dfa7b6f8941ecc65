package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/race"
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
func call(set *policy.Set, args string) string {
	words := set.Rewrite(new(policy.Matcher), split("RL.CHECK "+args))
	return strings.Replace(joined(words), "RL.CHECK 0 ERROR", "!", 1)
}

func split(line string) (words [][]byte) {
	for _, w := range strings.Fields(line) {
		words = append(words, []byte(strings.ReplaceAll(w, "~", "")))
	}
	return words
}

const edge = `
domain: edge
descriptors:
  - key: ip
    rate_limit: {unit: minute, requests_per_unit: 3}
    descriptors:
      - key: path
        value: /login
        rate_limit: {unit: Day, requests_per_unit: 10}
  - key: user
    value: bot*
    shadow_mode: true
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: user
    value: b*
    share_threshold: true
    rate_limit: {unit: second, requests_per_unit: 2}
  - key: user
    value: bob
    rate_limit: {unlimited: true}
  - key: tenant
    limits: [{limit: 5, window: 10s}, {limit: 100, window: 1h}]
    cost: 2
    concurrency: {max: 4, lease: 30s}
  - key: month
    algorithm: fixed
    limits: [{limit: 5, window: 1mo@Europe/Berlin}]
  - key: only
    descriptors:
      - key: below
        algorithm: log
        rate_limit: {unit: hour, requests_per_unit: 7}
`

const syntaxError = "! syntax error: RL.CHECK domain key value [key value ...] [COST n] " +
	"[PEEK | EXPLAIN] [ID id]"

func TestCalls(t *testing.T) {
	set := mustRead(t, edge)
	for _, c := range [][2]string{
		{"edge ip 1.2.3.4", "1 edge_ip_1.2.3.4_minute TERM 3 60s ALGO FIXED COST 1 POLICY edge.ip CHARGE"},
		{
			"edge ip x COST 4 PEEK",
			"1 edge_ip_x_minute TERM 3 60s ALGO FIXED COST 4 POLICY edge.ip CHARGE PEEK",
		},
		{"edge ip x path /login", "1 edge_ip_x_path_/login_day TERM 10 86400s ALGO FIXED COST 1 " +
			"POLICY edge.ip.path_/login CHARGE"},
		{"edge ip x path /", "0 COST 1 POLICY "},
		{"edge ip x path /login more 1", "0 COST 1 POLICY "},
		{
			"edge ip a_b{c}%",
			"1 edge_ip_a%5Fb%7Bc%7D%25_minute TERM 3 60s ALGO FIXED COST 1 POLICY edge.ip CHARGE",
		},
		{"edge ip ~", "1 edge_ip__minute TERM 3 60s ALGO FIXED COST 1 POLICY edge.ip CHARGE"},
		// Of the wildcards that fit, the first in the file.
		{
			"edge user bot7",
			"1 edge_user_bot7_second TERM 1 1s ALGO FIXED COST 1 POLICY edge.user_bot* CHARGE SHADOW",
		},
		{"edge user bo", "1 edge_user_b*_second TERM 2 1s ALGO FIXED COST 1 POLICY edge.user_b* CHARGE"},
		{"edge user bob", "0 COST 1 POLICY edge.user_bob"},
		{"edge user bob COST 7", "0 COST 7 POLICY edge.user_bob"},
		{"edge user bob COST 7 PEEK", "0 COST 0 POLICY edge.user_bob"},
		{"edge user carl", "0 COST 1 POLICY "},
		{"edge tenant a ID 7", "2 edge_tenant_a {edge_tenant_a}:slots TERM 5 10s 100 1h ALGO LOG COST 2 " +
			"POLICY edge.tenant TERM SLOTS 4 LEASE 30s ID 7"},
		{"edge tenant a", "! the policy edge.tenant has slots: ID is missing"},
		{"edge month a", "1 edge_month_a TERM 5 1mo@Europe/Berlin ALGO FIXED COST 1 POLICY edge.month"},
		{"edge only a", "0 COST 1 POLICY "},
		{
			"edge only a below b",
			"1 edge_only_a_below_b_hour TERM 7 3600s ALGO LOG COST 1 POLICY edge.only.below",
		},
		{"other ip x", "0 COST 1 POLICY "},
		{"edge COST 5", "0 COST 1 POLICY "}, // the first key is no option
		{"edge ip x id 5", "0 COST 1 POLICY "},
		{"edge ip", syntaxError},
		{"edge ip x more", syntaxError},
		{"edge ip x COST", syntaxError},
		{"edge ip x COST -1", "! COST must be an integer from 0 on"},
		{"edge ip x COST 1.5", "! COST must be an integer from 0 on"},
		{
			"edge tenant x COST 9223372036854775807 ID 1",
			"2 edge_tenant_x {edge_tenant_x}:slots TERM 5 10s 100 1h " +
				"ALGO LOG COST 9223372036854775807 POLICY edge.tenant TERM SLOTS 4 LEASE 30s ID 1",
		},
		{
			"edge ip x EXPLAIN ID 7",
			"1 edge_ip_x_minute TERM 3 60s ALGO FIXED COST 1 POLICY edge.ip CHARGE EXPLAIN",
		},
		{
			"edge tenant a EXPLAIN",
			"1 edge_tenant_a TERM 5 10s 100 1h ALGO LOG COST 2 POLICY edge.tenant EXPLAIN",
		},
		{"edge user bob EXPLAIN", "0 EXPLAIN"},
		{"edge ip x PEEK EXPLAIN", syntaxError},
		{"edge ip x EXPLAIN EXPLAIN 1", syntaxError},
		{"edge" + strings.Repeat(" k v", 33), "! at most 32 keys can be given"},
	} {
		want := c[1]
		if !strings.HasPrefix(want, "!") {
			want = "RL.CHECK " + want
		}
		require.Equal(t, want, call(set, c[0]), c[0])
	}
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
	set := mustRead(t, edge)
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

// TestErrors has what files are refused for, with the line.
func TestErrors(t *testing.T) {
	descriptor := func(rest string) string { return "domain: d\ndescriptors:\n- key: a\n" + rest }
	for _, c := range []struct{ file, want string }{
		{"", "a.yaml: config file cannot have empty domain"},
		{"# nothing\n", "a.yaml: config file cannot have empty domain"},
		{"domain: ''\n", "a.yaml:1: config file cannot have empty domain"},
		{"- a\n", "a.yaml:1: error loading config file: a domain is expected, not a list"},
		{"domain: [\n", "a.yaml:1: error loading config file: did not find expected node content"},
		{"domain: d\nfoo: 1\n", "a.yaml:2: config error, unknown key 'foo'"},
		{"domain: d\n1: 1\n", "a.yaml:2: config error, key is not of type string: 1"},
		{
			"domain: d\ndescriptors: [x]\n",
			"a.yaml:2: config error, yaml file contains list of type other than map: x",
		},
		{
			"domain: d\ndescriptors: 1.5\n",
			"a.yaml:2: error checking config: 1.5 is not a string, an integer of 64 bits, true or false",
		},
		{"domain: d\ndescriptors: x\n", `a.yaml:2: error loading config file: a list is expected, not "x"`},
		{"domain: d\ncount: some\n", "a.yaml:1: count is each or all, not 'some'"},
		{"domain: d\n---\ndomain: d\n", "a.yaml:3: duplicate domain 'd' in config file"},
		{"domain: d\ndescriptors:\n- value: x\n", "a.yaml:3: descriptor has empty key"},
		{descriptor("  limit: 5\n"), "a.yaml:4: config error, unknown key 'limit' in a descriptor"},
		{descriptor("- key: a\n"), "a.yaml:4: duplicate descriptor composite key 'd.a'"},
		{
			descriptor("  rate_limit: {unit: decade, requests_per_unit: 1}"),
			"a.yaml:4: invalid rate limit unit 'decade'",
		},
		{descriptor("  rate_limit: {unit: unknown}"), "a.yaml:4: invalid rate limit unit 'unknown'"},
		{
			descriptor("  rate_limit: {unit: day, unlimited: true}"),
			"a.yaml:4: should not specify rate limit unit when unlimited",
		},
		{
			descriptor("  rate_limit: {unit: day, requests_per_unit: -1}"),
			`a.yaml:4: error loading config file: ` +
				`a number from 0 to 4294967295 is expected, not "-1"`,
		},
		{
			descriptor("  rate_limit: {unit: day, requests_per_unit: 4294967296}"),
			`a.yaml:4: error loading config file: ` +
				`a number from 0 to 4294967295 is expected, not "4294967296"`,
		},
		{
			descriptor("  rate_limit: {unit: day, requests_per_unit: '5'}"),
			`a.yaml:4: error loading config file: ` +
				`a number from 0 to 4294967295 is expected, not "5"`,
		},
		{
			descriptor("  rate_limit: {unit: day, replaces: [{name: ''}]}"),
			"a.yaml:4: should not have an empty replaces entry",
		},
		{
			descriptor("  rate_limit: {unit: day, name: x, replaces: [{name: x}]}"),
			"a.yaml:4: replaces should not contain name of same descriptor",
		},
		{
			descriptor("  share_threshold: true\n"),
			"a.yaml:3: share_threshold can only be used with wildcard values " +
				"(ending with '*'), but found key 'a'",
		},
		{
			descriptor("  shadow_mode: 'true'\n"),
			`a.yaml:4: error loading config file: true or false is expected, not "true"`,
		},
		{
			descriptor("  limits: [{limit: 1, window: 1m}]\n  rate_limit: {unlimited: true}\n"),
			"a.yaml:3: a descriptor has rate_limit or limits, not both",
		},
		{descriptor("  limits: [{limit: 1, window: 1x}]\n"), "a.yaml:3: window must be "},
		{descriptor("  limits: [{limit: 1}]\n"), "a.yaml:3: window must be "},
		{descriptor("  limits: [{limit: 1, window: 1d@Mars/Base}]\n  algorithm: fixed\n"), "a.yaml:3: "},
		{
			descriptor("  limits: [{limit: 1, window: 1m}]\n  algorithm: guess\n"),
			`a.yaml:3: ALGO 'GUESS' is not `,
		},
		{descriptor("  limits: [{limit: 1, window: 1m}]\n  algorithm: log PEEK\n"), "a.yaml:3: "},
		{descriptor("  limits: [{limit: 1, window: 1m}]\n  algorithm: log TERM\n"), "a.yaml:3: "},
		{
			descriptor("  concurrency: {max: 1, lease: 1s}\n"),
			"a.yaml:3: concurrency needs rate_limit or limits beside it",
		},
		{
			descriptor("  limits: [{limit: 1, window: 1m}]\n  concurrency: {lease: 1s}\n"),
			"a.yaml:5: concurrency needs max, at least 1, and lease",
		},
		{descriptor("  limits: [{limit: 1, window: 1m}]\n  concurrency: {max: 1}\n"), "a.yaml:3: "},
		{
			descriptor("  rate_limit: {unlimited: true}\n  concurrency: {max: 1, lease: 1s}\n"),
			"a.yaml:3: concurrency needs a limit beside it, not unlimited",
		},
		{
			descriptor("  on_failure: retry\n  rate_limit: {unlimited: true}\n"),
			"a.yaml:3: on_failure is error, allow or deny, not 'retry'",
		},
		{"a: &a [*a]\n", "a.yaml:1: "},
		{deep(40), "a.yaml:"},
	} {
		_, err := read(c.file)
		var failed *policy.ReadError
		require.ErrorAs(t, err, &failed, c.file)
		require.True(t, strings.HasPrefix(err.Error(), c.want), "%s:\n%s", c.file, err)
	}
	_, err := read("domain: d\n", "domain: d\n")
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
	f.Add(edge)
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
