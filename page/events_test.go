package page_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/page"
)

// A viewer is an event stream's client.
type viewer struct {
	p      *pageTest
	reply  *http.Response
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func (p *pageTest) view(change ...func(r *http.Request)) *viewer {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/events", http.NoBody)
	require.NoError(p.t, err)
	for _, c := range change {
		c(r)
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { reply.Body.Close() })
	v := &viewer{p: p, reply: reply, lines: bufio.NewScanner(reply.Body), cancel: cancel}
	v.lines.Buffer(nil, 1<<20)
	return v
}

// next returns the events of one tick, by name; nil if the stream has ended.
func (v *viewer) next() map[string]string {
	out := map[string]string{}
	name := ""
	for v.lines.Scan() {
		switch line := v.lines.Text(); {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			out[name] = line[len("data: "):]
		case line == "" && name == "":
			return out
		case line == "":
			name = ""
		}
	}
	return nil
}

// awaitSessions waits until the engine has n sessions.
func (p *pageTest) awaitSessions(n int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.engine.Sessions() == n }, time.Minute, time.Millisecond)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	require.Equal(t, 1, p.engine.Sessions(), "without a viewer there is no session")
	v := p.view()
	require.Equal(t, "text/event-stream", v.reply.Header.Get("Content-Type"))
	first := v.next()
	require.Contains(t, first["info"], `\u000d\u000aconnected_clients:1\u000d\u000a`)
	require.Contains(t, first["clients"], " name=page ")
	for name, data := range first {
		require.True(t, json.Valid([]byte(data)), "%s: %s", name, data)
	}
	require.Contains(t, p.do("CLIENT", "LIST"), " name=page ")
	p.do("RL.ALLOW", "user:42", "3", "10s")
	p.session.Count()
	p.ticks <- time.Time{}
	second := v.next()
	require.Contains(t, second["info"], `limiter_allowed:1\u000d`)
	require.NotContains(t, second, "slowlog", "every second tick, and only what has changed")

	v.cancel()
	p.awaitSessions(1)
}

// TestStreamsEnd: a viewer leaves nothing, however its stream ends.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *pageTest, v *viewer){
		"the viewer goes": func(_ *pageTest, v *viewer) { v.cancel() },
		"CLIENT KILL":     func(p *pageTest, _ *viewer) { p.do("CLIENT", "KILL", "USER", "viewer") },
		"ACL DELUSER":     func(p *pageTest, _ *viewer) { p.do("ACL", "DELUSER", "viewer") },
		"Close":           func(p *pageTest, _ *viewer) { p.page.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPageTest(t)
			p.do("ACL", "SETUSER", "viewer", "on", ">v", "+@all", "~*")
			v := p.view(user("viewer", "v"))
			require.NotNil(t, v.next())
			require.Equal(t, 2, p.engine.Sessions())
			end(p, v)
			require.Nil(t, v.next())
			p.awaitSessions(1)
			// The place is free again.
			for range page.MaxStreams {
				if name != "ACL DELUSER" && name != "Close" {
					require.NotNil(t, p.view(user("viewer", "v")).next())
				}
			}
		})
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	var viewers []*viewer
	for range page.MaxStreams {
		v := p.view()
		require.NotNil(t, v.next())
		viewers = append(viewers, v)
	}
	reply, body := p.ask("GET", "/events")
	require.Equal(t, 503, reply.StatusCode)
	require.Equal(t, "10", reply.Header.Get("Retry-After"))
	require.Equal(t, "there are too many viewers\n", body)
	reply, _ = p.ask("GET", "/command?arg=info")
	require.Equal(t, 200, reply.StatusCode, "commands need no stream")
	viewers[0].cancel()
	p.awaitSessions(page.MaxStreams)
	require.NotNil(t, p.view().next())
}

// TestFeedsThatAreNotPermitted: they are not run, so that they fill no ACL LOG.
func TestFeedsThatAreNotPermitted(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	p.do("ACL", "SETUSER", "viewer", "on", ">v", "+info")
	v := p.view(user("viewer", "v"))
	first := v.next()
	require.Contains(t, first["info"], "connected_clients")
	require.Equal(t, `{"denied":true}`, first["clients"])
	require.Equal(t, int64(0), p.engine.Facts().ACLLog.Denied(acl.DeniedCommand))
	require.Equal(t, int64(0), p.engine.Facts().Stats.Errors.Total())
	// Rights that are given later are noticed.
	p.do("ACL", "SETUSER", "viewer", "+client")
	var later map[string]string
	for range 60 {
		require.NotContains(t, later, "clients")
		p.ticks <- time.Time{}
		later = v.next()
	}
	require.Contains(t, later["clients"], "name=page")
}

// TestPausedCommands: while CLIENT PAUSE postpones a viewer's commands, it can still go.
func TestPausedCommands(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	v := p.view()
	require.NotNil(t, v.next())
	p.do("CLIENT", "PAUSE", "100000000")
	p.ticks <- time.Time{}
	v.cancel()
	p.awaitSessions(1)
}

// TestHistory checks that a viewer is first sent the figures of the last five minutes, if it may call INFO.
func TestHistory(t *testing.T) {
	t.Parallel()
	p := newPageTest(t)
	samples := func(change ...func(r *http.Request)) [][7]int64 {
		t.Helper()
		v := p.view(change...)
		first := v.next()
		require.NotContains(t, first["history"], "null")
		var event struct {
			Reply struct {
				RunID   string     `json:"run_id"`
				Samples [][7]int64 `json:"samples"`
			} `json:"reply"`
		}
		if first["history"] != "" {
			require.NoError(t, json.Unmarshal([]byte(first["history"]), &event))
			require.Contains(t, first["info"], "run_id:"+event.Reply.RunID+`\u000d`)
		}
		p.ticks <- time.Time{}
		require.NotContains(t, v.next(), "history", "once")
		v.cancel()
		p.awaitSessions(1)
		return event.Reply.Samples
	}
	require.Empty(t, samples())
	p.page.Sample()
	for range 3 {
		p.do("RL.ALLOW", "user:42", "2", "10s")
	}
	p.session.Count()
	p.page.Sample()
	got := samples()
	require.Len(t, got, 2)
	require.Equal(t, []int64{1_700_000_000_000_000, 0, 0, 0}, got[0][:4])
	require.Equal(t, []int64{1_700_000_000_000_000, 2, 1, 3}, got[1][:4])
	require.Positive(t, got[1][5], "used_memory")
	require.Positive(t, got[1][6], "used_memory_rss")

	for range 400 {
		p.do("RL.ALLOW", "user:42", "2", "10s")
		p.session.Count()
		p.page.Sample()
	}
	got = samples()
	require.Len(t, got, 300)
	require.Equal(t, int64(104), got[0][3], "the oldest are gone")
	require.Equal(t, int64(403), got[299][3])

	p.do("ACL", "SETUSER", "viewer", "on", ">v", "+client")
	require.Empty(t, samples(user("viewer", "v")))
}

// TestViewersAreNotCounted checks that a page leaves no trace in the figures that it shows.
func TestViewersAreNotCounted(t *testing.T) {
	t.Parallel()
	p := newPageTest(t, "--slowlog-log-slower-than", "0")
	p.do("RL.ALLOW", "user:42", "2", "10s")
	figures := func() (out []string) {
		p.session.Count()
		f := p.engine.Facts()
		f.Table.Each(func(c *commands.Command) {
			if n := f.Stats.Calls(c); n.Calls+n.Rejected+n.Failed > 0 || f.Stats.Latency(c).Timed() {
				out = append(out, fmt.Sprint(c.FullName(), n))
			}
		})
		return append(out, fmt.Sprint(f.Sessions(), f.Stats.Commands(), f.Stats.Connections.Load(),
			f.Stats.Errors.Total(), f.SlowLog.Total(), stats.Total(f.Stats.Decisions()).Peeked))
	}
	before := figures()
	v := p.view()
	first := v.next()
	require.Contains(t, first["info"], `\u000d\u000aconnected_clients:1\u000d\u000a`)
	for range 10 {
		p.ticks <- time.Time{}
		require.NotNil(t, v.next())
	}
	for _, limit := range []string{"3", "x"} {
		reply, _ := p.ask("GET", "/command?arg=rl.explain&arg=user:42&arg=10s&arg="+limit)
		require.Equal(t, 200, reply.StatusCode)
	}
	require.Equal(t, before, figures())
	v.cancel()
	p.awaitSessions(1)
	require.Equal(t, before, figures())
}
