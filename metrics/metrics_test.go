package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/metrics"
	"github.com/zlimit/zlimit/upstream/call"
)

func newEngine(t *testing.T) (*engine.Engine, *engine.Session) {
	t.Helper()
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{
		Monotonic: func() int64 { return 0 },
		Wall:      func() int64 { return 1_700_000_000_000_000 },
	})})
	s := e.NewSession(engine.Peer{Local: true})
	t.Cleanup(s.Close)
	return e, s
}

func do(s *engine.Session, line string) {
	var args [][]byte
	for _, word := range strings.Fields(line) {
		args = append(args, []byte(word))
	}
	s.Do(args)
}

func listen(t *testing.T, e *engine.Engine) string {
	t.Helper()
	m, err := metrics.Listen("0", e, peer)
	require.NoError(t, err)
	// The test has closed its connections by then.
	t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
	require.True(t, m.Addr().(*net.TCPAddr).IP.IsLoopback())
	return m.Addr().String()
}

func get(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(request)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text)
}

func TestScrape(t *testing.T) {
	e, s := newEngine(t)
	for _, line := range []string{
		"RL.ALLOW secret-user 2 1h", "RL.ALLOW secret-user 2 1h COST 5 ATMOST", "RL.ALLOW secret-user 2 1h",
		"RL.ALLOW secret-user 2 1h PEEK",
		"RL.ALLOW f 1 1h ALGO FIXED", "RL.ALLOW f 1 1h ALGO FIXED", "CL.THROTTLE g 0 1 60",
		"RL.ALLOW b 9 1h COST 4 ALGO BUCKETS 3",
		"RL.MALLOW 2 x 5 1m y 5 1m COST 2", "SET plain v", "EVAL return{err='SECRET_CODE'} 0",
		"SECRETCOMMAND x",
	} {
		do(s, line)
	}
	s.Count()
	e.Sample()
	url := "http://" + listen(t, e) + "/metrics"
	status, text := get(t, http.MethodGet, url)
	require.Equal(t, http.StatusOK, status)
	for _, line := range []string{
		`rate_limit_allowed_total{algorithm="log"} 3`, `rate_limit_rejected_total{algorithm="log"} 1`,
		`rate_limit_units_total{algorithm="log"} 6`,
		`rate_limit_allowed_total{algorithm="fixed"} 1`, `rate_limit_rejected_total{algorithm="fixed"} 1`,
		`rate_limit_allowed_total{algorithm="gcra"} 1`, `rate_limit_rejected_total{algorithm="gcra"} 0`,
		`rate_limit_units_total{algorithm="buckets"} 4`,
		`zlimit_ops_total 11`, `zlimit_errors_total 2`, `zlimit_connected_clients 1`,
		`zlimit_acl_denied_total{reason="auth"} 0`, `zlimit_acl_denied_total{reason="channel"} 0`,
		`zlimit_doctor_findings_total{problem="merged-hits"} 0`,
		`zlimit_keys{kind="log"} 3`, `zlimit_hits{kind="log"} 6`, `zlimit_hits{kind="buckets"} 4`,
		`zlimit_keys{kind="string"} 1`, `zlimit_keys{kind="gcra"} 1`,
		`zlimit_command_duration_seconds_count{command="eval"} 1`,
		`zlimit_command_duration_seconds_bucket{command="set",le="+Inf"} 1`,
	} {
		require.Contains(t, "\n"+text, "\n"+line+"\n")
	}
	require.Contains(t, text, "process_resident_memory_bytes ")
	require.Contains(t, text, "go_memstats_heap_alloc_bytes ")
	require.NotContains(t, strings.ToLower(text), "secret", "no series contains a client's choice")

	for _, c := range []struct {
		method, path string
		status       int
	}{{"POST", "/metrics", 405}, {"POST", "/", 405}, {"GET", "/x", 404}, {"GET", "/metrics/../x", 404}} {
		status, _ := get(t, c.method,
			"http://"+strings.TrimPrefix(strings.TrimSuffix(url, "/metrics"), "http://")+c.path)
		require.Equal(t, c.status, status, c)
	}
}

// TestExpiries checks what is counted of keys that expired, and that CONFIG RESETSTAT
// resets it.
func TestExpiries(t *testing.T) {
	t.Parallel()
	var us atomic.Int64
	us.Store(1_700_000_000_000_000)
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{Monotonic: us.Load, Wall: us.Load})})
	s := e.NewSession(engine.Peer{Local: true})
	t.Cleanup(s.Close)
	url := "http://" + listen(t, e) + "/metrics"
	for i := range 100 {
		do(s, fmt.Sprintf("SET k%d v PX 10", i))
	}
	us.Add(11_000)
	for i := range 30 {
		do(s, fmt.Sprintf("GET k%d", i))
	}
	_, text := get(t, http.MethodGet, url)
	require.Contains(t, text, "\nzlimit_expired_keys_total 30\n")
	e.Tick()
	_, text = get(t, http.MethodGet, url)
	require.Contains(t, text, "\nzlimit_expired_keys_total 100\n")
	require.Contains(t, text, "\nzlimit_build_info{version=\""+engine.Version+"\"} 1\n")
	require.Contains(t, text, "\nzlimit_maxclients 10000\n")
	do(s, "CONFIG RESETSTAT")
	_, text = get(t, http.MethodGet, url)
	require.Contains(t, text, "\nzlimit_expired_keys_total 0\n")
}

// TestDecisionsByPrefix: sums over prefixes are the totals, and hostile prefixes are
// valid labels.
func TestDecisionsByPrefix(t *testing.T) {
	e, s := newEngine(t)
	s.Do([][]byte{
		[]byte("CONFIG"), []byte("SET"), []byte("rl-stats-prefix"), []byte(`t1: t1:vip: "\xff\"\n"`),
	})
	for _, line := range []string{
		"RL.ALLOW t1:a 1 1h", "RL.ALLOW t1:a 1 1h", "RL.ALLOW t1:a 1 1h PEEK",
		"RL.ALLOW t1:a 1 1h SHADOW", "RL.ALLOW t1:a 1 1h COST 2 SHADOW",
		"RL.ALLOW t1:vip:b 9 1h COST 4", "RL.ALLOW other 9 1h COST 2", "RL.ALLOW other2 9 1h ALGO FIXED",
	} {
		do(s, line)
	}
	s.Do([][]byte{[]byte("RL.ALLOW"), []byte("\xff\"\nx"), []byte("9"), []byte("1h")})
	s.Count()
	_, text := get(t, http.MethodGet, "http://"+listen(t, e)+"/metrics")
	for _, line := range []string{
		`zlimit_decisions_total{algorithm="log",prefix="t1:",result="allowed"} 1`,
		`zlimit_decisions_total{algorithm="log",prefix="t1:",result="denied"} 1`,
		`zlimit_decisions_total{algorithm="log",prefix="t1:",result="peeked"} 1`,
		`zlimit_decisions_total{algorithm="log",prefix="t1:",result="shadow"} 2`,
		`rate_limit_rejected_total{algorithm="log"} 1`,
		`zlimit_decision_units_total{algorithm="log",prefix="t1:vip:"} 4`,
		`zlimit_decisions_total{algorithm="log",prefix="",result="allowed"} 1`,
		`zlimit_decisions_total{algorithm="fixed",prefix="",result="allowed"} 1`,
		`zlimit_decisions_total{algorithm="log",prefix="\"\\xff\\\"\\n\"",result="allowed"} 1`,
		`rate_limit_allowed_total{algorithm="log"} 4`,
	} {
		require.Contains(t, "\n"+text, "\n"+line+"\n")
	}
}

// TestFullness: how full limits were after decisions with known results, by algorithm and
// prefix.
func TestFullness(t *testing.T) {
	e, s := newEngine(t)
	s.Do([][]byte{[]byte("CONFIG"), []byte("SET"), []byte("rl-stats-prefix"), []byte("t1: t2:")})
	for _, line := range []string{
		"RL.ALLOW t1:a 10 1h", "RL.ALLOW t1:a 10 1h", // 0.1 and 0.2
		"RL.ALLOW t1:a 10 1h COST 7", "RL.ALLOW t1:a 10 1h COST 2", // 0.9, and 0.9 denied
		"RL.ALLOW t1:a 10 1h COST 2 ATMOST",         // 1, granted one
		"RL.ALLOW t1:a 10 1h", "RL.ALLOW t1:a 2 1h", // denied when full, and above a lowered limit
		"RL.ALLOW t1:a 10 1h PEEK", "RL.ALLOW t1:a 10 1h SHADOW", // not observed
		"RL.ALLOW t1:f 4 1h ALGO FIXED COST 2",                                             // 0.5
		"RL.ALLOW t1:g 9 1h ALGO GCRA 2",                                                   // 0.5
		"CL.THROTTLE t2:g 3 1 60", "CL.THROTTLE t2:g 3 1 60 9", "CL.THROTTLE t2:g2 0 1 60", // 0.25 twice, 1
		"RL.ALLOW b 4 1h ALGO BUCKETS 3", "RL.ALLOW c 4 1h ALGO COUNTER COST 3", // 0.25 and 0.75
		"RL.MALLOW 2 x 5 1m t2:y 4 1m COST 3", // of the binding key, 0.75
	} {
		do(s, line)
	}
	do(s, "EVAL return{redis.call('RL.ALLOW','z','1','1h'),redis.call('RL.ALLOW','z','1','1h')} 0") // 1
	s.Count()
	url := "http://" + listen(t, e) + "/metrics"
	_, text := get(t, http.MethodGet, url)
	for labels, want := range map[string]struct {
		cumulative [10]int
		sum        string
	}{
		`algorithm="log",prefix="t1:"`:   {[10]int{1, 2, 2, 2, 2, 2, 2, 2, 4, 7}, "5.1"},
		`algorithm="fixed",prefix="t1:"`: {[10]int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, "0.5"},
		`algorithm="gcra",prefix="t1:"`:  {[10]int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, "0.5"},
		`algorithm="gcra",prefix="t2:"`:  {[10]int{0, 0, 2, 2, 2, 2, 2, 2, 2, 3}, "1.5"},
		`algorithm="log",prefix="t2:"`:   {[10]int{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}, "0.75"},
		`algorithm="log",prefix=""`:      {[10]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, "2"},
		`algorithm="buckets",prefix=""`:  {[10]int{0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, "0.25"},
		`algorithm="counter",prefix=""`:  {[10]int{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}, "0.75"},
	} {
		line := func(suffix, labels, value string) {
			require.Contains(t, text, "\nzlimit_decision_fullness_ratio"+suffix+"{"+labels+"} "+value+"\n")
		}
		for i, n := range want.cumulative {
			le := []string{"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"}[i]
			line("_bucket", labels+`,le="`+le+`"`, strconv.Itoa(n))
		}
		line("_sum", labels, want.sum)
		line("_count", labels, strconv.Itoa(want.cumulative[9]))
	}
	require.Equal(t, 8, strings.Count(text, "\nzlimit_decision_fullness_ratio_count{"))
	do(s, "CONFIG RESETSTAT")
	_, text = get(t, http.MethodGet, url)
	require.NotContains(t, text, "\nzlimit_decision_fullness_ratio")
}

// TestSeriesAreBounded: the number of series does not depend on what clients send.
func TestSeriesAreBounded(t *testing.T) {
	e, s := newEngine(t)
	url := "http://" + listen(t, e) + "/metrics"
	series := func() int {
		s.Count()
		e.Sample()
		_, text := get(t, http.MethodGet, url)
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, "zlimit_") || strings.HasPrefix(line, "rate_limit_") {
				n++
			}
		}
		return n
	}
	send := func(i int) {
		do(s, fmt.Sprintf("RL.ALLOW key:%d 1 1h", i))
		do(s, fmt.Sprintf("CMD%d x", i))
		do(s, fmt.Sprintf("EVAL return{err='CODE%d'} 0", i))
	}
	send(0)
	before := series()
	for i := range 500 {
		send(i)
	}
	require.Equal(t, before, series())
}

func TestAddressInUse(t *testing.T) {
	e, _ := newEngine(t)
	taken := listen(t, e)
	_, err := metrics.Listen(taken, e, peer)
	require.ErrorContains(t, err, "metrics-addr "+taken+" is in use")
	for _, wrong := range []string{"a:b:c", "127.0.0.1:notaport", "127.0.0.1:70000"} {
		_, err := metrics.Listen(wrong, e, peer)
		require.ErrorContains(t, err, "metrics-addr", wrong)
	}
}

// TestCloseWithSilentClient: Close does not wait for a client that sends nothing.
func TestCloseWithSilentClient(t *testing.T) {
	e, _ := newEngine(t)
	m, err := metrics.Listen("127.0.0.1:0", e, peer)
	require.NoError(t, err)
	c, err := net.Dial("tcp", m.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: half"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_ = m.Close(ctx)
	_, err = net.Dial("tcp", m.Addr().String())
	require.Error(t, err)
}

// statusOnly is an upstream of which only the lines of INFO are asked for.
type statusOnly struct {
	engine.Upstream
	facts []call.Fact
}

func (s statusOnly) Status() []call.Fact { return s.facts }

func TestUpstreamMetrics(t *testing.T) {
	for _, row := range []struct{ since, degraded string }{{"0", "0"}, {"1700000000", "1"}} {
		e := engine.New(engine.Options{
			Clock: clock.New(clock.Sources{
				Monotonic: func() int64 { return 0 },
				Wall:      func() int64 { return 1_700_000_000_000_000 },
			}),
			Upstream: statusOnly{facts: []call.Fact{
				{Name: "upstream_state", Value: "ok"},
				{Name: "upstream_degraded", Value: "7"},
				{Name: "upstream_degraded_since", Value: row.since},
				{Name: "upstream_node0", Value: "addr=h:1,state=away,away_seconds=1"},
			}},
		})
		_, text := get(t, http.MethodGet, "http://"+listen(t, e)+"/metrics")
		since, err := strconv.ParseFloat(row.since, 64)
		require.NoError(t, err)
		for _, line := range []string{
			"zlimit_upstream_ok 1", "zlimit_upstream_degraded " + row.degraded,
			"zlimit_upstream_degraded_decisions_total 7", `zlimit_upstream_node_ok{node="h:1"} 0`,
			"zlimit_upstream_degraded_since_seconds " + strconv.FormatFloat(since, 'g', -1, 64),
		} {
			require.Contains(t, text, "\n"+line+"\n")
		}
	}
}
