package exporter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const scraped = `# TYPE redis_up gauge
redis_up 1
# TYPE redis_connected_clients gauge
redis_connected_clients 1
# TYPE redis_instance_info gauge
redis_instance_info{role="master",run_id="0af3",tcp_port="6379"} 1
# TYPE redis_config_key_value gauge
redis_config_key_value{key="dir",value="/tmp/a"} 1
redis_config_key_value{key="save",value=""} 1
# TYPE redis_commands_latencies_usec histogram
redis_commands_latencies_usec_bucket{cmd="get",le="4"} 1
redis_commands_latencies_usec_bucket{cmd="get",le="+Inf"} 1
redis_commands_latencies_usec_sum{cmd="get"} 3
redis_commands_latencies_usec_count{cmd="get"} 1
# TYPE redis_latency_percentiles_usec summary
redis_latency_percentiles_usec{cmd="get",quantile="50"} 3
redis_latency_percentiles_usec_sum{cmd="get"} 3
redis_latency_percentiles_usec_count{cmd="get"} 1
`

func series(t *testing.T, text string) []string {
	t.Helper()
	out, err := readSeries(strings.NewReader(text))
	require.NoError(t, err)
	return out
}

func TestReadSeries(t *testing.T) {
	require.Equal(t, []string{
		`redis_commands_latencies_usec{cmd="get"}`,
		`redis_config_key_value{key="dir",value="*"}`,
		`redis_config_key_value{key="save",value=""}`,
		`redis_connected_clients = 1`,
		`redis_instance_info{role="master",run_id="*",tcp_port="*"}`,
		`redis_latency_percentiles_usec{cmd="get",quantile="50"}`,
		`redis_latency_percentiles_usec{cmd="get"}`,
		`redis_up = 1`,
	}, series(t, scraped))
}

// TestCompareNotices plants differences.
func TestCompareNotices(t *testing.T) {
	theirs := series(t, scraped)
	require.Empty(t, compare(theirs, theirs, nil))
	for _, tc := range []struct{ name, from, to, want string }{
		{
			"a missing field of INFO", "redis_connected_clients 1\n", "",
			"- redis_connected_clients = 1",
		},
		{
			"a value", "redis_connected_clients 1", "redis_connected_clients 2",
			"+ redis_connected_clients = 2",
		},
		{
			"a label", `role="master"`, `role="slave"`,
			`- redis_instance_info{role="master",run_id="*",tcp_port="*"}`,
		},
		{
			"a histogram", `_usec_count{cmd="get"} 1`, `_usec_count{cmd="set"} 1`,
			`+ redis_commands_latencies_usec{cmd="set"}`,
		},
		{
			"a quantile", `quantile="50"`, `quantile="99"`,
			`- redis_latency_percentiles_usec{cmd="get",quantile="50"}`,
		},
		{
			"a directive's value", `key="save",value=""`, `key="save",value="1 1"`,
			`- redis_config_key_value{key="save",value=""}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Contains(t, scraped, tc.from)
			ours := series(t, strings.Replace(scraped, tc.from, tc.to, 1))
			require.Contains(t, compare(theirs, ours, nil), tc.want)
		})
	}
	listed := []difference{{'-', "redis_connected_*", "why"}}
	ours := series(t, strings.Replace(scraped, "redis_connected_clients 1\n", "", 1))
	require.Empty(t, compare(theirs, ours, listed))
	require.Equal(t, []string{"listed, but no difference: - redis_connected_*"},
		compare(theirs, theirs, listed))
}

func TestReadDifferences(t *testing.T) {
	got, err := readDifferences(strings.NewReader("# One\n# reason.\n- a{b=\"[*]\"}\n+ c\n\n# Two.\n+ d\n"))
	require.NoError(t, err)
	require.Equal(t, []difference{
		{'-', `a{b="[*]"}`, "One reason."}, {'+', "c", "One reason."}, {'+', "d", "Two."},
	}, got)
	require.True(t, got[0].matches('-', `a{b="[x/y]"}`))
	require.False(t, got[0].matches('+', `a{b="[x]"}`))
	require.False(t, got[0].matches('-', `a{b="x"}`))
	for _, bad := range []string{"- a\n", "# Why.\n\n- a\n", "# Why.\n* a\n", "# Why.\n-a\n"} {
		_, err := readDifferences(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}
